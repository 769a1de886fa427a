package goroutines

import (
	"fmt"
	"strings"
)

// printDump writes a dump as the runtime does.
func printDump(d Dump) string {
	var b strings.Builder
	for _, g := range d.Goroutines {
		fmt.Fprintf(&b, "goroutine %d [%s", g.ID, g.State)
		if g.WaitMinutes > 0 {
			fmt.Fprintf(&b, ", %d minutes", g.WaitMinutes)
		}
		if g.LockedToThread {
			b.WriteString(", locked to thread")
		}
		b.WriteString("]:\n")
		for _, f := range g.Frames {
			fmt.Fprintf(&b, "%s(%s)\n", strings.ReplaceAll(f.Func, "%", "%25"), f.Args)
			printLocation(&b, f)
		}
		if c := g.CreatedBy; c != nil {
			fmt.Fprintf(&b, "created by %s", strings.ReplaceAll(c.Func, "%", "%25"))
			if g.CreatorID > 0 {
				fmt.Fprintf(&b, " in goroutine %d", g.CreatorID)
			}
			b.WriteByte('\n')
			printLocation(&b, *c)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func printLocation(b *strings.Builder, f Frame) {
	if f.File == "" {
		return
	}
	fmt.Fprintf(b, "\t%s:%d", f.File, f.Line)
	if f.Offset > 0 {
		fmt.Fprintf(b, " +0x%x", f.Offset)
	}
	b.WriteByte('\n')
}
