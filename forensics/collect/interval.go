package collect

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
)

// dumps asks a kubelet for its goroutines: with states and arguments, and aggregated, which stops it for a moment only
// and is all that is to be had of a kubelet with very many of them.
func (c *collector) dumps(ctx context.Context, client *kubeletlive.Client, pid int) ([]forensics.Dump, []kubelet.Endpoint) {
	dumps, full := c.askGoroutines(ctx, client, 2, pid)
	if full.Status == "timeout" || full.Status == "refused" {
		return dumps, []kubelet.Endpoint{full}
	}
	more, aggregated := c.askGoroutines(ctx, client, 0, pid)
	return append(dumps, more...), []kubelet.Endpoint{full, aggregated}
}

// again asks for what takes its time: a second dump where the first shows a suspect, so that the same goroutine in the
// same call with the same pointers proves that it waits, and a CPU profile where one is wanted.
func (c *collector) again(ctx context.Context, client *kubeletlive.Client, k kubelet.Instance, dumps []forensics.Dump) {
	var asking sync.WaitGroup
	var second, profiled forensics.Evidence
	if c.opt.Interval > 0 && suspicious(dumps) {
		asking.Go(func() { second = c.secondDump(ctx, client, k.PID, fromMemory(dumps)) })
	}
	if c.opt.CPUProfile > 0 {
		asking.Go(func() { profiled = c.cpuProfile(ctx, client) })
	}
	asking.Wait()
	for _, part := range []forensics.Evidence{second, profiled} {
		if part.Kubelet != nil {
			k.Endpoints = append(slices.Clone(k.Endpoints), part.Kubelet.Endpoints...)
			part.Kubelet = &k
			c.tell(part)
		}
	}
}

// suspicious says whether a dump has a goroutine that stands where a healthy one does not rest.
func suspicious(dumps []forensics.Dump) bool {
	return slices.ContainsFunc(dumps, func(d forensics.Dump) bool {
		return d.HasStates() && slices.ContainsFunc(d.Goroutines, goroutines.Goroutine.Blocked)
	})
}

// secondDump asks once more after the interval, unless time runs out before.
func (c *collector) secondDump(ctx context.Context, client *kubeletlive.Client, pid int, inMemory bool) forensics.Evidence {
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(c.opt.Now()) <= c.opt.Interval {
		return forensics.Evidence{}
	}
	wait := time.NewTimer(c.opt.Interval)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return forensics.Evidence{}
	case <-wait.C:
	}
	if inMemory {
		dumps, source := c.memoryDump(ctx, kubelet.Instance{PID: pid})
		source.Source += ":second"
		return forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}, Kubelet: &kubelet.Instance{}}
	}
	dumps, answer := c.askGoroutines(ctx, client, 2, pid)
	source := coverEndpoints(forensics.SourceGoroutines+":second", []kubelet.Endpoint{answer})
	return forensics.Evidence{
		Dumps: dumps, Coverage: []forensics.Source{source},
		Kubelet: &kubelet.Instance{Endpoints: []kubelet.Endpoint{answer}},
	}
}
