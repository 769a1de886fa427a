package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// readLimit bounds one reader that should answer from memory or a local disk.
const readLimit = 10 * time.Second

// live examines this machine. The order matters: what answers at once comes first; the pod directories are listed
// before the kubelet is asked for its pods, so that a pod that is added in between is not taken for an orphan; mounts
// are probed last, and only those about which nobody else has told.
func (c *collector) live(ctx context.Context) {
	c.opt.Progress("reading mounts and processes")
	c.read(ctx, forensics.SourceNode, readLimit, c.nodeFacts)
	c.read(ctx, forensics.SourceMounts, readLimit, c.hostMounts)
	c.read(ctx, forensics.SourceProcesses, 2*readLimit, c.processes)
	c.opt.Progress("looking for the kubelet")
	c.read(ctx, forensics.SourceKubelet, readLimit, c.findKubelet)
	c.kubeletNamespace(ctx)
	c.opt.Progress("reading pod directories")
	c.read(ctx, forensics.SourcePodDirs, 2*readLimit, c.podDirs)
	c.read(ctx, forensics.SourceCgroups, readLimit, c.cgroups)
	c.read(ctx, forensics.SourceRuntime, 2*readLimit, c.runtimeFiles)
	c.read(ctx, forensics.SourceStaticPods, readLimit, c.staticPods)
	c.read(ctx, forensics.SourcePodLogs, readLimit, c.podLogs)
	c.apiDumps(ctx)

	var reading, asking sync.WaitGroup
	defer func() {
		c.opt.Progress("reading logs")
		reading.Wait()
	}()
	reading.Go(func() { c.readLogs(ctx) })
	asking.Go(func() { c.read(ctx, forensics.SourceRuntimeAnswer, readLimit, c.runtimeAnswers) })
	asking.Go(func() {
		c.opt.Progress("asking the kubelet")
		c.askKubelet(ctx)
	})
	if slices.ContainsFunc(c.seen().Threads, func(t procs.Thread) bool { return t.WaitSeconds == nil }) {
		asking.Wait() // goroutines may prove an age that the kernel does not tell
	}
	c.opt.Progress("looking at mounts")
	c.mountHealth(ctx)
	asking.Wait()
	c.read(ctx, forensics.SourceBackings, readLimit, c.backings)
	c.opt.Progress("looking for what holds mounts")
	c.read(ctx, forensics.SourceHolders, readLimit, c.holders)
	c.disks(ctx)
	c.secondLook(ctx)
}

// offline examines the disk of another node.
func (c *collector) offline(ctx context.Context) {
	c.absent("--root is the disk of another machine: nothing live is read", forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads,
		forensics.SourceHealth, forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics, forensics.SourceCgroups, forensics.SourceHolders, forensics.SourceBackings,
		forensics.SourceRuntimeAnswer)
	c.read(ctx, forensics.SourceNode, readLimit, c.offlineNode)
	c.read(ctx, forensics.SourceKubelet, readLimit, c.findKubelet)
	c.read(ctx, forensics.SourcePodDirs, 3*readLimit, c.podDirs)
	c.read(ctx, forensics.SourceRuntime, 2*readLimit, c.runtimeFiles)
	c.read(ctx, forensics.SourceStaticPods, readLimit, c.staticPods)
	c.read(ctx, forensics.SourcePodLogs, readLimit, c.podLogs)
	c.apiDumps(ctx)
	c.disks(ctx)
	c.readLogs(ctx)
	if len(c.opt.Goroutines) > 0 {
		c.dumpFiles(ctx)
	} else {
		c.absent("no dump was given (--goroutines FILE)", forensics.SourceGoroutines)
	}
}

func (c *collector) offlineNode(context.Context) (forensics.Evidence, error) {
	name, err1 := c.fs.ReadFile("/etc/hostname", 4096)
	system, err2 := osName(c.fs)
	return forensics.Evidence{Node: forensics.Node{Name: firstLine(name), OS: system}}, errors.Join(err1, err2)
}

// hostMounts reads the table of the first process, which is the host's, or else of this one. A first process that may
// not be looked into (no root, a sandbox) has a table, but its namespace could not be reached.
func (c *collector) hostMounts(ctx context.Context) (forensics.Evidence, error) {
	table, err := mountslive.Read(ctx, c.fs, 1)
	if len(table.Mounts) == 0 || table.Namespace == 0 {
		table, err = mountslive.Read(ctx, c.fs, 0)
	}
	return forensics.Evidence{Mounts: table}, err
}

