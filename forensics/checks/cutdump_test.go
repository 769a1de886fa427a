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
	tests := []struct{ name, text, root string }{
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
