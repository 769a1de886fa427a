package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-housekeeping-blocked", kubeletHousekeepingBlockedInDumps())

func kubeletHousekeepingBlockedInDumps() []scenario {
	return []scenario{
		{
			name: "the second dump shows the same call", base: wellNode, change: twoDumps(housekeepingDump, housekeepingDump),
			want: []string{"critical subsystem housekeeping"},
		},
		{
			name: "it went on before the second dump", base: wellNode,
			change:  twoDumps(housekeepingDump, strings.Replace(dropFrame(housekeepingDump, "HandlePodCleanups"), "syscall, 12 minutes", "select", 1)),
			outcome: forensics.OutcomeClean,
		},
		{name: "a second dump that was cut proves nothing", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			twoDumps(housekeepingDump, "goroutine 118 [IO wait]:\nnet.(*netFD).accept(0x63d86879300)\n\t/x.go:1 +0x1\n")(tb, e)
			e.Dumps[1].Truncated = true
		}, want: []string{"critical subsystem housekeeping"}},
		{name: "an aggregated dump beside a full one counts for nothing", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			addDump(tb, e, housekeepingDump, 9825)
			full := e.Dumps
			addDump(tb, e, aggregate(tb, housekeepingDump), 9825)
			e.Dumps = append(full, e.Dumps...)
		}, want: []string{"critical subsystem housekeeping"}},
		{name: "an aggregated dump and the kubelet's only waiting thread", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			addDump(tb, e, aggregate(tb, housekeepingDump), 9825)
		}, want: []string{"warning subsystem housekeeping"}},
	}
}
