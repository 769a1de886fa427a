package checks

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// FUSEServerDead finds FUSE file systems whose server process cannot answer.
var FUSEServerDead = forensics.Check{
	ID:    "fuse-server-dead",
	Title: "The process behind a FUSE mount is gone, stopped or blocked",
	Doc: `A FUSE file system is served by a process that has /dev/fuse open. From Linux 6.16 on the kernel says which connection
that is (fuse_connection in /proc/PID/fdinfo), and so which mount; before, it is guessed from the command line, and the
finding says so. Reported are a server that is stopped (SIGSTOP, a debugger), has ended, is frozen by its cgroup or has
itself waited in a file system for longer than --hung-after, and a mount that no process serves at all. A server that
sleeps is normal, also when its own server, which the kernel does not see, does not answer. A file system that was unmounted
lazily while callers waited is in no mount table; its server is found by its connection (Linux 6.16).

A mount that has answered a probe is served, whatever one process looks like that has its connection open: another may
serve it, a debugger stops it for moments, its descriptor may be on its way between processes. Then only a server that is
itself blocked is reported.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range held(p).Servers {
			answers := p.Model.Answered(s.Device)
			if s.PID == 0 {
				if !answers {
					p.Report(ofTheHost(p, unservedFinding(p, s), s))
				}
				continue
			}
			if trouble, waits := p.Model.ServerTrouble(s.PID); trouble != "" && (waits != nil || !answers) {
				f := serverFinding(p, s, map[bool]string{false: "which serves %s, ", true: "which probably serves %s, "}[s.Guess]+strings.ReplaceAll(trouble, "%", "%%"))
				others := otherServers(p, s)
				if len(others) > 0 {
					f.Confidence = forensics.Possible
					f.ConfidenceWhy += ", which is open in " + some(others) + ", too"
				}
				if waits != nil {
					f.Because = []forensics.Entity{forensics.ThreadEntity(*waits)}
					f.Refs = append(f.Refs, threadRef(*waits))
				}
				if strings.HasPrefix(trouble, "is stopped") {
					f.Remedies = []forensics.Remedy{letGoOn(p, s.PID)}
				}
				if s.Detached {
					f.Remedies = append(f.Remedies, abortDetached(s))
				}
				p.Report(ofTheHost(p, f, s))
			}
		}
	},
}

// ofTheHost leaves a finding as it is if it is about a file system of the host. One that only other mount namespaces have, or whose
// server is root in another user namespace than that of this program, is made up by whoever is there as he likes: that is
// information, names no pod, and nothing is done about it on the host, where its paths mean something else.
func ofTheHost(p *forensics.Pass, f forensics.Finding, s forensics.FUSEServer) forensics.Finding {
	process, _ := p.Model.Process(s.PID)
	if !p.Model.Elsewhere(s.Device) && !inOtherUserNS(p, process) {
		return f
	}
	f.Severity, f.Pods, f.Remedies = forensics.Info, nil, nil
	f.Detail += " It is not the host's: whoever mounted it did so in a namespace of his own."
	if process.PodUID != "" {
		f.Remedies = []forensics.Remedy{stopProcess(p, s.PID, "the file system goes with its pod")}
	}
	return f
}

// inOtherUserNS says whether a process is known to be in another user namespace than this program was, where whoever is root can
// mount and unmount as he likes.
func inOtherUserNS(p *forensics.Pass, process procs.Process) bool {
	own := held(p).UserNS
	return own != 0 && process.UserNS != 0 && process.UserNS != own
}

// abortDetached ends the waits for a file system that nobody can unmount any more.
func abortDetached(s forensics.FUSEServer) forensics.Remedy {
	r := abortFUSE(mounts.Mount{Device: s.Device})
	r.Precondition = fmt.Sprintf("the server cannot be revived; fusectl is mounted on /sys/fs/fuse/connections; process %d still serves this connection "+
		"(grep fuse_connection /proc/%d/fdinfo/*)", s.PID, s.PID)
	return r
}

// otherServers names the processes without trouble that have the connection of a server open, too. The kernel does not
// tell which of them reads from it.
func otherServers(p *forensics.Pass, s forensics.FUSEServer) []string {
	var names []string
	for _, other := range p.Model.Servers(s.Device) {
		if trouble, _ := p.Model.ServerTrouble(other.PID); other.PID != 0 && other.PID != s.PID && trouble == "" {
			names = append(names, who(p, other.PID))
		}
	}
	return names
}

// letGoOn is how a stopped process goes on: by a signal, but not if it is traced (ptrace(2), state t).
func letGoOn(p *forensics.Pass, pid int) forensics.Remedy {
	if process, _ := p.Model.Process(pid); process.State == "t" {
		return forensics.Remedy{
			Command: fmt.Sprintf("grep TracerPid /proc/%d/status", pid),
			Why:     "names the debugger that has stopped it; once that detaches, it goes on and answers all that waits. SIGCONT does not help",
			Risk:    "none: it reads",
		}
	}
	return forensics.Remedy{
		Command:      signal("-CONT", pid),
		Why:          "it goes on and answers all that waits",
		Precondition: "nobody has stopped it on purpose (a debugger, a checkpoint)",
		Risk:         "none for the data; requests that have waited long are then carried out",
	}
}

// fuseName is the mount that a server serves, as a person knows it.
func fuseName(p *forensics.Pass, device string) (mounts.Mount, string) {
	list := p.Model.MountsOf(device)
	if len(list) == 0 {
		if servers := p.Model.Servers(device); len(servers) > 0 && servers[0].Detached {
			return mounts.Mount{Device: device}, "a FUSE file system that is in no mount table, most likely unmounted lazily (superblock " + device + ")"
		}
		return mounts.Mount{Device: device}, "superblock " + device
	}
	m := list[0]
	name := fmt.Sprintf("%s %s at %s", m.FSType, m.Source, m.MountPoint)
	if p.Model.Elsewhere(device) {
		name += " in another mount namespace than the host's"
	}
	return m, name
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
	if h, _ := p.Model.Health(s.Device); h.Status == mounts.StatusHung {
		return onItsWay(f, m, name)
	}
	if m.MountPoint != "" {
		f.Remedies = []forensics.Remedy{unmountDead(p, m)}
	}
	return f
}

// onItsWay is for a mount that nobody serves and whose callers wait. The kernel ends a connection with its last
// descriptor, and then answers at once (fuse_dev_release in fs/fuse/dev.c): there is one that /proc does not show.
func onItsWay(f forensics.Finding, m mounts.Mount, name string) forensics.Finding {
	f.Title = "no process serves " + name + ", and its connection is still open"
	f.Detail = "Calls would fail at once with ENOTCONN if it were closed, and they wait. So its descriptor is in no process: most likely " +
		"it was handed over (a CSI driver that mounts and passes it on to a pod) and is in the queue of a unix socket."
	f.Remedies = []forensics.Remedy{{
		Command:      "grep -s 'scm_fds:.*[1-9]' /proc/[0-9]*/fdinfo/*",
		Why:          "names the processes that have not received descriptors yet: one of them is to serve the mount",
		Precondition: "Linux 5.8", Risk: "none",
	}, abortFUSE(m)}
	return f
}

// FUSEServerMismatch finds FUSE servers that serve another mount than their command line says.
var FUSEServerMismatch = forensics.Check{
	ID:    "fuse-server-mismatch",
	Title: "A FUSE server serves another volume than it was started for",
	Doc: `A process that by the kernel's word (fuse_connection, Linux 6.16) serves a mount, and whose command line names the
mount point of another volume than those that its mounts below pod directories are of. Other directories of a pod are no
sign: servers are told where their cache and their credentials are, too. Nor is one that the server has open or that is the
source of its mount, as of file systems that show others. Seen with clients that are started once for each volume and got the wrong one: pods
then read and write a stranger's data. Guessed servers are not judged.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range held(p).Servers {
			process, ok := p.Model.Process(s.PID)
			if s.Guess || !ok {
				continue
			}
			if word := startedElsewhere(p, process, p.Model.MountsOf(s.Device)); word != "" {
				f := serverFinding(p, s, "serves %s, but was started for "+strings.ReplaceAll(word, "%", "%%"))
				f.Detail = "Pods may read and write another volume than theirs. Compare its command line with the volumes of the pods before anything is unmounted."
				f.Confidence = forensics.Likely
				p.Report(ofTheHost(p, f, s))
			}
		}
	},
}

