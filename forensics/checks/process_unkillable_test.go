package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("process-unkillable", processUnkillableScenarios())

func processUnkillableScenarios() []scenario {
	unkillable := procs.Thread{
		PID: 5000, TID: 5002, Comm: "nginx", State: "D", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitBlock, Function: "io_schedule", Kill: "no"},
	}
	killable := unkillable
	killable.Wait.Kill = "yes"
	taken := unkillable
	taken.Wait = procs.Wait{Kind: procs.WaitFUSE, Function: "request_wait_answer"}
	ended := nginx
	ended.State = "Z"
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "a wait that no signal ends", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(nginx)(tb, e)
			blockedIn(unkillable)(tb, e)
		}, want: []string{"warning process 5000"}, says: "cannot be killed: blocked in the kernel"},
		{name: "killed, and a thread stays", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(ended)(tb, e)
			blockedIn(taken)(tb, e)
		}, want: []string{"warning process 5000"}, says: "cannot exit: one thread blocked in the kernel"},
		{name: "only its first thread has ended, and another waits as a signal would wake it", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(ended)(tb, e)
			sleeping := taken
			sleeping.State = "S"
			blockedIn(sleeping)(tb, e)
		}, outcome: clean},
		{name: "only its first thread has ended, and another is in vfork", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(ended)(tb, e)
			blockedIn(killable)(tb, e)
		}, outcome: clean},
		{name: "only its first thread has ended, and another reads from a disk", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(ended)(tb, e)
			blockedIn(unkillable)(tb, e)
			e.Threads[0].WaitSeconds = ptr(0.01)
		}, outcome: clean},
		{name: "a wait that a kill ends", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(nginx)(tb, e)
			blockedIn(killable)(tb, e)
		}, outcome: clean},
		{name: "a moment ago", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			process(nginx)(tb, e)
			blockedIn(unkillable)(tb, e)
			e.Threads[0].WaitSeconds = ptr(1.0)
		}, outcome: clean},
	}
}

var _ = scenariosOf("process-unkillable", processUnkillableInLogs())

func processUnkillableInLogs() []scenario {
	return []scenario{{
		name: "a hung task", base: sickNode, change: both(func(_ testing.TB, e *forensics.Evidence) {
			e.Threads[0].Wait.Kill = "no"
		}, tells(fromKernel(event(logs.KindKernelHungTask, 3, "10:04:00", "10:10:00", logs.Subject{Process: "kubelet (9839)"})))),
		want: []string{"warning process 9825"}, says: "hung task 3 times",
	}}
}
