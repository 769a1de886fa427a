package checks

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("mount-io-error", mountIoErrorInLogs())

func mountIoErrorInLogs() []scenario {
	return []scenario{
		{
			name: "a disk that answers from memory", base: wellNode, change: tells(fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))),
			want: []string{"warning superblock 254:0"}, says: "answer from memory even if their disk is dead",
		},
		{name: "errors that were survived", base: wellNode, change: tells(fromKernel(event(logs.KindKernelIOError, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))), want: []string{"info superblock 254:0"}},
		{
			name: "the machine was started since", base: wellNode,
			change: both(tells(fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"}))), func(_ testing.TB, e *forensics.Evidence) {
				boot := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
				e.Node.Boot = &boot
			}), outcome: forensics.OutcomeClean,
		},
		{
			name: "another file system has the device since", base: wellNode, change: tells(
				fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"})),
				fromKernel(event(logs.KindKernelFSMounted, 2, "09:00:00", "10:00:01", logs.Subject{Device: "vda"})),
			), outcome: forensics.OutcomeClean,
		},
		{
			name: "mounted, and then an error", base: wellNode, change: tells(
				fromKernel(event(logs.KindKernelFSReadOnly, 1, "10:00:00", "10:00:00", logs.Subject{Device: "vda"})),
				fromKernel(event(logs.KindKernelFSMounted, 1, "09:00:00", "09:00:00", logs.Subject{Device: "vda"})),
			), want: []string{"warning superblock 254:0"},
		},
		{name: "another disk", base: wellNode, change: tells(fromKernel(event(logs.KindKernelIOError, 9, "10:00:00", "10:00:00", logs.Subject{Device: "vdb"}))), outcome: forensics.OutcomeClean},
	}
}