// startedElsewhere returns the mount point that a command line names and the server does not serve: that of another
// volume than all those as which its file system is mounted in pods. "" is none.
func startedElsewhere(p *forensics.Pass, process procs.Process, list []mounts.Mount) string {
	served := map[string]bool{}
	for _, m := range list {
		if _, volume := p.Model.PodOf(m.MountPoint); volume != "" {
			served[podVolume(volume)] = true
		}
	}
	elsewhere := ""
	for i, word := range process.Command {
		if _, value, found := strings.Cut(word, "="); found {
			word = value
		}
		word = strings.TrimSuffix(word, "/")
		if slices.ContainsFunc(list, func(m mounts.Mount) bool { return m.MountPoint == word || i > 1 && endsIn(m.MountPoint, word) }) {
			return ""
		}
		if !volumePoint.MatchString(word) || ownVolume.MatchString(word) || isSource(p, process.PID, word, list) {
			continue
		}
		switch _, volume := p.Model.PodOf(word); {
		case served[podVolume(volume)]:
			return "" // by another path, as where the kubelet's directory is a symbolic link
		case elsewhere == "":
			elsewhere = word
		}
	}
	if len(served) == 0 {
		return "" // it is seen in the namespaces of containers only, by other names
	}
	return elsewhere
}

// endsIn says whether a path may be what a relative one was meant to be: where a server was started is not known.
func endsIn(path, relative string) bool {
	relative = strings.TrimPrefix(relative, "./")
	return relative != "" && !strings.HasPrefix(relative, "/") && strings.HasSuffix(path, "/"+relative)
}

