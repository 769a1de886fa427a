package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

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
		status = forensics.Source{Source: forensics.SourceThreads, Status: forensics.SourceDenied, Detail: "reading stacks and system calls of other users' threads needs root"}
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
	host := c.seen().Mounts
	cache := tableCache{fs: c.fs, host: host.Namespace, tables: map[uint64]*mounts.Index{}}
	if host.Namespace != 0 {
		cache.tables[host.Namespace] = host.Index()
	}
	return procslive.Options{Group: c.opt.Calls, Self: c.opt.self(), Table: cache.table, Identify: func(comm string, command []string) bool {
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

// A tableCache has the mount tables of the namespaces that one reader of processes comes across. It is that reader's alone, which
// may go on when nobody waits for it any more.
type tableCache struct {
	fs     *hostfs.FS
	host   uint64
	tables map[uint64]*mounts.Index
	tabled int // mounts in those of other namespaces
}

// table is the mount table of a process's namespace, read once a namespace.
func (c *tableCache) table(pid int, ns uint64) *mounts.Index {
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
		maps.DeleteFunc(c.tables, func(ns uint64, _ *mounts.Index) bool { return ns != c.host })
		c.tabled = 0
	}
	if ns != 0 {
		c.tables[ns] = index
	}
	return index
}

// maxTabled is how many mounts of other namespaces are remembered: those of one more and the host's are.
const maxTabled = 10_000
