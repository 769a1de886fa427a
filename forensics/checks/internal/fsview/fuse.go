package fsview

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A errorSource is a process that serves a FUSE file system and lives, although that answers with an error: the error is its own
// answer, or its connection was aborted.
type errorSource struct {
	server forensics.FUSEServer
	// below is a file system with trouble of the same sort that the process has files of open; "" if none was seen.
	below string
}

// errorSourceOf finds the live server of a FUSE file system that answers with an error.
func errorSourceOf(p *forensics.Pass, s Superblock) (errorSource, bool) {
	if s.Mount().Class != mounts.ClassFUSE {
		return errorSource{}, false
	}
	for _, server := range p.Model.Uses().Servers(s.Device) {
		if _, bad := p.Model.Uses().ServerTrouble(server.PID); server.PID == 0 || bad {
			continue
		}
		found := errorSource{server: server}
		for _, h := range mountuse.Of(p).Holders {
			health, _ := p.Model.Health(h.Device)
			if h.PID == server.PID && h.Device != s.Device && health.Status == s.Health.Status {
				found.below = cmp.Or(found.below, h.Device)
			}
		}
		if found.below != "" || !server.Guess { // another server may have been started for the same mount point
			return found, true
		}
	}
	return errorSource{}, false
}

// addTo changes a finding that the server of a file system is gone, or knows it no more, into what is known where a process
// serves it.
func (x errorSource) addTo(p *forensics.Pass, s Superblock, f forensics.Finding) forensics.Finding {
	name := findings.ProcessName(p, x.server.PID)
	f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: x.server.Why})
	if x.below == "" {
		f.Remedies = append([]forensics.Remedy{{
			Action: remedy.ActionLook, Instruction: "Look at the log of " + remedy.ProcessWord(p, x.server.PID), Why: "it serves the file system, and says why it answers so if it is asked at all", Risk: "none: it reads",
		}}, f.Remedies...)
		if s.Health.Status == mounts.StatusDisconnected {
			f.Title = fmt.Sprintf("%s answers with an error, though %s has its connection open: %s", s.Label(), name, s.Health.Error)
			f.Detail = fmt.Sprintf("So its server is not gone (%s): either the connection was aborted and the process goes on, or it answers with this "+
				"error itself, as one does whose own server or file system is gone: %s.", x.server.Why, s.Where())
		}
		return f
	}
	_, lower := FuseName(p, x.below)
	f.Title = fmt.Sprintf("%s passes on an error of %s: %s", s.Label(), lower, s.Health.Error)
	lives := "lives"
	f.Confidence = forensics.Likely
	if x.server.Guess {
		lives, f.Confidence = "probably lives", forensics.Possible
	}
	f.Detail = fmt.Sprintf("Its own server %s: %s (%s). It has files of %s open, which answers so: %s.", lives, name, x.server.Why, lower, s.Where())
	f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindSuperblock, ID: x.below})
	for i := range f.Remedies {
		if f.Remedies[i].Action != remedy.ActionDetach {
			continue
		}
		f.Remedies[i].OnlyIf = strings.TrimSuffix("this one first, and then that which it lies on; mounting only that anew does not help, since "+name+
			" keeps the old one open; "+f.Remedies[i].OnlyIf, "; ")
	}
	return f
}

// FuseName is the mount that a server serves, as a person knows it.
func FuseName(p *forensics.Pass, device string) (mounts.Mount, string) {
	list := p.Model.MountsOf(device)
	if len(list) == 0 {
		if servers := p.Model.Uses().Servers(device); len(servers) > 0 && servers[0].Detached {
			return mounts.Mount{Device: device}, "a FUSE file system that is in no mount table, most likely unmounted lazily (superblock " + device + ")"
		}
		return mounts.Mount{Device: device}, "superblock " + device
	}
	m := list[0]
	name := fmt.Sprintf("%s %s at %s", m.FSType, m.Source, m.MountPoint)
	if p.Model.Uses().Elsewhere(device) {
		name += " in another mount namespace than the host's"
	}
	return m, name
}

// ServerFinding is about a process that serves a FUSE file system; text has one verb, for the name of that.
func ServerFinding(p *forensics.Pass, s forensics.FUSEServer, text string) forensics.Finding {
	_, name := FuseName(p, s.Device)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(s.PID), Confidence: forensics.Certain, Pods: p.Model.PodsOf(s.Device),
		Title: findings.ProcessName(p, s.PID) + ", " + fmt.Sprintf(text, name), ConfidenceWhy: s.Why,
		Detail: "Whoever touches the mount waits for this process.",
		Refs:   []forensics.Ref{{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: s.Why}},
	}
	if process, ok := p.Model.Process(s.PID); ok {
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceProcesses, s.PID),
			Excerpt: fmt.Sprintf("state %s: %s", process.State, strings.Join(process.Command, " ")),
		})
	}
	if s.Guess {
		f.Confidence = forensics.Possible
	}
	return f
}

// OfTheHost leaves a finding as it is if it is about a file system of the host. One that only other mount namespaces have, or whose
// server is root in another user namespace than that of this program, is made up by whoever is there as he likes: that is
// information, names no pod, and nothing is done about it on the host, where its paths mean something else.
func OfTheHost(p *forensics.Pass, f forensics.Finding, s forensics.FUSEServer) forensics.Finding {
	process, _ := p.Model.Process(s.PID)
	if !p.Model.Uses().Elsewhere(s.Device) && !mountuse.InOtherUserNS(p, process) {
		return f
	}
	f.Severity, f.Pods, f.Remedies = forensics.Info, nil, nil
	f.Detail += " It is not the host's: whoever mounted it did so in a namespace of his own."
	if process.PodUID != "" {
		f.Remedies = []forensics.Remedy{remedy.StopProcess(p, s.PID, "the file system goes with its pod")}
	}
	return f
}
