package collect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestDaemonsOf has more blocked programs in pods than are read: they do not displace what matters.
func TestDaemonsOf(t *testing.T) {
	var e forensics.Evidence
	add := func(pid int, waits bool, p procs.Process) {
		p.PID, p.State = pid, "S"
		e.Processes = append(e.Processes, p)
		if waits {
			e.Threads = append(e.Threads, procs.Thread{PID: pid, TID: pid})
		}
	}
	const driver = "--endpoint=unix:///csi/csi.sock"
	for i := range 3 * mostMemories {
		add(1000+i, true, procs.Process{Comm: "pod", ContainerID: fmt.Sprint(i)})
	}
	add(10, true, procs.Process{Comm: "kubelet"})
	add(11, true, procs.Process{Comm: "nodeforensics"})
	add(12, false, procs.Process{Comm: "sshd"})
	add(13, false, procs.Process{Comm: "idle-driver", ContainerID: "x", Command: []string{"driver", driver}})
	add(14, true, procs.Process{Comm: "driver", ContainerID: "y", Command: []string{"driver", "--endpoint", "unix:///csi/csi.sock"}})
	add(15, true, procs.Process{Comm: "backup"})
	e.Kubelet, e.Collector.PID = &kubelet.Instance{PID: 10}, 11
	var pids []int
	for _, p := range daemonsOf(e) {
		pids = append(pids, p.PID)
	}
	if len(pids) != mostMemories || !slices.Equal(pids[:3], []int{14, 15, 1000}) {
		t.Errorf("read are %v, want %d, the driver and the program of the host first", pids, mostMemories)
	}
	e.Processes = slices.DeleteFunc(e.Processes, func(p procs.Process) bool { return p.Comm == "pod" })
	pids = nil
	for _, p := range daemonsOf(e) {
		pids = append(pids, p.PID)
	}
	if !slices.Equal(pids, []int{14, 15, 13}) {
		t.Errorf("read are %v, want 14, 15 and the idle driver", pids)
	}
}
