package checks

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// limitExhausted finds limits of the node other than disk space and memory.
var limitExhausted = forensics.Check{
	ID:    "limit-exhausted",
	Title: "A limit of the node is reached",
	Doc: `Limits that logs name:

- inotify watches and instances
- namespaces (user.max_user_namespaces): "fork/exec …: no space left on device"
- cgroups: "mkdir /sys/fs/cgroup/…: no space left on device", memory cgroups that the kernel cannot create
- process ids of a pod or of the node, threads, open files
- connection tracking, memory of TCP, neighbours (ARP), addresses of the pod network
- D-Bus of systemd, the lock of xtables, keys of the kernel

"No space left on device" of inotify, of a cgroup or of a namespace is no full disk. A limit counts as reached
while its messages continue at the end of the log.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		for _, l := range limits {
			l.report(p)
		}
		for _, i := range pidPressure(p) {
			p.Report(pidsFinding(p, i))
		}
	},
}

// A limit is what messages of one kind mean.
type limit struct {
	kind  logs.Kind
	cause logs.Cause // of the kind's messages only those with this cause
	fatal logs.Cause // a kubelet that ends with this cause has met the limit, too
	id    string
	// now and then are the headline, look shows the limit.
	now, then string
	few       int64
	// ofPods says that only the limit of a pod, of the kubelet or of the runtime is trouble: programs limit themselves, too.
	ofPods bool
	look   []string
	// raise is how to raise the limit; without an action where that is no cure.
	raise forensics.Remedy
}

var limits = []limit{
	{kind: "inotify-limit", fatal: "inotify", id: "inotify", now: "inotify limit has been reached", then: "inotify limit was reached", look: []string{"cat", "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Raise fs.inotify.max_user_instances and max_user_watches, or end what uses them"}},
	{kind: "cgroup-no-space", id: "cgroups", now: "Cgroups cannot be created", then: "Cgroups could not be created", look: []string{"cat", "/proc/cgroups"}},
	{kind: "namespace-limit", id: "namespaces", now: "Limit of namespaces has been reached", then: "Limit of namespaces was reached", look: []string{"sh", "-c", "grep . /proc/sys/user/max_*_namespaces"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Raise user.max_user_namespaces and the other limits of that name: 0 forbids such namespaces"}},
	{kind: "kernel-memcg-exhausted", id: "cgroups", now: "Memory cgroups cannot be created", then: "Memory cgroups could not be created", look: []string{"cat", "/proc/cgroups"}},
	{kind: "kernel-pids-exhausted", ofPods: true, id: "process-ids", now: "Process limit of a cgroup has been reached", then: "Process limit of a cgroup was reached", look: []string{"cat", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Find the program that starts the processes or threads, or raise podPidsLimit"}},
	{kind: "process-limit", id: "processes", now: "Limit of processes, threads or open files has been reached", then: "Limit of processes, threads or open files was reached", few: 2, look: []string{"cat", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/fs/file-nr"}},
	{kind: "kernel-conntrack-full", id: "conntrack", now: "Connection tracking table has been full (packets dropped)", then: "Connection tracking table was full", look: []string{"cat", "/proc/sys/net/netfilter/nf_conntrack_count", "/proc/sys/net/netfilter/nf_conntrack_max"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Raise net.netfilter.nf_conntrack_max, or find what opens the connections"}},
	{kind: "kernel-tcp-memory", id: "tcp-memory", now: "Memory limit of TCP has been reached", then: "Memory limit of TCP was reached", look: []string{"cat", "/proc/sys/net/ipv4/tcp_mem", "/proc/net/sockstat"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Find the program whose sockets are full (ss -tnmp), or raise net.ipv4.tcp_mem"}},
	{kind: "kernel-neighbours-full", id: "neighbours", now: "Neighbour table (ARP) has been full (packets dropped)", then: "Neighbour table (ARP) was full", look: []string{"cat", "/proc/sys/net/ipv4/neigh/default/gc_thresh3", "/proc/sys/net/ipv6/neigh/default/gc_thresh3"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Raise gc_thresh1, gc_thresh2 and gc_thresh3 of net.ipv4.neigh.default and net.ipv6.neigh.default"}},
	{kind: "cni-add-failed", cause: "no-address", id: "addresses", now: "Pod network has had no free address", then: "Pod network had no free address", look: []string{"ls", "/var/lib/cni/networks"}},
	{kind: logs.KindDBusFailed, id: "systemd", now: "systemd does not answer over D-Bus", then: "systemd did not answer over D-Bus", few: 2, look: []string{"systemctl", "list-jobs"}},
	{kind: "keyring-limit", id: "keys", now: "Quota of the kernel's keys has been reached", then: "Quota of the kernel's keys was reached", look: []string{"cat", "/proc/key-users", "/proc/sys/kernel/keys/maxkeys"}, raise: forensics.Remedy{Action: remedy.ActionConfigure, Instruction: "Raise kernel.keys.maxkeys and maxbytes: each container has a key"}},
	{kind: "xtables-lock", id: "xtables", now: "xtables lock has been in use", then: "xtables lock was in use", few: logview.FewFailures, look: []string{"cat", "/proc/locks"}},
}

// find is the limit as an incident, if messages name it.
func (l limit) find(p *forensics.Pass) []incident.Incident {
	events := logview.Events(p, l.kind, kubeletFatal)
	if slices.ContainsFunc(events, endsService) || logview.Written(p) && slices.ContainsFunc(events, cannotFork) {
		l.few = 1
	}
	spec := incident.Spec{Window: 10 * time.Minute, Few: l.few, Subject: func(e logs.Event) forensics.Entity {
		if cause := e.Cause(); e.Kind == l.kind && cause != l.cause && cause != "no-thread" && cause != ownThreadLimit || e.Kind != l.kind && (cause != l.fatal || l.fatal == "") {
			return forensics.Entity{}
		}
		return incident.Thing("limit", l.id)
	}}
	list := spec.Find(p, events)
	for n, i := range list {
		list[n].Minor = l.ofPods && !slices.ContainsFunc(i.Events, func(e logs.Event) bool {
			return e.PodUID != "" || strings.Contains(e.Path, "kubepods") || ofNodeService(e)
		})
	}
	return list
}

// pidPressure is what the kubelet says, for minutes, of a want of process ids of the node.
func pidPressure(p *forensics.Pass) []incident.Incident {
	const long = 5 * 60 // seconds, longer than one eviction needs to end it
	of := func(e logs.Event) bool { return e.Cause() == "pids" }
	spec := incident.Spec{Window: 10 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
		if !of(e) {
			return forensics.Entity{}
		}
		return incident.Thing("limit", "process-ids")
	}, Ended: func(forensics.Entity) *time.Time {
		return logview.Last(sorting.Delete(logview.Events(p, "eviction-relieved"), func(e logs.Event) bool { return !of(e) }))
	}}
	list := spec.Find(p, logview.Events(p, logs.KindEvictionReclaiming, logs.KindEvictionMustEvict))
	list = sorting.Delete(list, func(i incident.Incident) bool { return logview.Between(i.First, i.Last) < long })
	for _, i := range list {
		for k := range i.Events {
			i.Events[k].Reason = "" // which is only the name of the resource
		}
	}
	return list
}

func pidsFinding(p *forensics.Pass, i incident.Incident) forensics.Finding {
	f := i.Finding(p, "Process ids of the node have been nearly used up", "Process ids of the node were nearly used up")
	f.Effect = "pods are evicted"
	f.Detail = findings.Sentences("The kubelet reports the condition PIDPressure and evicts pods to reclaim process ids.", f.Detail)
	if i.Grave() {
		f.Remedies = []forensics.Remedy{
			incident.Look("shows which processes have the most threads, and the limits", "sh", "-c", "ps -eo nlwp,pid,ppid,args --sort=-nlwp | head -20; cat /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max"),
		}
	}
	return f
}

// cannotFork says whether the kubelet could not start a process of its own, which measures disks.
func cannotFork(e logs.Event) bool {
	return (e.Origin == "kubelet" || e.Origin == "") && strings.Contains(e.Reason, "exec du - fork/exec") && e.Code == "EAGAIN"
}

// endsService says whether the kubelet or a container runtime ends since it cannot make a thread: it says so once.
func endsService(e logs.Event) bool {
	return (e.Cause() == "no-thread" || e.Cause() == ownThreadLimit) && (e.Origin == "kubelet" || cri.IsLogName(e.Origin))
}

const ownThreadLimit logs.Cause = "thread-limit"

// byOwnThreads explains a kubelet that has more threads than it allows itself by its goroutines that each occupy one.
func byOwnThreads(p *forensics.Pass, f *forensics.Finding, i incident.Incident) {
	if !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Cause() == ownThreadLimit && e.Origin == "kubelet" }) {
		return
	}
	for _, l := range knownPileUps() {
		if list := l.stalledIn(p); l.enough(list) && list[0].Wait.Kind == stall.WaitFile {
			f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindSubsystem, ID: l.subsystem})
		}
	}
}

// manyIDs is how many zombies of one parent explain a want of process ids: a quarter of those that a node without a larger kernel.pid_max has;
// manyOfPod, of those that a pod may have where that is limited (podPidsLimit).
const manyIDs, manyOfPod = 8 << 10, 500

// byZombies explains a node, or a container, that has no process id left by the zombies of one process.
func (l limit) byZombies(p *forensics.Pass, f *forensics.Finding, i incident.Incident) {
	if l.id != "processes" {
		return
	}
	many := manyIDs
	if !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return !strings.Contains(e.Reason, "runtime exec failed") }) {
		many = manyOfPod
	}
	zombies := unreaped(p.Evidence)
	for _, parent := range slices.Sorted(maps.Keys(zombies)) {
		if zombies[parent] >= many && parent != 0 {
			f.Because = append(f.Because, findings.ProcessEntity(parent))
		}
	}
}

// ofNodeService says whether a message is about the cgroup of the kubelet or of a container runtime.
func ofNodeService(e logs.Event) bool {
	name, ok := strings.CutSuffix(path.Base(e.Path), ".service")
	return ok && (cri.IsLogName(name) || slices.Contains([]string{"kubelet", "docker", "cri-docker", "k3s", "k3s-agent", "rke2-server", "rke2-agent"}, name))
}

func (l limit) report(p *forensics.Pass) {
	for _, i := range l.find(p) {
		f := i.Finding(p, l.now, l.then)
		var where []string
		for _, e := range i.Events {
			if about := cmp.Or(findings.PodLabel(p, e.PodName, logview.UIDOf(p, e.Subject)), e.Path); about != "" {
				where = findings.Union(where, []string{about})
			}
		}
		if len(where) > 0 {
			f.Detail = findings.Sentences(f.Detail, "Reported for: "+findings.Some(where)+".")
		}
		byOwnThreads(p, &f, i)
		l.byZombies(p, &f, i)
		if i.Grave() {
			f.Remedies = []forensics.Remedy{incident.Look("shows the limit or what uses it", l.look...)}
			if r := l.raise; r.Action != "" {
				r.Why, r.OnlyIf = "what fails for this reason is tried again and works then", "the limit is still reached"
				r.Risk = "a higher limit costs memory of the kernel; it does not fix a leak"
				f.Remedies = append(f.Remedies, r)
			}
		}
		p.Report(f)
	}
}
