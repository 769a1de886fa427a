package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	goroutineslive "github.com/nodeforensics/nodeforensics/forensics/goroutines/live"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// lockLimit is how long the kubelet's memory is tried where its command line could not be read.
const lockLimit = 2 * time.Second

// The dump of another program than the kubelet is kept to these bytes, and of what is beyond so many examples of each kind.
const (
	otherDump     = 256 << 10
	otherExamples = 2
)

// memoryDump reads the goroutines of the kubelet from its memory. It blocks where a thread of the program holds the lock of its memory
// while it waits for a dead file system: so it is left behind at its deadline.
func (c *collector) memoryDump(ctx context.Context, k kubelet.Instance) ([]forensics.Dump, forensics.Source) {
	pid := k.PID
	if k.Unproven != "" { // it could have anything in its memory, and would be believed
		return nil, forensics.Source{Source: forensics.SourceGoroutines + ":" + memoryOf(pid), Status: forensics.SourceDenied, Detail: "not read: " + unproven(k)}
	}
	if c.lockedMemory(pid) != nil { // or only too many others have not answered, which pods can do: so it is tried
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lockLimit)
		defer cancel()
	}
	began := c.opt.Now()
	dumps, err := c.readMemory(ctx, pid, goroutines.Digester{Bytes: liveDump, Keep: liveExamples})
	cover := forensics.Source{Source: forensics.SourceGoroutines + ":" + memoryOf(pid), Status: forensics.SourceRead, Seconds: c.opt.Now().Sub(began).Seconds()}
	if err != nil {
		cover.Status, cover.Detail = statusOf(err), err.Error()
	}
	switch {
	case len(dumps) > 0 && !hasKubelet(dumps): // a program of another name, or none that checks of the kubelet are about
		return nil, forensics.Source{Source: cover.Source, Status: forensics.SourceMalformed, Seconds: cover.Seconds, Detail: "no goroutine of a kubelet is in it"}
	case len(dumps) > 0 && err != nil:
		cover.Status = forensics.SourceTruncated
	}
	for i := range dumps {
		dumps[i].Program = kubeletProgram
	}
	return dumps, cover
}

// kubeletProgram is the program of the dumps of the kubelet that is examined.
const kubeletProgram = "kubelet"

// hasKubelet says whether a goroutine runs code of the kubelet.
func hasKubelet(dumps []forensics.Dump) bool {
	return slices.ContainsFunc(dumps, func(d forensics.Dump) bool {
		return slices.ContainsFunc(d.Goroutines, func(g goroutines.Goroutine) bool {
			return slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool { return strings.HasPrefix(f.Func, "k8s.io/kubernetes/") })
		})
	})
}

// memoryOf is the source of a dump that was read from memory.
func memoryOf(pid int) string { return "memory of process " + strconv.Itoa(pid) }

// fromMemory says whether dumps were read from memory: their goroutines have checksums of their stacks.
func fromMemory(dumps []forensics.Dump) bool {
	return slices.ContainsFunc(dumps, func(d forensics.Dump) bool {
		return slices.ContainsFunc(d.Goroutines, func(g goroutines.Goroutine) bool { return g.StackSum != "" })
	})
}

// lockedMemory says that a thread of a process may have the lock of its memory and wait: its command line could not be read.
func (c *collector) lockedMemory(pid int) error {
	for _, p := range c.seen().Processes {
		if p.PID == pid && p.CommandError != "" {
			return fmt.Errorf("its memory may be locked: command line: %s: %w", p.CommandError, context.DeadlineExceeded)
		}
	}
	return nil
}

func (c *collector) readMemory(ctx context.Context, pid int, digester goroutines.Digester) ([]forensics.Dump, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return probe.Do(ctx, c.opt.Calls, memoryOf(pid), func() ([]forensics.Dump, error) {
		taken := c.opt.Now().UTC()
		text, w := io.Pipe()
		ctx, cancel := sooner(ctx, c.grace(ctx, otherLimit))
		defer cancel()
		var info goroutineslive.Info
		failed := make(chan error, 1)
		go func() {
			var err error
			info, err = goroutineslive.Read(ctx, pid, w)
			_ = w.CloseWithError(err)
			failed <- err
		}()
		dumps, err := read.Dumps(memoryOf(pid), text, digester)
		_ = text.Close()
		if err = errors.Join(<-failed, err); len(dumps) == 0 {
			return nil, err
		}
		dumps[len(dumps)-1].Truncated = dumps[len(dumps)-1].Truncated || err != nil // the deadline came first
		for i := range dumps {
			dumps[i].PID, dumps[i].Taken = pid, &taken
			for j := range dumps[i].Goroutines {
				g := &dumps[i].Goroutines[j]
				g.Thread = info.Threads[g.ID]
				if sum, ok := info.Sums[g.ID]; ok {
					g.StackSum = strconv.FormatUint(sum, 16)
				}
			}
		}
		return dumps, err
	})
}
