package forensics_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func TestServerTrouble(t *testing.T) {
	waits := func(kind procs.WaitKind, seconds float64) []procs.Thread {
		return []procs.Thread{{PID: 7, TID: 8, Wait: procs.Wait{Kind: kind, Function: "f"}, WaitSeconds: &seconds}}
	}
	for name, tt := range map[string]struct {
		state   string
		threads []procs.Thread
		want    string // "" where nothing can be seen
		stopped bool
	}{
		"sleeps":                {state: "S"},
		"stopped":               {state: "T", want: "is stopped (SIGSTOP)", stopped: true},
		"stopped by debugger":   {state: "t", want: "is stopped (debugger)", stopped: true},
		"ended":                 {state: "Z", want: "has ended, or its main thread has (state Z)"},
		"frozen":                {state: "D", threads: waits(procs.WaitFreezer, 1), want: "is frozen by its cgroup"},
		"waits":                 {state: "S", threads: waits(procs.WaitServer, 20), want: "is itself blocked: it is in the kernel, waiting in f for at least 20 s"},
		"waits for a moment":    {state: "S", threads: waits(procs.WaitServer, 1)},
		"waits for a lock":      {state: "S", threads: waits(procs.WaitFileLock, 900)},
		"stopped, and it waits": {state: "T", threads: waits(procs.WaitServer, 20), want: "is stopped (SIGSTOP)", stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := forensics.Evidence{Processes: []procs.Process{{PID: 7, State: tt.state, Cgroup: "/system.slice"}}, Threads: tt.threads}
			trouble, ok := forensics.NewModel(&e).Uses().ServerTrouble(7)
			if ok != (tt.want != "") || ok && trouble.String() != tt.want {
				t.Errorf("%v, %q; want %q", ok, trouble, tt.want)
			}
			if trouble.Stopped() != tt.stopped {
				t.Errorf("stopped is %v", trouble.Stopped())
			}
		})
	}
	if _, ok := forensics.NewModel(&forensics.Evidence{}).Uses().ServerTrouble(7); ok {
		t.Error("a process that nobody saw has trouble")
	}
}