// isSource says whether a server shows a path rather than serving it: the path is the source of its mount, or it has that
// open, or something below.
func isSource(p *forensics.Pass, pid int, path string, list []mounts.Mount) bool {
	return slices.ContainsFunc(list, func(m mounts.Mount) bool { return strings.TrimSuffix(m.Source, "/") == path }) ||
		slices.ContainsFunc(holdsOf(p, pid), func(h holders.Holder) bool {
			return h.Path == path || strings.HasPrefix(h.Path, path+"/")
		})
}

// holdsOf is what a process holds.
func holdsOf(p *forensics.Pass, pid int) []holders.Holder {
	return forensics.Once(p, "holders by process", func() map[int][]holders.Holder {
		by := map[int][]holders.Holder{}
		for _, h := range held(p).Holders {
			by[h.PID] = append(by[h.PID], h)
		}
		return by
	})[pid]
}

// volumePoint is where the kubelet has a volume of a pod mounted; ownVolume those that it makes itself, without a server.
var (
	volumePoint = regexp.MustCompile(`^/.*/volumes/(kubernetes\.io~csi/[^/]+/mount|[^/]+~[^/]+/[^/]+)$`)
	ownVolume   = regexp.MustCompile(`/volumes/kubernetes\.io~(empty-dir|configmap|secret|projected|downward-api|git-repo|host-path|local-volume)/`)
)

// podVolume is the pod and the name of a volume, of which a subpath shows no more.
func podVolume(volume string) string {
	uid, _, _ := strings.Cut(volume, "/")
	return uid + "/" + path.Base(volume)
}
