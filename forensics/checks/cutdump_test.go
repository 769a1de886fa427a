package checks

import (
	"strings"
	"testing"
)

// TestCutDump judges stacks without their callers.
func TestCutDump(t *testing.T) {
	const after = "	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/vendor/k8s.io/utils/mount/mount_helper_common.go:118 +0x54\n"
	start := strings.Index(hungDump, "goroutine 117")
	callers := hungDump[start : strings.Index(hungDump, after)+len(after)]
	const main = `goroutine 1 gp=0xc0000061c0 m=7 mp=0xc000600008 [syscall]:
syscall.Syscall(0x89, 0xc00074c360, 0xc000a238a0, 0x0)
	syscall/syscall_linux.go:69 +0x25 fp=0xc000a23838 sp=0xc000a237d8 pc=0x494665
syscall.Statfs({0xc000b62010?, 0xc000a238c0?}, 0xc000a238a0)
	syscall/zsyscall_linux_amd64.go:1376 +0x78 fp=0xc000a23888 sp=0xc000a23838 pc=0x493698
github.com/google/cadvisor/fs.getVfsStats({0xc000b62010?, 0x5?})
	github.com/google/cadvisor@v0.49.0/fs/fs.go:720 +0x5d fp=0xc000a23928 sp=0xc000a23888 pc=0x1c65a3d
`
	commit := `goroutine 88 [syscall, 14 minutes]:
syscall.Syscall(0x4b, 0x9, 0x0, 0x0)
	/usr/local/go/src/syscall/asm_linux_amd64.s:20 +0x5
syscall.Fdatasync(0x9)
	/usr/local/go/src/syscall/zsyscall_linux_amd64.go:403 +0x30
go.etcd.io/bbolt.(*Tx).Commit(0xc000c6cc40)
	/go/src/github.com/containerd/containerd/vendor/go.etcd.io/bbolt/tx.go:208 +0x2c5

goroutine 1 [chan receive, 1841 minutes]:
github.com/containerd/containerd/cmd/containerd/command.App.func1(0xc0004a7e40)
	/go/src/github.com/containerd/containerd/cmd/containerd/command/main.go:310 +0x5
`
	waitsForOutput := strings.NewReplacer("syscall.Fdatasync", "syscall.openat", "go.etcd.io/bbolt.(*Tx).Commit", "github.com/containerd/fifo.openFifo.func2").Replace(commit)
	tests := []struct{ name, text, root string }{
		{"a start that a signal ended", main, "kubelet-start-blocked"},
		{"near miss: a start that a panic ended", "panic: assignment to entry in nil map\n\n" + main, ""},
		{"near miss: another goroutine than the main one", strings.Replace(main, "goroutine 1 ", "goroutine 91 ", 1), ""},
		{"near miss: cAdvisor's own program", strings.Replace(main, "cadvisor@v0.49.0", "cadvisor", 1), ""},
		{"near miss: no signal, and no time", strings.Replace(main, " gp=0xc0000061c0 m=7 mp=0xc000600008", "", 1), ""},
		{"a runtime that waits for its disk", commit, "thread-blocked"},
		{"near miss: a runtime that waits for a pipe", waitsForOutput, ""},
		{"near miss: a runtime that has begun to write", strings.Replace(commit, "14 minutes", "2 minutes", 1), ""},
		{"callers cut off", callers, "thread-blocked"},
		{"and prose behind it", callers + "\n[...]\n", "thread-blocked"},
		{"near miss: no time", strings.Replace(callers, ", 46 minutes", "", 1), ""},
		{"near miss: a time that the runtime can have added", strings.Replace(callers, "46", "2", 1), ""},
		{"near miss: it waits for events", strings.ReplaceAll(strings.ReplaceAll(callers, "syscall, 46", "IO wait, 46"), "os.Stat", "internal/poll.runtime_pollWait"), ""},
		{"the middle of housekeeping, with its caller", hungDump[start:strings.Index(hungDump, "created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet")], "kubelet-housekeeping-blocked"},
		{"near miss: a headless stack outside of file calls", hungDump[strings.Index(hungDump, "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoopIteration"):], ""},
	}
	for _, test := range tests {
		if root := pastedRoot(t, test.text); root != test.root {
			t.Errorf("%s: %q, want %q", test.name, root, test.root)
		}
	}
}
