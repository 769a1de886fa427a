package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// withStack gives the node's kubelet a dump of testdata/stacks.
func withStack(file, name string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) { addDump(tb, e, stackNamed(tb, file, name).dump, 9825) }
}

func stackNamed(tb testing.TB, file, name string) stackCase {
	tb.Helper()
	cases := readStacks(tb, "testdata/stacks/"+file+".txt")
	i := slices.IndexFunc(cases, func(c stackCase) bool { return c.name == name })
	if i < 0 {
		tb.Fatalf("%s has no stack %q", file, name)
	}
	return cases[i]
}

// twoDumps are dumps of the same kubelet, five seconds apart.
func twoDumps(first, second string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		addDump(tb, e, first, 9825)
		dumps := e.Dumps
		addDump(tb, e, second, 9825)
		e.Dumps = append(dumps, e.Dumps...)
		at := e.Collected
		for i := range e.Dumps {
			taken := at.Add(time.Duration(i) * 5 * time.Second)
			e.Dumps[i].Taken = &taken
		}
	}
}

func many(n int, kind string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) { addDump(tb, e, crowd(n, kind, ", 9 minutes"), 9825) }
}

// crowd is a dump of n goroutines of one kind.
func crowd(n int, kind, age string) string {
	kinds := map[string]string{
		"cadvisor": `syscall.Syscall(0x89, 0xc00%[1]d000, 0xc00%[1]d100, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:74 +0x25
syscall.Statfs({0xc000134000?, 0x0?}, 0xc00%[1]d100)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1413 +0x58
github.com/google/cadvisor/fs.getVfsStats.func1()
	/root/go/pkg/mod/github.com/google/cadvisor@v0.52.1/fs/fs.go:739 +0x5f
created by github.com/google/cadvisor/fs.getVfsStats in goroutine 339
	/root/go/pkg/mod/github.com/google/cadvisor@v0.52.1/fs/fs.go:737 +0x1a5
`,
		"cgroup": `syscall.Syscall(0x54, 0xc00%[1]d000, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:74 +0x25
syscall.Rmdir({0xc000134000?, 0x0?})
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1 +0x58
k8s.io/kubernetes/pkg/kubelet/cm.(*podContainerManagerImpl).Destroy(0xc000d21a40, {0xc00%[1]d200, 0x3, 0x3})
	/x/pod_container_manager_linux.go:210 +0x1f
created by k8s.io/kubernetes/pkg/kubelet.(*Kubelet).cleanupOrphanedPodCgroups in goroutine 187
	/x/kubelet_pods.go:2700 +0x1f
`,
		"other": `syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc00%[1]d000, 0xc00%[1]d100, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/syscall_linux.go:96 +0x39
syscall.fstatat(0xffffffffffffff9c, {0xc000134000?, 0x0?}, 0xc00%[1]d100, 0x0)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:1437 +0x96
os.Stat({0xc000134000, 0x20})
	/usr/local/go/src/os/stat.go:13 +0x2c
example.org/plugin.look()
	/x/look.go:1 +0x1
created by example.org/plugin.start in goroutine 1
	/x/look.go:2 +0x1
`,
		"resting": `k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop(0xc000b6c000, {0xc000e28260, 0x20}, 0xc00%[1]d000)
	/x/pod_workers.go:1240 +0x91
created by k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod in goroutine 187
	/x/pod_workers.go:965 +0x1fa5
`,
	}
	state := "syscall"
	if kind == "resting" {
		state = "chan receive"
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [%s%s]:\n", 1000+i, state, age)
		fmt.Fprintf(&b, kinds[kind], 100000+i)
		b.WriteString("\n")
	}
	return b.String()
}
