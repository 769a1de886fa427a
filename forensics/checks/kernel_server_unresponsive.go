package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kernelServerUnresponsive finds file servers that do not respond, by the kernel log alone.
var kernelServerUnresponsive = forensics.Check{
	ID:    "kernel-server-unresponsive",
	Title: "A file server does not respond, by the kernel log",
	Doc: `The kernel logs "nfs: server S not responding", "libceph: mds0 … socket closed", "CIFS: … has not responded in 180 seconds",
and a Ceph client that the cluster has blocklisted. A Ceph monitor that closes a
connection before it is open is one that cannot be reached. Until it logs that the server is back, any access to its mounts may block.
Where mounts were probed, servers of mounts are left to the checks of mounts, and others are information. Lines of Ceph and SMB that stopped are information: such
a client may connect again without a line. An NFS server that
stopped three times within half an hour, while the kubelet's housekeeping took long, is slow.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		incident.SawKernel(p)
		for _, i := range lostServers(p) {
			if !i.Current && i.Ended == nil && !fsview.KnowsMounts(p) && hangsTask(p, i.Subject) {
				i.Current, i.Minor = true, false
			}
			p.Report(lostServerFinding(p, i))
		}
	},
}

// lostServers are servers that the kernel lost, except those of mounts, where mounts were probed. An NFS mount waits until a line says that
// the server is back, and a client that Ceph has rejected does not recover. The others connect again, in some kernels without a line, and
// Ceph closes idle connections: they count while the lines continue.
func lostServers(p *forensics.Pass) []incident.Incident {
	return forensics.Once(p, "lost servers", func() []incident.Incident {
		kinds := []logs.Kind{logs.KindKernelNFSDown, logs.KindKernelNFSTimeout, logs.KindKernelCephDown, logs.KindKernelCephRejected, logs.KindKernelCIFSDown}
		events := fsview.OfNoMount(p, "servers of no mount", kinds...)
		probed := p.Evidence.SawAll(forensics.SourceHealth)
		if !probed {
			events = logview.Events(p, kinds...)
		}
		subject := func(e logs.Event) forensics.Entity {
			if noMonitor(e) {
				return monitors
			}
			if m, ok := fsview.MountOf(p, e); ok {
				return forensics.Entity{Kind: forensics.KindSuperblock, ID: m.Device}
			}
			return incident.Thing("server", e.Server)
		}
		spec := incident.Spec{Window: 10 * time.Minute, Subject: subject, Ended: func(server forensics.Entity) *time.Time {
			return logview.Last(backOf(p, server, subject))
		}}
		list := spec.Find(p, events)
		connects := func(i incident.Incident) bool {
			return slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Cause() == "no-connection" })
		}
		none := slices.ContainsFunc(list, func(i incident.Incident) bool { return i.Subject == monitors && connects(i) }) &&
			slices.ContainsFunc(list, func(i incident.Incident) bool { return i.Subject != monitors && connects(i) })
		for n, i := range list {
			waits := slices.ContainsFunc(i.Events, func(e logs.Event) bool {
				return e.Kind == logs.KindKernelNFSDown || e.Kind == logs.KindKernelCephRejected || e.Cause() == "hung"
			})
			few := int64(logview.FewFailures)
			if i.Events[0].Kind == logs.KindKernelCIFSDown {
				few = 2 // each line stands for three minutes
			}
			list[n].Current, list[n].Minor = i.Ended == nil && (waits || i.Current), probed && fsview.KnowsMounts(p) || !waits && i.Count < few
			if none && connects(i) && logview.Written(p) { // the client has lost the cluster, not one daemon
				list[n].Minor = probed && fsview.KnowsMounts(p)
			}
			if comesAndGoes(p, i, spec.Window) {
				list[n].Current = true
			}
		}
		return sorting.Delete(list, func(i incident.Incident) bool { return i.Last == nil && isBack(p, i, subject) || noMountLeft(p, i) })
	})
}

// byLostServer explains goroutines in calls on files by the server that does not respond, by the kernel's log, where the length of a path
// fits no other file system, or where no mounts are known and the kernel has lost no other server.
func byLostServer(p *forensics.Pass, f *forensics.Finding, list []stall.Goroutine) {
	lost := sorting.Delete(slices.Clone(lostServers(p)), func(i incident.Incident) bool { return !i.Grave() })
	for _, t := range list {
		var server forensics.Entity
		confidence, why := forensics.Likely, "the length of the path fits no other mount, and the kernel logs that its server does not respond"
		if m, ok := t.OnlyMount(p); ok {
			server = forensics.Entity{Kind: forensics.KindSuperblock, ID: m.Device}
		} else if t.Thread == nil && t.Wait.Kind == stall.WaitFile && len(p.Evidence.Mounts.Mounts) == 0 && len(lost) == 1 {
			server, confidence, why = lost[0].Subject, forensics.Possible, "the kernel logs that one server does not respond, and it is not known on which mount the call is"
		}
		if slices.ContainsFunc(lost, func(i incident.Incident) bool { return i.Subject == server }) {
			f.Because = findings.Union(sorting.Delete(f.Because, func(e forensics.Entity) bool { return e == t.Entity() }), []forensics.Entity{server})
			f.Confidence, f.ConfidenceWhy = confidence, why
		}
	}
}

// monitors are all of a Ceph cluster: a client needs one, and goes from one to the next until one answers.
var monitors = incident.Thing("server", "mon")

// noMonitor says whether a message is about a monitor to which the client could not connect. That a connection was closed is usual.
func noMonitor(e logs.Event) bool {
	return e.Cause() == "no-connection" && strings.HasPrefix(e.Server, "mon")
}

// backOf are the messages that a server is back.
func backOf(p *forensics.Pass, server forensics.Entity, subject func(logs.Event) forensics.Entity) []logs.Event {
	return sorting.Delete(logview.Events(p, logs.KindKernelNFSBack, logs.KindKernelCephBack), func(e logs.Event) bool {
		return subject(e) != server && (server != monitors || !strings.HasPrefix(e.Server, "mon"))
	})
}

// comesAndGoes says whether an NFS server has stopped responding again and again until the log's end, and came back each time, while the
// kubelet's housekeeping took long: the server is slow. Without the kubelet's lines it may be a failover that is over.
func comesAndGoes(p *forensics.Pass, i incident.Incident, window time.Duration) bool {
	const spells = 3
	long := logview.Events(p, "housekeeping-long")
	return logview.Count(long) >= spells && logview.Within(logview.Last(long), logview.KubeletEnd(p), window) && i.Ended != nil && !i.Booted && i.Count >= spells && i.Events[0].Kind == logs.KindKernelNFSDown && logview.Within(i.Ended, logview.KubeletEnd(p), window) &&
		logview.Between(i.First, i.Ended) <= window.Seconds()*float64(i.Count)
}

// isBack says whether the last line about a server says that it is back, by the order of the lines: dmesg without -T has no times, and a
// file that does not name the boot gives none.
func isBack(p *forensics.Pass, i incident.Incident, subject func(logs.Event) forensics.Entity) bool {
	return logview.Below(i.Events, backOf(p, i.Subject, subject))
}

// noMountLeft says whether a list of mounts below the lines about a server has none of it: nothing can wait for it any more.
func noMountLeft(p *forensics.Pass, i incident.Incident) bool {
	none := sorting.Delete(logview.Events(p, "no-mount"), func(e logs.Event) bool {
		family, _, _ := strings.Cut(e.Reason, "4") // nfs4, nfs4,nfs
		return (family == "" || !strings.HasPrefix(string(i.Events[0].Kind), "kernel-"+family)) && (i.Subject.Kind != "server" || !isOf(e.Reason, i.Subject.ID))
	})
	return logview.Below(i.Events, none)
}

// isOf says whether what was looked for is a server, or a source on it ("192.0.2.4:/export").
func isOf(source, server string) bool {
	rest, ok := strings.CutPrefix(source, server)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '/')
}

// serverName is a server as its owner knows it.
func serverName(e logs.Event) string {
	switch kind := string(e.Kind); {
	case strings.HasPrefix(kind, "kernel-nfs"):
		return "NFS server " + e.Server
	case noMonitor(e):
		return "Ceph cluster"
	case strings.HasPrefix(kind, "kernel-ceph"):
		return "Ceph daemon " + e.Server
	}
	return "SMB server " + e.Server
}

func lostServerFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	name := serverName(i.Events[0])
	f := incident.Certain(i.Finding(p, name+" has not responded", name+" did not respond"))
	f.Lone = f.Lone && !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return strings.HasPrefix(string(e.Kind), "kernel-ceph") }) // it connects again
	rejected := i.Current && slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Kind == logs.KindKernelCephRejected })
	if rejected {
		f.Title = headline.Fit(name + " has rejected this client since " + logview.Moment(i.First) + ": its mounts do not recover")
		f.Detail = findings.Sentences(f.Detail, "The cluster has blocklisted the client. Its mounts must be mounted again.")
	}
	if i.Current && i.Ended != nil {
		f.Title = headline.Fit(fmt.Sprintf("%s is slow: it stopped responding %s since %s", name, findings.Times(i.Count), logview.Moment(i.First)))
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the kernel log says that it came back each time, and stopped again"
		f.Detail = findings.Sentences(f.Detail, "It came back each time. Until then, access to its mounts waited.")
		f.Remedies = []forensics.Remedy{incident.Look("shows which mounts use the server. It reads no mount", "cat", "/proc/self/mountinfo")}
		return f
	}
	if !i.Current {
		return f
	}
	if seconds := i.Seconds(p); seconds >= 60 && !rejected {
		f.Title = headline.Fit(name + " has not responded for " + text.Duration(seconds) + ": access to its mounts blocks or fails")
	}
	f.Detail = findings.Sentences(f.Detail, "No later line says that it is back. Processes that access its mounts wait, and with them the kubelet.")
	f.Remedies = []forensics.Remedy{incident.Look("shows which mounts use the server. It reads no mount", "cat", "/proc/self/mountinfo")}
	return f
}
