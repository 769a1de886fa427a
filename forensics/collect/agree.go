package collect

import (
	"context"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// confirm reads the memory of a kubelet beside the dump that it gave, which stays the one that is judged. The memory tells which thread runs
// a goroutine; and where both differ in what has not moved for minutes, the coverage says so.
func (c *collector) confirm(ctx context.Context, k kubelet.Instance, own []forensics.Dump) []forensics.Source {
	if k.PID == 0 || k.Unproven != "" || c.opt.KubeletURL != "" {
		return nil
	}
	memory, cover := c.memoryDump(ctx, k)
	if len(memory) == 0 {
		return []forensics.Source{cover}
	}
	at := slices.IndexFunc(own, func(d forensics.Dump) bool { return d.HasStates() })
	if at < 0 {
		return []forensics.Source{cover}
	}
	same, of := takeThreads(&own[at], &memory[0])
	if of > 0 {
		cover.Detail = fmt.Sprintf("agrees with the kubelet's own dump in %d of %d goroutines that wait for minutes", same, of)
	}
	if differ(&own[at], &memory[0], same, of) {
		cover.Status = forensics.SourceMalformed
		cover.Detail = fmt.Sprintf("differs from the kubelet's own dump in %d of %d goroutines that wait for minutes; its own dump is judged", of-same, of)
	}
	return []forensics.Source{cover}
}

// differ says whether more than a tenth, and more than two, of the goroutines that have waited for minutes have other stacks in the memory. Of dumps
// that are cut or summed up, some are missing.
func differ(own, memory *forensics.Dump, same, of int) bool {
	whole := func(d *forensics.Dump) bool { return !d.Truncated && d.Summed == 0 }
	return same < of-max(of/10, 2) && whole(own) && whole(memory)
}

// takeThreads gives goroutines the threads that the memory of their program names, where both show one stack. It counts the goroutines that
// have waited for a minute or more, and of how many of those both show one stack.
func takeThreads(own, memory *forensics.Dump) (same, of int) {
	twins := make(map[int64]*goroutines.Goroutine, len(memory.Goroutines))
	for i := range memory.Goroutines {
		twins[memory.Goroutines[i].ID] = &memory.Goroutines[i]
	}
	for i := range own.Goroutines {
		g := &own.Goroutines[i]
		if g.ID == 0 {
			continue
		}
		twin := twins[g.ID]
		agree := twin != nil && slices.EqualFunc(g.Frames, twin.Frames, func(a, b goroutines.Frame) bool { return a.Func == b.Func && a.Line == b.Line })
		if agree && g.Thread == 0 {
			g.Thread = twin.Thread
		}
		if g.WaitMinutes > 0 {
			of++
			if agree {
				same++
			}
		}
	}
	return same, of
}
