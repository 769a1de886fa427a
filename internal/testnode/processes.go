package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func processKinds() []Kind {
	return []Kind{
		{"processes", processes},
		{"zombies", func(e *forensics.Evidence, n int) {
			for range n {
				e.Processes = append(e.Processes, procs.Process{PID: nextPID(e), PPID: kubeletPID, Comm: "sh", State: "Z"})
			}
		}},
		{"blocked processes", func(e *forensics.Evidence, n int) {
			processes(e, n)
			for _, p := range e.Processes[len(e.Processes)-n:] {
				e.Threads = append(e.Threads, thread(p.PID, p.PID, e.Mounts.Mounts[1].MountPoint))
			}
		}},
		{"threads of one process", func(e *forensics.Evidence, n int) { kubeletThreads(e, n) }},
		{"threads with their goroutines", func(e *forensics.Evidence, n int) {
			for i, tid := range kubeletThreads(e, n) {
				g := goroutine(int64(1_000_000+i), tid, "k8s.io/kubernetes/pkg/volume/util/operationexecutor.(*operationGenerator).GenerateUnmountVolumeFunc.func1")
				e.Dumps[0].Goroutines = append(e.Dumps[0].Goroutines, g)
			}
		}},
		{"threads that wait for a lock", func(e *forensics.Evidence, n int) {
			for i := range kubeletThreads(e, n) {
				t := &e.Threads[len(e.Threads)-1-i]
				t.Wait = procs.Wait{Kind: procs.WaitFSLock, Function: "__mutex_lock"}
			}
		}},
		{"frames of a thread's stack", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Threads[0].Stack = append(e.Threads[0].Stack, fmt.Sprintf("do_%d", i))
			}
		}},
		{"goroutines of one stack", func(e *forensics.Evidence, n int) { addGoroutines(e, n, func(int) string { return "main.wait" }) }},
		{"goroutines of different stacks", func(e *forensics.Evidence, n int) {
			addGoroutines(e, n, func(i int) string { return fmt.Sprintf("k8s.io/part%d.(*Worker).run", i) })
		}},
		{"goroutines that wait for a lock each", func(e *forensics.Evidence, n int) {
			addGoroutines(e, n, func(int) string { return "sync.(*Mutex).Lock" })
		}},
		{"goroutines in system calls", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Dumps[0].Goroutines = append(e.Dumps[0].Goroutines, goroutine(int64(2_000_000+i), 50_000_000+2*i, "main.call"))
			}
		}},
		{"goroutine dumps", func(e *forensics.Evidence, n int) {
			for i := range n {
				d := forensics.Dump{Source: fmt.Sprintf("dump%d", i), Taken: at(i)}
				d.Form, d.Goroutines = goroutines.FormDebug2, []goroutines.Goroutine{goroutine(int64(i+1), 60_000_000+2*i, "main.call")}
				e.Dumps = append(e.Dumps, d)
			}
		}},
		{"frames of a goroutine", func(e *forensics.Evidence, n int) {
			g := &e.Dumps[0].Goroutines[0]
			for i := range n {
				g.Frames = append(g.Frames, goroutines.Frame{Func: fmt.Sprintf("main.f%d", i), File: "/src/main.go", Line: i})
			}
		}},
	}
}

func nextPID(e *forensics.Evidence) int { return 1_000_000 + len(e.Processes) }

func processes(e *forensics.Evidence, n int) {
	for i := range n {
		pid := nextPID(e)
		e.Processes = append(e.Processes, procs.Process{
			PID: pid, PPID: 1, Comm: "java", State: "S", MountNS: hostNS + 2 + uint64(i), Command: []string{"java", "-jar", "app.jar"}, Threads: 9,
			PodUID: UID(i), ContainerID: hex64(i), Cgroup: "/kubepods/pod" + UID(i) + "/" + hex64(i),
		})
	}
}

func kubeletThreads(e *forensics.Evidence, n int) []int {
	tids := []int{}
	for range n {
		tid := firstThread + 2*len(e.Threads)
		e.Threads = append(e.Threads, thread(kubeletPID, tid, e.Mounts.Mounts[1].MountPoint))
		tids = append(tids, tid)
	}
	return tids
}

func addGoroutines(e *forensics.Evidence, n int, inner func(i int) string) {
	for i := range n {
		e.Dumps[0].Goroutines = append(e.Dumps[0].Goroutines, goroutines.Goroutine{
			ID: int64(3_000_000 + i), Count: 1, State: "sync.Mutex.Lock", WaitMinutes: 15 + i%7, CreatorID: int64(i), CreatedBy: &goroutines.Frame{Func: inner(i)},
			Frames: []goroutines.Frame{
				{Func: "sync.runtime_SemacquireMutex", Args: pointer(i) + ", 0x0, 0x1"},
				{Func: "sync.(*Mutex).lockSlow", Args: pointer(i)},
				{Func: inner(i), Args: pointer(i)},
				{Func: "k8s.io/kubernetes/pkg/kubelet/cadvisor.(*cadvisorClient).ContainerInfo", Args: pointer(i)},
			},
		})
	}
}