func (c *collector) processes(ctx context.Context) (forensics.Evidence, error) {
	snapshot, err := procslive.Collect(ctx, c.fs, c.procsOptions())
	c.readPackages(ctx, snapshot.Processes)
	return c.processPart(snapshot, err)
}

// processPart is the part that a snapshot of the processes makes.
func (c *collector) processPart(snapshot procslive.Snapshot, err error) (forensics.Evidence, error) {
	part := forensics.Evidence{Processes: snapshot.Processes, Threads: snapshot.Threads}
	status := forensics.Source{Source: forensics.SourceThreads, Status: statusOf(err)}
	if err == nil && !privileged() {
		status = forensics.Source{Source: forensics.SourceThreads, Status: forensics.SourceDenied, Detail: "stacks and system calls of other users' threads need root"}
	}
	if len(snapshot.Problems) > 0 {
		status.Detail = fmt.Sprintf("%s; first: %v", text.Plural(len(snapshot.Problems), "problem"), snapshot.Problems[0])
	}
	part.Coverage = append(part.Coverage, status)
	if err == nil && !slices.ContainsFunc(snapshot.Processes, func(p procs.Process) bool { return p.PID == 1 }) {
		part.Coverage = append(part.Coverage, forensics.Source{
			Source: forensics.SourceProcesses, Status: forensics.SourceTruncated, Detail: "/proc hides the processes of other users (mount option hidepid, proc(5))",
		})
	}
	return part, err
}

func (c *collector) procsOptions() procslive.Options {
	c.tables, c.tabled = map[uint64]*mounts.Index{}, 0
	host := c.seen().Mounts
	if host.Namespace != 0 {
		c.tables[host.Namespace] = host.Index()
	}
	return procslive.Options{Group: c.opt.Calls, Self: c.opt.self(), Table: c.table, Identify: func(comm string, command []string) bool {
		_, ok := kubelet.IsCandidate(comm, command)
		return ok || runtimes.OfProcess(comm) != ""
	}}
}

// readPackages reads the main packages of the node's processes that call themselves kubelet and whose executables are
// called otherwise.
func (c *collector) readPackages(ctx context.Context, list []procs.Process) {
	for i := range list {
		p := &list[i]
		_, ok := kubelet.IsCandidate(p.Comm, p.Command)
		if ok && p.OfNode().Status == procs.Genuine && p.Daemon(kubelet.Programs...).Status == procs.Impostor {
			p.Identity.Package = kubeletlive.MainPackage(ctx, c.fs, c.opt.Calls, p.PID, p.Identity.Executable)
		}
	}
}

