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
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// An errorSource is a running process that serves a FUSE file system, although the file system answers with an error. The error is
// the answer of that process, or its connection was aborted.
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

// addTo changes a finding about a file system that has lost its server, where a process still serves it.
func (x errorSource) addTo(p *forensics.Pass, s Superblock, f forensics.Finding) forensics.Finding {
	name := findings.ProcessName(p, x.server.PID)
	f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: x.server.Why})
	if x.below == "" {
		f.Remedies = append([]forensics.Remedy{{
			Action: remedy.ActionLook, Instruction: "Check the log of " + remedy.ProcessWord(p, x.server.PID),
			Why: "it serves the file system; if it receives the requests, its log shows why they fail", Risk: "none: read-only",
		}}, f.Remedies...)
		if s.Health.Status == mounts.StatusDisconnected {
			f.Title = fmt.Sprintf("%s answers with an error, but its server %s still exists: %s", s.Label(), findings.ProcessTitle(p, x.server.PID), s.Health.Error)
			f.Detail = fmt.Sprintf("%s still has its connection open (%s). Either the connection was aborted and the process continues, or the process itself "+
				"answers with this error. A FUSE server does that when its own server or file system is lost. Mounted at %s.", findings.Capital(name), x.server.Why, s.Where())
		}
		return f
	}
	_, lower := FuseName(p, x.below)
	f.Title = fmt.Sprintf("%s fails with an error of %s: %s", s.Label(), FuseTitle(p, x.below), s.Health.Error)
	runs := "is running"
	f.Confidence = forensics.Likely
	if x.server.Guess {
		runs, f.Confidence = "is probably running", forensics.Possible
	}
	f.Detail = fmt.Sprintf("Its own server %s: %s (%s). That process has open files on %s, which fails in the same way. Mounted at %s.",
		runs, name, x.server.Why, lower, s.Where())
	f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindSuperblock, ID: x.below})
	for i := range f.Remedies {
		if f.Remedies[i].Action != remedy.ActionDetach {
			continue
		}
		f.Remedies[i].OnlyIf = strings.TrimSuffix("unmount this one first, then the file system below it; mounting only that one again does not help, because "+name+
			" keeps the old one open; "+f.Remedies[i].OnlyIf, "; ")
	}
	return f
}

// FuseTitle names the file system that a server serves, for a title.
func FuseTitle(p *forensics.Pass, device string) string {
	if list := p.Model.MountsOf(device); len(list) > 0 {
		return label(list[0])
	}
	if servers := p.Model.Uses().Servers(device); len(servers) > 0 && servers[0].Detached {
		return "a FUSE file system in no mount table"
	}
	return "FUSE file system " + device
}

// FuseName is the mount that a server serves, and its name for a detail.
func FuseName(p *forensics.Pass, device string) (mounts.Mount, string) {
	list := p.Model.MountsOf(device)
	if len(list) == 0 {
		if servers := p.Model.Uses().Servers(device); len(servers) > 0 && servers[0].Detached {
			return mounts.Mount{Device: device}, "a FUSE file system that is in no mount table, most likely unmounted lazily (superblock " + device + ")"
		}
		return mounts.Mount{Device: device}, "superblock " + device
	}
	m := list[0]
	name := fmt.Sprintf("%s at %s", fsfamily.Label(m.FSType, m.Source), m.MountPoint)
	if p.Model.Uses().Elsewhere(device) {
		name += " in another mount namespace than the host's"
	}
	return m, name
}

// ServerFinding is about a process that serves a FUSE file system.
func ServerFinding(p *forensics.Pass, s forensics.FUSEServer, title string) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(s.PID), Confidence: forensics.Certain, Pods: p.Model.PodsOf(s.Device),
		Title: title, ConfidenceWhy: s.Why,
		Detail: "Any access to the mount waits for this process.",
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

// OfTheHost leaves a finding about a file system of the host as it is. If only other mount namespaces have the file system, or its
// server is in another user namespace than this program, its users there can name it as they like. The finding is then information
// and names no pod. It has no step on the host, because the paths mean something else there.
func OfTheHost(p *forensics.Pass, f forensics.Finding, s forensics.FUSEServer) forensics.Finding {
	process, _ := p.Model.Process(s.PID)
	if !p.Model.Uses().Elsewhere(s.Device) && !mountuse.InOtherUserNS(p, process) {
		return f
	}
	f.Severity, f.Pods, f.Remedies = forensics.Info, nil, nil
	f.Detail += " It is not a file system of the host: it was mounted from another mount or user namespace."
	if process.PodUID != "" {
		f.Remedies = []forensics.Remedy{remedy.StopProcess(p, s.PID, "the file system ends with its pod")}
	}
	return f
}
