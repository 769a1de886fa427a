package collect

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A pod can have any number of programs in which a thread is blocked, or holds the lock of its memory. So that they cost little, these bound
// how many processes beside the kubelet are read, how long one of them may take, and how long all.
const (
	mostMemories  = 16
	otherLimit    = 5 * time.Second
	memoriesLimit = 8 * time.Second
)

// otherMemories reads the goroutines of programs beside the kubelet. What is no Go program is skipped. A program in which a goroutine is
// blocked is read again after the interval.
func (c *collector) otherMemories(ctx context.Context, list []procs.Process) {
	began := c.opt.Now()
	suspects := c.readMemories(ctx, list, "")
	if len(suspects) == 0 || c.opt.Interval <= 0 {
		return
	}
	wait := time.NewTimer(c.opt.Interval - c.opt.Now().Sub(began))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
		c.readMemories(ctx, suspects, ":second")
	}
}

// readMemories reads processes, and returns those in which a goroutine is blocked.
func (c *collector) readMemories(ctx context.Context, list []procs.Process, again string) (suspects []procs.Process) {
	ctx, cancel := context.WithTimeout(ctx, memoriesLimit)
	defer cancel()
	var lock sync.Mutex
	var reading sync.WaitGroup
	next := make(chan procs.Process, len(list))
	for _, p := range list {
		next <- p
	}
	close(next)
	for range 2 { // at a time: the node is somebody else's
		reading.Go(func() {
			for p := range next {
				if ctx.Err() == nil && c.otherMemory(ctx, p, again) {
					lock.Lock()
					suspects = append(suspects, p)
					lock.Unlock()
				}
			}
		})
	}
	reading.Wait()
	return suspects
}

// otherMemory reads one process, and says whether a goroutine in it is blocked.
func (c *collector) otherMemory(ctx context.Context, p procs.Process, again string) bool {
	ctx, cancel := context.WithTimeout(ctx, otherLimit)
	defer cancel()
	began := c.opt.Now()
	var dumps []forensics.Dump
	err := c.lockedMemory(p.PID)
	if err == nil {
		dumps, err = c.readMemory(ctx, p.PID, goroutines.Digester{Bytes: otherDump, Keep: otherExamples})
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	for i := range dumps {
		if d := &dumps[i]; d.Program == "" || d.Program == kubeletProgram { // its word; it is not the kubelet that is examined
			d.Program = "process " + p.Comm
		}
	}
	cover := forensics.Source{
		Source: forensics.SourceOtherGoroutines + ":" + memoryOf(p.PID) + again, Status: forensics.SourceRead,
		Detail: p.Comm, Seconds: c.opt.Now().Sub(began).Seconds(),
	}
	switch {
	case err != nil && len(dumps) > 0:
		cover.Status, cover.Detail = forensics.SourceTruncated, p.Comm+": "+err.Error()
	case err != nil:
		cover.Status, cover.Detail = statusOf(err), p.Comm+": "+err.Error()
	}
	c.tell(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{cover}})
	return again == "" && suspicious(dumps)
}

// daemonsOf are the processes to read, where a node is sick: container runtimes first, then those with threads that wait in a file system (of
// CSI drivers, of the host, of pods), then other servers of CSI calls.
func daemonsOf(e forensics.Evidence) []procs.Process {
	waits, kubelet, own := map[int]bool{}, 0, e.Collector.PID
	for _, t := range e.Threads {
		waits[t.PID] = true
	}
	if e.Kubelet != nil {
		kubelet = e.Kubelet.PID
	}
	rank := map[int]int{}
	for _, p := range forensics.RuntimeProcesses(e.Processes) {
		rank[p.PID] = 1
	}
	for _, p := range e.Processes {
		switch {
		case rank[p.PID] != 0:
		case waits[p.PID] && servesCSI(p):
			rank[p.PID] = 2
		case waits[p.PID] && p.ContainerID == "":
			rank[p.PID] = 3
		case waits[p.PID]:
			rank[p.PID] = 4
		case servesCSI(p):
			rank[p.PID] = 5
		}
	}
	list := sorting.Delete(slices.Clone(e.Processes), func(p procs.Process) bool {
		return rank[p.PID] == 0 || p.PID == kubelet || p.PID == own || p.State == "Z"
	})
	sorting.Stable(list, func(a, b procs.Process) int { return cmp.Compare(rank[a.PID], rank[b.PID]) })
	return list[:min(len(list), mostMemories)]
}

// fuseServersOf are the servers of FUSE file systems with unanswered requests that were not read yet.
func fuseServersOf(e forensics.Evidence) []procs.Process {
	read, serves, waiting := map[int]bool{}, map[int]bool{}, map[string]bool{}
	for i := range e.Dumps {
		read[e.Dumps[i].PID] = true
	}
	if e.MountUse == nil {
		return nil
	}
	for _, q := range e.MountUse.FUSE.Queues {
		waiting[q.Device] = len(q.Requests) > 0 && q.Requests[len(q.Requests)-1] > 0
	}
	for _, d := range e.MountUse.FUSE.Devices {
		serves[d.PID] = serves[d.PID] || d.Connection == 0 || waiting[mounts.ConnectionDevice(uint64(d.Connection))]
	}
	list := sorting.Delete(slices.Clone(e.Processes), func(p procs.Process) bool {
		return !serves[p.PID] || read[p.PID] || p.PID == e.Collector.PID
	})
	return list[:min(len(list), mostMemories)]
}

// servesCSI says whether a process is started as servers of CSI calls are.
func servesCSI(p procs.Process) bool {
	return slices.ContainsFunc(p.Command, func(arg string) bool {
		_, value, _ := strings.Cut(arg, "=")
		for _, s := range []string{arg, value} {
			s = strings.TrimPrefix(strings.TrimPrefix(s, "unix:"), "//")
			if strings.HasPrefix(s, "/") && path.Base(s) == "csi.sock" {
				return true
			}
		}
		return false
	})
}
