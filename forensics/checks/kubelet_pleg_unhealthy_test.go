package checks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("kubelet-pleg-unhealthy", kubeletPlegUnhealthyInLogs())

func kubeletPlegUnhealthyInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "the log says so", base: wellNode, change: both(tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250)), logAlone),
			want: []string{"critical subsystem pleg"}, says: "since 2026-11-20 10:08:18 UTC",
		},
		{
			name: "only the node's condition says so", base: wellNode,
			change: tells(numbered(event("node-not-ready", 1, "10:05:00", "10:12:28", logs.Subject{Reason: "PLEG is not healthy: pleg was last seen active 4m10s ago; threshold is 3m0s"}), 250)),
			want:   []string{"critical subsystem pleg"}, says: "no relist since 2026-11-20 10:08:18 UTC",
		},
		{
			name: "it cannot list", base: wellNode, change: tells(event(logs.KindPLEGRelistFailed, 2, "10:09:00", "10:11:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded"))),
			want: []string{"warning subsystem pleg"},
		},
		{
			name: "it is over", base: wellNode, change: tells(numbered(event(logs.KindPLEGUnhealthy, 12, "09:31:00", "09:40:00", pleg), 400)),
			want: []string{"info subsystem pleg"}, says: "no later line repeats it",
		},
		{
			name: "the kubelet stood still, and skipped one round", base: withRuntime, change: both(answers("ok"), tells(numbered(event(logs.KindPLEGUnhealthy, 1, "10:12:20", "10:12:20", pleg), 189))),
			want: []string{"info subsystem pleg"}, says: "no later line repeats it",
		},
		{
			name: "a dump and the log", base: wellNode, change: both(withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
				tells(numbered(event(logs.KindPLEGUnhealthy, 12, "10:11:00", "10:12:28", pleg), 250))),
			want: []string{"critical subsystem pleg"}, says: "The log gives the reason, 12 times from 10:11:00 UTC to 10:12:28 UTC: container runtime is down",
		},
		{name: "a kubelet that has just started", base: wellNode, change: both(lives(life(1, "10:12:00", "10:12:29", "running", "syncloop")),
			tells(numbered(event(logs.KindPLEGUnhealthy, 2, "10:12:01", "10:12:10", pleg), 0))), outcome: clean},
	}
}

var _ = scenariosOf("kubelet-pleg-unhealthy", kubeletPlegUnhealthyInDumps())

func kubeletPlegUnhealthyInDumps() []scenario {
	return []scenario{
		{
			name: "runtime", base: wellNode, change: withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
			want: []string{"critical subsystem pleg"}, says: "PLEG waits for the container runtime, not for a file system",
		},
		{name: "at rest", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a terminated pod"), outcome: forensics.OutcomeClean},
	}
}

// TestCausesOfStalls names the trouble of the node before the PLEG that stalls for it, and nothing that is not of its time or not of the node.
func TestCausesOfStalls(t *testing.T) {
	const pleg = "Nov 20 10:05:00 node-1 kubelet[2588]: I1120 10:05:00.000001    2588 kubelet.go:1823] " + plegText + "\n"
	disk := func(at string) string {
		return strings.Repeat("Nov 20 "+at+" node-1 kernel: blk_update_request: I/O error, dev sdb, sector 4720640 op 0x1:(WRITE)\n", 3)
	}
	killed := func(node string) string {
		var lines strings.Builder
		for pid := range 3 {
			fmt.Fprintf(&lines, "Nov 20 10:02:1%d node-1 kernel: %s: Killed process 3091%d (java) total-vm:9810232kB, anon-rss:3318844kB\n", pid, node, pid)
		}
		return lines.String()
	}
	for _, tt := range []struct{ name, text, root string }{
		{"a disk that fails at the time", disk("10:03:00") + pleg, "kernel-io-error"},
		{"a disk that failed an hour before", disk("09:03:00") + pleg, "kubelet-pleg-unhealthy"},
		{"a disk that fails after the stall", pleg + disk("10:06:00"), "kubelet-pleg-unhealthy"},
		{"no memory on the node", killed("Out of memory") + pleg, "kernel-oom"},
		{"no memory in a container", killed("Memory cgroup out of memory") + pleg, "kubelet-pleg-unhealthy"},
		{"no process starts", strings.Repeat(`Nov 20 10:04:00 node-1 containerd[90]: time="2026-11-20T10:04:00Z" level=error msg="failed to start shim: fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable"`+"\n", 2) + pleg, "limit-exhausted"},
		{"a task that hangs", "[1382404.310293] INFO: task python:771203 blocked for more than 120 seconds.\n" + pleg, "kernel-hung-task"},
		{"a disk that fails, and a task that hangs for it", disk("10:03:00") + "Nov 20 10:04:00 node-1 kernel: INFO: task python:771203 blocked for more than 120 seconds.\n" + pleg, "kernel-io-error"},
	} {
		if root := pastedRoot(t, tt.text); root != tt.root {
			t.Errorf("%s: %q, want %q", tt.name, root, tt.root)
		}
	}
}