// table is the mount table of a process's namespace, read once a namespace.
func (c *collector) table(pid int, ns uint64) *mounts.Index {
	if x, ok := c.tables[ns]; ok {
		return x
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var index *mounts.Index
	if tables, errs := mountslive.Namespaces(ctx, c.fs, []int{pid}); len(tables) == 1 && len(errs) == 0 {
		index = tables[0].Index()
		c.tabled += len(tables[0].Mounts)
	}
	if c.tabled > maxTabled {
		host := c.seen().Mounts.Namespace
		maps.DeleteFunc(c.tables, func(ns uint64, _ *mounts.Index) bool { return ns != host })
		c.tabled = 0
	}
	if ns != 0 {
		c.tables[ns] = index
	}
	return index
}

// maxTabled is how many mounts of other namespaces are remembered: those of one more and the host's are.
const maxTabled = 10_000

func (c *collector) findKubelet(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	k := kubeletlive.Find(ctx, c.fs, kubeletCandidates(&e), kubeletlive.FindOptions{
		RootDir: c.opt.KubeletRoot, HostMountNS: ownNamespace(c.fs), Group: c.opt.Calls,
	})
	part := forensics.Evidence{Kubelet: &k}
	if k.PID == 0 && k.Expected == "" && k.RootDir == "" {
		if len(k.Impostors) == 0 {
			part.Kubelet = nil
		}
		return part, fmt.Errorf("no kubelet runs here and nothing says that one should: %w", fs.ErrNotExist)
	}
	if k.Unproven != "" {
		part.Coverage = []forensics.Source{{Source: forensics.SourceKubelet, Status: forensics.SourceRead, Detail: unproven(k)}}
	}
	return part, nil
}

func unproven(k kubelet.Instance) string {
	return fmt.Sprintf("whether process %d is the kubelet of this node could not be found out: it %s", k.PID, k.Unproven)
}

// kubeletCandidates are the processes that call themselves kubelet, with what is known against them.
func kubeletCandidates(e *forensics.Evidence) []kubelet.Candidate {
	var list []kubelet.Candidate
	for i := range e.Processes {
		p := &e.Processes[i]
		if _, ok := kubelet.IsCandidate(p.Comm, p.Command); !ok {
			continue
		}
		candidate := kubelet.Candidate{
			PID: p.PID, PPID: p.PPID, StartTicks: p.StartTicks, Comm: p.Comm, Args: p.Command, State: p.State, Started: p.Started,
			MountNS: p.MountNS, Container: p.ContainerID != "",
		}
		if id := p.Identity; id != nil {
			candidate.Executable = id.Executable
		}
		switch v := p.Daemon(kubelet.Programs...); v.Status {
		case procs.Impostor:
			candidate.Doubt = v.Why
		case procs.Undetermined, procs.Unrecorded: // this version records it of all that call themselves so
			candidate.Doubt, candidate.Undetermined = cmp.Or(v.Why, "was not looked at closely"), true
		}
		list = append(list, candidate)
	}
	return list
}

// kubeletNamespace reads the kubelet's mount table where it is not the host's.
func (c *collector) kubeletNamespace(ctx context.Context) {
	e := c.seen()
	if e.Kubelet == nil || e.Kubelet.PID == 0 || e.Kubelet.MountNS == 0 || e.Kubelet.MountNS == e.Mounts.Namespace {
		return
	}
	c.read(ctx, forensics.SourceMounts+":kubelet", readLimit, func(ctx context.Context) (forensics.Evidence, error) {
		table, err := mountslive.Read(ctx, c.fs, e.Kubelet.PID)
		return forensics.Evidence{Namespaces: []mounts.Table{table}}, err
	})
}

// kubeletTable is the mount table that the kubelet sees.
func (c *collector) kubeletTable() mounts.Table {
	e := c.seen()
	for _, t := range e.Namespaces {
		if e.Kubelet != nil && t.Namespace == e.Kubelet.MountNS {
			return t
		}
	}
	return e.Mounts
}

// kubeletFS is the file system as the kubelet sees it; done closes what was opened for it.
func (c *collector) kubeletFS(k *kubelet.Instance) (fsys *hostfs.FS, done func(), err error) {
	if k.PID == 0 || !c.fs.Live() || k.MountNS == 0 || k.MountNS == ownNamespace(c.fs) {
		return c.fs, func() {}, nil
	}
	fsys, err = kubeletlive.ProcessFS(c.fs, k.PID)
	if err != nil {
		return nil, nil, err
	}
	return fsys, func() { _ = fsys.Close() }, nil
}

func (c *collector) podDirs(ctx context.Context) (forensics.Evidence, error) {
	k := c.seen().Kubelet
	if k == nil || k.CanonicalRoot == "" {
		return forensics.Evidence{}, fmt.Errorf("no kubelet directory is known: %w", fs.ErrNotExist)
	}
	fsys, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	table := c.kubeletTable()
	dirs, err := kubeletlive.Walk(ctx, fsys, table.Index(), k.CanonicalRoot, kubeletlive.WalkOptions{Group: c.opt.Calls, Uncounted: c.running()})
	if dirs == nil {
		dirs = []kubelet.PodDir{}
	}
	return forensics.Evidence{PodDirs: dirs}, err
}

// running says of a pod whether a process of it was seen: its volumes are in use, and what is in them is its own affair.
func (c *collector) running() func(uid string) bool {
	seen := map[string]bool{}
	for _, p := range c.seen().Processes {
		seen[p.PodUID] = p.PodUID != ""
	}
	return func(uid string) bool { return seen[uid] }
}

func (c *collector) cgroups(ctx context.Context) (forensics.Evidence, error) {
	found, err := runtimeslive.ReadCgroups(ctx, c.fs)
	return forensics.Evidence{Cgroups: found.Pods, CgroupTotals: &found.Totals}, err
}

func (c *collector) staticPods(ctx context.Context) (forensics.Evidence, error) {
	k := c.seen().Kubelet
	if k == nil || k.StaticPodPath == "" {
		return forensics.Evidence{}, fmt.Errorf("no static pod path is configured: %w", fs.ErrNotExist)
	}
	fsys, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	pods, errs := kubelet.StaticPods(ctx, fsys, k.StaticPodPath)
	return forensics.Evidence{Pods: pods}, errors.Join(errs...)
}

func (c *collector) podLogs(ctx context.Context) (forensics.Evidence, error) {
	dir := "/var/log/pods"
	if k := c.seen().Kubelet; k != nil && k.Config != nil && k.Config.PodLogsDir != "" {
		dir = k.Config.PodLogsDir
	}
	pods, err := kubelet.LogDirs(ctx, c.fs, dir)
	return forensics.Evidence{Pods: pods}, err
}
