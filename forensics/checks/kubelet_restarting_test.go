package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("kubelet-restarting", kubeletRestartingInLogs())

// systemdCounts is systemd's count of the kubelet's restarts, and with it how the last run ended.
func systemdCounts(n float64) func(testing.TB, *forensics.Evidence) {
	restart := event("kubelet-starting", 1, "10:11:00", "10:11:00", logs.Subject{Reason: "kubelet.service: Scheduled restart job"})
	restart.Number, restart.Max = n, n
	return tells(event("kubelet-exited", int64(min(n, 3)), "10:10:00", "10:10:50", logs.Subject{Code: "1/FAILURE"}), restart)
}

func noKubelet(_ testing.TB, e *forensics.Evidence) { e.Logs.Lives, e.Logs.Loop = nil, nil }

func kubeletRestartingInLogs() []scenario {
	clean, unjudged := forensics.OutcomeClean, forensics.OutcomeNotChecked
	return []scenario{
		{
			name: "a panic", base: wellNode, change: lives(life(100, "09:00:00", "10:00:00", "panic", "registered"), life(101, "10:00:10", "10:12:29", "running", "registered")),
			want: []string{"warning kubelet 9825"}, says: "within the log: by a panic",
		},
		{
			name: "a restart on purpose", base: wellNode, change: lives(life(100, "09:00:00", "10:00:00", "signal", ""), life(101, "10:00:10", "10:12:29", "running", "registered")),
			want: []string{"info kubelet 9825"}, says: "by a signal",
		},
		{
			name: "it does not come up", base: wellNode, change: lives(life(100, "10:00:00", "10:01:00", "fatal", "runtime"), life(101, "10:02:00", "10:03:00", "fatal", "container-manager"),
				life(102, "10:04:00", "10:05:00", "oom", "container-manager"), life(103, "10:06:00", "10:06:30", "running", "container-manager")),
			want: []string{"critical kubelet 9825"}, says: `reached the stage "container-manager". Next it waits for the container runtime's socket`,
		},
		{
			name: "hours ago it did not come up", base: wellNode, change: both(lives(life(100, "10:00:00", "10:01:00", "fatal", "runtime"), life(101, "10:02:00", "10:03:00", "fatal", "container-manager"),
				life(102, "10:04:00", "10:05:00", "oom", "container-manager"), life(103, "10:06:00", "10:06:30", "running", "container-manager")), later),
			want: []string{"warning kubelet 9825"}, says: "may have ended since",
		},
		{
			name: "it recovered from a panic, and its process is there", base: wellNode,
			change:  both(lives(life(9825, "09:00:00", "10:12:29", "panic", "registered")), process(procs.Process{PID: 9825, Comm: "kubelet", State: "S", Command: []string{}})),
			outcome: clean,
		},
		{
			name: "the log ends with its end", base: wellNode, change: lives(life(100, "09:00:00", "10:12:29", "watchdog", "registered")),
			want: []string{"warning kubelet 9825"}, says: "by systemd's watchdog",
		},
		{name: "one life", base: wellNode, outcome: clean},
		{name: "no log of a kubelet", base: wellNode, change: noKubelet, outcome: unjudged},
		{
			name: "only systemd tells", base: wellNode, change: both(noKubelet, systemdCounts(3)),
			want: []string{"warning kubelet 9825"}, says: "systemd has started it 3 times",
		},
		{
			name: "systemd has logged three ends, and counts nothing", base: wellNode, change: both(noKubelet, tells(event("kubelet-exited", 3, "10:10:00", "10:10:50", logs.Subject{Code: "1/FAILURE"}))),
			want: []string{"warning kubelet 9825"}, says: "it has ended 3 times",
		},
		{name: "systemd has started it twice", base: wellNode, change: both(noKubelet, systemdCounts(2)), outcome: unjudged},
		{
			name: "it runs since", base: wellNode, change: both(noKubelet, systemdCounts(611), tells(event("node-ready", 1, "10:12:00", "10:12:00", logs.Subject{}))), outcome: unjudged,
		},
		{
			name: "the log has one end of many", base: wellNode, change: both(lives(life(100, "10:10:00", "10:10:50", "fatal", "runtime")), systemdCounts(611)),
			want: []string{"critical kubelet 9825"}, says: "it has ended 611 times by systemd's count",
		},
		{
			name: "the log has one end of two", base: wellNode, change: both(lives(life(100, "10:10:00", "10:10:50", "fatal", "runtime")), systemdCounts(2)),
			want: []string{"warning kubelet 9825"}, says: "within the log",
		},
		{
			name: "the log has one end of many, after a start", base: wellNode, change: both(lives(life(100, "10:10:00", "10:10:50", "fatal", "syncloop")), systemdCounts(4127)),
			want: []string{"warning kubelet 9825"}, says: "ended 4,127 times by systemd's count; in the log by a fatal error",
		},
	}
}
