package checks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// firstStep is where to begin with a file system that does not answer: at its server or disk, and where the server of a
// FUSE file system itself waits for another file system, at the server or disk of that one.
func firstStep(p *forensics.Pass, s superblock) forensics.Remedy {
	m := s.mount()
	device := innermost(p, s.device)
	if device != s.device {
		m = p.Model.MountsOf(device)[0]
	}
	if m.Class == mounts.ClassFUSE {
		if server, ok := worstServer(p, device); ok {
			return stepAtServer(p, server, m)
		}
	}
	b, _ := p.Model.Backing(device)
	return reviveFrom(b, m)
}

// worstServer is the process that serves a file system, and of several that have its connection open one with trouble.
func worstServer(p *forensics.Pass, device string) (forensics.FUSEServer, bool) {
	var worst forensics.FUSEServer
	for _, s := range p.Model.Servers(device) {
		if trouble, _ := p.Model.ServerTrouble(s.PID); s.PID != 0 && (worst.PID == 0 || trouble != "") {
			worst = s
		}
	}
	return worst, worst.PID != 0
}

// innermost follows the servers of FUSE file systems that wait for another file system to the one that is behind all: of
// an encrypted or merged file system, one of those that it is made of.
func innermost(p *forensics.Pass, device string) string {
	for seen := map[string]bool{}; !seen[device]; {
		seen[device] = true
		for _, s := range p.Model.Servers(device) {
			_, waits := p.Model.ServerTrouble(s.PID)
			if s.Guess || waits == nil || seen[waits.Device] || len(p.Model.MountsOf(waits.Device)) == 0 {
				continue
			}
			device = waits.Device
			break
		}
	}
	return device
}

// stepAtServer is what to do about the process that serves a FUSE file system.
func stepAtServer(p *forensics.Pass, s forensics.FUSEServer, m mounts.Mount) forensics.Remedy {
	trouble, _ := p.Model.ServerTrouble(s.PID)
	r := revive(m)
	switch {
	case strings.HasPrefix(trouble, "is stopped"):
		r = letGoOn(p, s.PID)
	case trouble != "":
		short, _, _ := strings.Cut(trouble, ":") // what follows has the names of files, for which the finding is the place
		r.Command = fmt.Sprintf("Look at %s, which serves %s (%s): it %s", whoWord(p, s.PID), quote(m.Source), quote(m.FSType), short)
	default:
		r.Command = fmt.Sprintf("Look at %s, which has the connection of %s (%s) open: it is neither stopped nor blocked in a file system, so most "+
			"likely it waits for its own server, which the kernel does not show, or it does not read requests at all", whoWord(p, s.PID), quote(m.Source), quote(m.FSType))
	}
	if s.Guess {
		r.Precondition = strings.TrimSuffix("it is the server, which is a guess: "+s.Why+"; "+r.Precondition, "; ")
	}
	return r
}

// servedHow says who has the connection of a FUSE file system open that does not answer, and what is wrong with that process.
// The kernel does not tell whether it reads from it.
func servedHow(p *forensics.Pass, device string) string {
	var list []string
	for _, s := range p.Model.Servers(device) {
		if s.PID == 0 {
			continue
		}
		verb := "has its connection open"
		if s.Guess {
			verb = "probably serves it"
		}
		trouble, _ := p.Model.ServerTrouble(s.PID)
		list = append(list, fmt.Sprintf("%s %s, and %s", who(p, s.PID), verb, cmp.Or(trouble, "is neither stopped nor blocked in a file system")))
	}
	if len(list) == 0 {
		return ""
	}
	return " P" + strings.TrimPrefix(some(list), "p") + "."
}

// A passer is a process that serves a FUSE file system and lives, although that answers with an error: the error is its own
// answer, or its connection was aborted.
type passer struct {
	server forensics.FUSEServer
	// below is a file system with trouble of the same sort that the process has files of open; "" if none was seen.
	below string
}

// passerOf finds the live server of a FUSE file system that answers with an error.
func passerOf(p *forensics.Pass, s superblock) (passer, bool) {
	if s.mount().Class != mounts.ClassFUSE {
		return passer{}, false
	}
	for _, server := range p.Model.Servers(s.device) {
		if trouble, _ := p.Model.ServerTrouble(server.PID); server.PID == 0 || trouble != "" {
			continue
		}
		found := passer{server: server}
		for _, h := range held(p).Holders {
			health, _ := p.Model.Health(h.Device)
			if h.PID == server.PID && h.Device != s.device && health.Status == s.health.Status {
				found.below = cmp.Or(found.below, h.Device)
			}
		}
		if found.below != "" || !server.Guess { // another server may have been started for the same mount point
			return found, true
		}
	}
	return passer{}, false
}

// tell changes a finding that the server of a file system is gone, or knows it no more, into what is known where a process
// serves it.
func (x passer) tell(p *forensics.Pass, s superblock, f forensics.Finding) forensics.Finding {
	name := who(p, x.server.PID)
	f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders + ":" + s.device, Excerpt: x.server.Why})
	if x.below == "" {
		f.Remedies = append([]forensics.Remedy{{
			Command: "Look at the log of " + whoWord(p, x.server.PID), Why: "it serves the file system, and says why it answers so if it is asked at all", Risk: "none: it reads",
		}}, f.Remedies...)
		if s.health.Status == mounts.StatusDisconnected {
			f.Title = fmt.Sprintf("%s answers with an error, though %s has its connection open: %s", s.label(), name, s.health.Error)
			f.Detail = fmt.Sprintf("So its server is not gone (%s): either the connection was aborted and the process goes on, or it answers with this "+
				"error itself, as one does whose own server or file system is gone: %s.", x.server.Why, s.where())
		}
		return f
	}
	_, lower := fuseName(p, x.below)
	f.Title = fmt.Sprintf("%s passes on an error of %s: %s", s.label(), lower, s.health.Error)
	lives := "lives"
	f.Confidence = forensics.Likely
	if x.server.Guess {
		lives, f.Confidence = "probably lives", forensics.Possible
	}
	f.Detail = fmt.Sprintf("Its own server %s: %s (%s). It has files of %s open, which answers so: %s.", lives, name, x.server.Why, lower, s.where())
	f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindSuperblock, ID: x.below})
	for i := range f.Remedies {
		if !strings.HasPrefix(f.Remedies[i].Command, "umount") {
			continue
		}
		f.Remedies[i].Precondition = strings.TrimSuffix("this one first, and then that which it lies on; mounting only that anew does not help, since "+name+
			" keeps the old one open; "+f.Remedies[i].Precondition, "; ")
	}
	return f
}
