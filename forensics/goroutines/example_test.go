package goroutines_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

const dump = `goroutine 117 [syscall, 46 minutes]:
syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc0012340c0, 0xc001a2b3c8, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
syscall.fstatat(0xffffffffffffff9c, {0xc000abc000?, 0x0?}, 0xc001a2b3c8, 0x0)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1437 +0x96
os.Stat({0xc000abc000, 0x63})
	/usr/local/go/src/os/stat.go:13 +0x2c
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups(0xc000b5a000)
	/go/src/k8s.io/kubernetes@v1.34.4/pkg/kubelet/kubelet_pods.go:1063 +0x5c8
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop(0xc000b5a000, 0xc0003f0310)
	/go/src/k8s.io/kubernetes@v1.34.4/pkg/kubelet/kubelet.go:1854 +0x2df
created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet in goroutine 1
	/go/src/k8s.io/kubernetes@v1.34.4/cmd/kubelet/app/server.go:1120 +0x129

goroutine 90 [select]:
k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(0xc000b5a000)
	/go/src/k8s.io/kubernetes@v1.34.4/pkg/kubelet/pod_workers.go:1214 +0x1d
created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod in goroutine 117
	/go/src/k8s.io/kubernetes@v1.34.4/pkg/kubelet/pod_workers.go:965 +0x5f
`

func ExampleParse() {
	dumps, problems, err := goroutines.Parse(strings.NewReader(dump))
	if err != nil || len(problems) > 0 {
		fmt.Println(problems, err)
	}
	version, _ := goroutines.KubeletVersion(dumps[0])
	fmt.Println("kubelet", version)
	for _, g := range dumps[0].Goroutines {
		fmt.Printf("goroutine %d: %s, %s, waits at least %v\n", g.ID, goroutines.RoleOf(g).Name, g.State, g.WaitAtLeast())
		if call, ok := g.Syscall(); ok {
			fmt.Printf("  in %s(%d) of a path at %#x\n", g.SyscallName(), call.Number, call.Args[1].Value)
		}
	}
	// Output:
	// kubelet 1.34.4
	// goroutine 117: sync loop, syscall, waits at least 44m0s
	//   in newfstatat(262) of a path at 0xc0012340c0
	// goroutine 90: pod worker, select, waits at least 0s
}

func ExampleGroupBy() {
	dumps, _, err := goroutines.Digester{}.Digest(strings.NewReader(dump)) // of any size
	if err != nil {
		fmt.Println(err)
	}
	for _, g := range goroutines.GroupBy(dumps[0]) {
		fmt.Println(g.Count, g.Role.Name, g.States, "blocked:", g.Blocked)
	}
	// Output:
	// 1 sync loop map[syscall:1] blocked: true
	// 1 pod worker map[select:1] blocked: false
}

// List what is blocked for longer than five minutes.
func Example() {
	dumps, _, err := goroutines.Parse(strings.NewReader(dump))
	if err != nil {
		fmt.Println(err)
	}
	for _, g := range dumps[0].Goroutines {
		if wait := g.WaitAtLeast(); wait > 5*time.Minute {
			fmt.Printf("goroutine %d (%s) is in %q for at least %v, in %s\n", g.ID, goroutines.RoleOf(g).Name, g.State, wait, g.Frames[0].Func)
		}
	}
	// Output:
	// goroutine 117 (sync loop) is in "syscall" for at least 44m0s, in syscall.Syscall6
}
