package checks

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/read"
)

var minutes = regexp.MustCompile(`, \d+ minutes\]:`)

// journal puts a dump behind the prefix of journalctl, with lines of the kubelet and of others in between.
func journal(dump string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(dump, "\n"), "\n") {
		fmt.Fprintf(&b, "Nov 20 10:12:31 node-1 kubelet[4711]: %s\n", line)
		switch i % 17 {
		case 5:
			fmt.Fprintf(&b, "Nov 20 10:12:31 node-1 kubelet[4711]: I1120 10:12:31.%06d    4711 reconciler.go:207] operationExecutor.VerifyControllerAttachedVolume started\n", i)
		case 11:
			b.WriteString("Nov 20 10:12:31 node-1 systemd[1]: Started Session 12 of user root.\n")
		}
	}
	return b.String()
}

// aggregate writes a dump as /debug/pprof/goroutine?debug=1 does.
func aggregate(tb testing.TB, dump string) string {
	tb.Helper()
	dumps, err := read.Dumps("dump", strings.NewReader(dump))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "goroutine profile: total %d\n", len(dumps[0].Goroutines))
	address := 0x43c000
	for _, g := range dumps[0].Goroutines {
		b.WriteString("1 @")
		for i := range g.Frames {
			fmt.Fprintf(&b, " %#x", address+i*16)
		}
		b.WriteString("\n")
		for _, f := range g.Frames {
			fmt.Fprintf(&b, "#\t%#x\t%s+0x1d\t%s:%d\n", address, f.Func, f.File, f.Line)
			address += 16
		}
		b.WriteString("\n")
	}
	return b.String()
}
