package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// FUSEServerDead finds FUSE file systems whose server process cannot answer.
var FUSEServerDead = forensics.Check{
	ID:    "fuse-server-dead",
	Title: "The process behind a FUSE mount is gone, stopped or blocked",
	Doc: `A FUSE file system is served by a process that has /dev/fuse open. From Linux 6.16 on the kernel says which connection
that is (fuse_connection in /proc/PID/fdinfo), and so which mount; before, it is guessed from the command line, and the
finding says so. Reported are a server that is stopped (SIGSTOP, a debugger), has ended, is frozen by its cgroup or has
itself waited in a file system for longer than --hung-after, and a mount that no process serves at all. A server that
sleeps is normal, also when its own server, which the kernel does not see, does not answer.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range held(p).Servers {
			if s.PID == 0 {
				p.Report(unservedFinding(p, s))
				continue
			}
			if trouble, waits := p.Model.ServerTrouble(s.PID); trouble != "" {
				f := serverFinding(p, s, "which serves %s, "+trouble)
				if waits != nil {
					f.Because = []forensics.Entity{forensics.ThreadEntity(*waits)}
					f.Refs = append(f.Refs, threadRef(*waits))
				}
				if strings.HasPrefix(trouble, "is stopped") {
					f.Remedies = []forensics.Remedy{{
						Command:      fmt.Sprintf("kill -CONT %d", s.PID),
						Why:          "it goes on and answers all that waits",
						Precondition: "nobody has stopped it on purpose (a debugger, a checkpoint)",
						Risk:         "none for the data; requests that have waited long are then carried out",
					}}
				}
				p.Report(f)
			}
		}
	},
}

// fuseName is the mount that a server serves, as a person knows it.
func fuseName(p *forensics.Pass, device string) (mounts.Mount, string) {
	list := p.Model.MountsOf(device)
	if len(list) == 0 {
		return mounts.Mount{Device: device}, "superblock " + device
	}
	m := list[0]
	return m, fmt.Sprintf("%s %s at %s", m.FSType, m.Source, m.MountPoint)
}

func serverFinding(p *forensics.Pass, s forensics.FUSEServer, text string) forensics.Finding {
	_, name := fuseName(p, s.Device)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: processEntity(s.PID), Pods: p.Model.PodsOf(s.Device),
		Title: who(p, s.PID) + ", " + fmt.Sprintf(text, name), ConfidenceWhy: s.Why,
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

func unservedFinding(p *forensics.Pass, s forensics.FUSEServer) forensics.Finding {
	m, name := fuseName(p, s.Device)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindSuperblock, ID: s.Device},
		Title: "no process serves " + name, Confidence: forensics.Likely, ConfidenceWhy: s.Why,
		Detail: "Its server has ended; every call is answered with ENOTCONN and the mount does not heal. Typical after a restart of a CSI driver whose servers run in its own pod.",
		Pods:   p.Model.PodsOf(s.Device),
		Refs:   []forensics.Ref{{Source: forensics.SourceHolders + ":" + s.Device, Excerpt: s.Why}},
	}
	if m.MountPoint != "" {
		f.Remedies = []forensics.Remedy{unmountDead(m)}
	}
	return f
}

// FUSEServerMismatch finds FUSE servers that serve another mount than their command line says.
var FUSEServerMismatch = forensics.Check{
	ID:    "fuse-server-mismatch",
	Title: "A FUSE server serves another volume than it was started for",
	Doc: `A process that by the kernel's word (fuse_connection, Linux 6.16) serves a mount, and whose command line names the
directory of another pod or volume. Seen with clients that are started once for each volume and got the wrong one: pods
then read and write a stranger's data. Guessed servers are not judged.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range held(p).Servers {
			process, ok := p.Model.Process(s.PID)
			if s.Guess || !ok {
				continue
			}
			list := p.Model.MountsOf(s.Device)
			for _, word := range process.Command {
				if _, value, found := strings.Cut(word, "="); found {
					word = value
				}
				uid, _ := p.Model.PodOf(word)
				if !strings.HasPrefix(word, "/") || uid == "" || len(list) == 0 ||
					slices.ContainsFunc(list, func(m mounts.Mount) bool { return m.MountPoint == strings.TrimSuffix(word, "/") }) {
					continue
				}
				f := serverFinding(p, s, "serves %s, but was started for "+strings.ReplaceAll(word, "%", "%%"))
				f.Detail = "Pods may read and write another volume than theirs. Compare its command line with the volumes of the pods before anything is unmounted."
				f.Confidence = forensics.Likely
				p.Report(f)
				break
			}
		}
	},
}
