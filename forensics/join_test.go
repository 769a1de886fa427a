package forensics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// inSyscall is a goroutine of a debug=2 dump that is in a system call.
func inSyscall(id int, state, args string) string {
	return fmt.Sprintf(`goroutine %d [%s]:
syscall.Syscall6(%s)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
os.Stat({0x63d87030bd0, 0x63})
	/usr/local/go/src/os/stat.go:13 +0x2c
created by main.main in goroutine 1
	/src/main.go:12 +0x129

`, id, state, args)
}

// dumpsOf parses a dump of a process; pid 0 is a file.
func dumpsOf(t testing.TB, pid int, text string) []forensics.Dump {
	t.Helper()
	dumps, err := read.Dumps("dump", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range dumps {
		dumps[i].PID = pid
	}
	return dumps
}

func TestGoroutinesAndThreadsAreJoinedByPointers(t *testing.T) {
	const stat = "0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0"
	args := []string{"0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0"}
	other := []string{"0xffffffffffffff9c", "0x63d87030c40", "0x63d86529998", "0x0", "0x0", "0x0"}
	thread := fuseThread(kubeletPID, 9839, "0:47", args...)
	type pair struct {
		Goroutine int64
		TID       int
		Certain   bool
	}
	for _, tt := range []struct {
		name    string
		pid     int
		dump    string
		threads []procs.Thread
		want    []pair
	}{
		{"the same pointers", kubeletPID, inSyscall(117, "syscall, 12 minutes", stat), []procs.Thread{thread}, []pair{{Goroutine: 117, TID: 9839, Certain: true}}},
		{"a dump of nobody knows whom, two pointers", 0, inSyscall(117, "syscall", stat), []procs.Thread{thread}, []pair{{Goroutine: 117, TID: 9839, Certain: false}}},
		{
			"a dump of nobody knows whom, one pointer", 0, inSyscall(117, "syscall", "0x0, 0x7, 0x63d87030c40, 0x1000, 0x0, 0x0, 0x0"),
			[]procs.Thread{{PID: 1, TID: 2, Syscall: &procs.Syscall{Number: 0, Args: []string{"0x7", "0x63d87030c40", "0x1000", "0x0", "0x0", "0x0"}}}},
			nil,
		},
		{
			"a known process, one pointer", 1, inSyscall(117, "syscall", "0x0, 0x7, 0x63d87030c40, 0x1000, 0x0, 0x0, 0x0"),
			[]procs.Thread{{PID: 1, TID: 2, Syscall: &procs.Syscall{Number: 0, Args: []string{"0x7", "0x63d87030c40", "0x1000", "0x0", "0x0", "0x0"}}}},
			[]pair{{Goroutine: 117, TID: 2, Certain: true}},
		},
		{"a dump of another process", 4711, inSyscall(117, "syscall", stat), []procs.Thread{thread}, nil},
		{"another pointer", kubeletPID, inSyscall(117, "syscall", stat), []procs.Thread{fuseThread(kubeletPID, 9839, "0:47", other...)}, nil},
		{"another system call", kubeletPID, inSyscall(117, "syscall", "0x105"+stat[5:]), []procs.Thread{thread}, nil},
		{
			"small numbers are no pointers", kubeletPID, inSyscall(117, "syscall", "0x106, 0xffffffffffffff9c, 0x7, 0x8, 0x0, 0x0, 0x0"),
			[]procs.Thread{fuseThread(kubeletPID, 9839, "0:47", "0xffffffffffffff9c", "0x7", "0x8", "0x0", "0x0", "0x0")},
			nil,
		},
		{
			"an uncertain word may differ", kubeletPID, inSyscall(117, "syscall", strings.Replace(stat, "0x63d865286b8", "0x1234567?", 1)),
			[]procs.Thread{thread},
			[]pair{{Goroutine: 117, TID: 9839, Certain: true}},
		},
		{
			"uncertain words prove nothing", kubeletPID, inSyscall(117, "syscall", "0x106, 0xffffffffffffff9c, 0x63d87030c40?, 0x63d865286b8?, 0x0, 0x0, 0x0"),
			[]procs.Thread{thread},
			nil,
		},
		{"an uncertain number proves nothing", kubeletPID, inSyscall(117, "syscall", strings.Replace(stat, "0x106", "0x106?", 1)), []procs.Thread{thread}, nil},
		{
			"two threads with the same pointers", kubeletPID, inSyscall(117, "syscall", stat),
			[]procs.Thread{thread, fuseThread(kubeletPID, 9840, "0:47", args...)},
			nil,
		},
		{"two goroutines with the same pointers", kubeletPID, inSyscall(117, "syscall", stat) + inSyscall(118, "syscall", stat), []procs.Thread{thread}, nil},
		{"a goroutine that has returned", kubeletPID, inSyscall(117, "runnable", stat), []procs.Thread{thread}, nil},
		{"a thread in no system call", kubeletPID, inSyscall(117, "syscall", stat), []procs.Thread{{PID: kubeletPID, TID: 9839}}, nil},
		{
			"a kernel that tells running", kubeletPID, inSyscall(117, "syscall", stat),
			[]procs.Thread{{PID: kubeletPID, TID: 9839, Syscall: &procs.Syscall{Number: -1, Args: args}}},
			nil,
		},
		{
			"arguments that are no numbers", kubeletPID, inSyscall(117, "syscall", stat),
			[]procs.Thread{fuseThread(kubeletPID, 9839, "0:47", "0xffffffffffffff9c", "torn", "0x63d865286b8")},
			nil,
		},
		{
			"two pairs", kubeletPID, inSyscall(117, "syscall", stat) + inSyscall(118, "syscall", strings.Replace(stat, "0x63d865286b8", "0x63d86529998", 1)),
			[]procs.Thread{thread, fuseThread(kubeletPID, 9840, "0:47", other...)},
			[]pair{{Goroutine: 117, TID: 9839, Certain: true}, {Goroutine: 118, TID: 9840, Certain: true}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Dumps, e.Threads = dumpsOf(t, tt.pid, tt.dump), tt.threads
			var got []pair
			for _, j := range forensics.NewModel(&e).Joins() {
				got = append(got, pair{Goroutine: j.Goroutine, TID: j.Thread.TID, Certain: j.Certain})
				if j.Pointer != "0x63d87030c40" {
					t.Errorf("the pointer that stands in both is %s", j.Pointer)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("joins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfAJoinBothSidesAreFound(t *testing.T) {
	e := forensics.NewEvidence()
	e.Dumps = dumpsOf(t, kubeletPID, inSyscall(117, "syscall", "0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0"))
	e.Threads = []procs.Thread{fuseThread(kubeletPID, 9839, "0:47", "0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0")}
	m := forensics.NewModel(&e)
	if j := m.ThreadOf(0, 117); j == nil || j.Thread.TID != 9839 {
		t.Errorf("ThreadOf: %+v", j)
	}
	if j := m.GoroutineOf(kubeletPID, 9839); j == nil || j.Goroutine != 117 {
		t.Errorf("GoroutineOf: %+v", j)
	}
	if j := m.ThreadOf(1, 117); j != nil {
		t.Errorf("ThreadOf another dump: %+v", j)
	}
	if j := m.GoroutineOf(kubeletPID, 1); j != nil {
		t.Errorf("GoroutineOf another thread: %+v", j)
	}
}

// TestGoroutinesOfTwoProcesses has the dumps of two processes, which both have a goroutine 117: each is its own thread, and
// where none is named, the first counts.
func TestGoroutinesOfTwoProcesses(t *testing.T) {
	const stat = "0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0"
	args := []string{"0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0"}
	e := forensics.NewEvidence()
	for i, pid := range []int{kubeletPID, 4712} {
		e.Dumps = append(e.Dumps, dumpsOf(t, pid, inSyscall(117, "syscall", stat))...)
		e.Threads = append(e.Threads, fuseThread(pid, 9839+i, "0:47", args...))
	}
	e.Dumps[1].Goroutines = append(e.Dumps[1].Goroutines, goroutines.Goroutine{ID: 118, State: "IO wait"})
	m := forensics.NewModel(&e)
	for dump, tid := range map[int]int{0: 9839, 1: 9840} {
		if j := m.ThreadOf(dump, 117); j == nil || j.Thread.TID != tid {
			t.Errorf("goroutine 117 of dump %d is %+v, want thread %d", dump, j, tid)
		}
	}
	if text := forensics.Describe(m, entity("goroutine 117")); !strings.Contains(text, fmt.Sprintf("thread %d/9839", kubeletPID)) {
		t.Errorf("without a dump: %q", text)
	}
	if text := forensics.Describe(m, entity("goroutine 118")); !strings.Contains(text, ": IO wait") {
		t.Errorf("only in the second dump: %q", text)
	}
}
