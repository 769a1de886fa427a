package collect

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
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
	c.read(ctx, sourceKubeletState, readLimit, c.statePods)
	c.read(ctx, forensics.SourcePodLogs, readLimit, c.podLogs)
	c.apiDumps(ctx)

	var reading, asking sync.WaitGroup
	defer func() {
		c.opt.Progress("reading logs")
		reading.Wait()
	}()
	reading.Go(func() { c.readLogs(ctx) })
	asking.Go(func() { c.read(ctx, forensics.SourceRuntimeAnswer, readLimit, c.runtimeAnswers) })
	asking.Go(func() { c.otherMemories(ctx, daemonsOf(c.seen())) })
	asking.Go(func() { c.apiServer(ctx) })
	asking.Go(func() {
		c.opt.Progress("querying the kubelet")
		c.askKubelet(ctx)
	})
	if slices.ContainsFunc(c.seen().Threads, func(t procs.Thread) bool { return t.WaitSeconds == nil }) {
		asking.Wait() // goroutines may prove an age that the kernel does not tell
	}
	c.opt.Progress("probing mounts")
	c.mountHealth(ctx)
	asking.Wait()
	c.read(ctx, forensics.SourceBackings, readLimit, c.backings)
	c.opt.Progress("looking for open files on mounts")
	c.read(ctx, forensics.SourceHolders, readLimit, c.holders)
	c.otherMemories(ctx, fuseServersOf(c.seen()))
	c.disks(ctx)
	c.secondLook(ctx)
}

// offline examines the disk of another node.
func (c *collector) offline(ctx context.Context) {
	c.absent("not collected: --root is the disk of another machine", forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads,
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
