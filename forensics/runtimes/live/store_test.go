package live

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// A container and its sandbox are of one pod: each has what only the other one says, and neither loses what it says itself.
func TestNamesOfAPodAreCompletedBothWays(t *testing.T) {
	for _, c := range []struct{ name, container, sandbox, wantContainer, wantSandbox string }{
		{"only the sandbox", "", "web-0", "web-0", "web-0"},
		{"only the container", "web-0", "", "web-0", "web-0"},
		{"both", "a", "b", "a", "b"},
		{"neither", "", "", "", ""},
	} {
		box := &runtimes.Sandbox{ID: "s", PodUID: c.sandbox, Namespace: c.sandbox, Name: c.sandbox}
		container := &runtimes.Container{ID: "c", SandboxID: "s", PodUID: c.container, Namespace: c.container, PodName: c.container}
		s := store{sandboxes: map[string]*runtimes.Sandbox{"s": box}, containers: map[string]*runtimes.Container{"c": container, "alone": {SandboxID: "none"}}}
		s.nameAfterSandbox()
		for _, got := range []string{container.PodUID, container.Namespace, container.PodName} {
			if got != c.wantContainer {
				t.Errorf("%s: the container has %q, want %q", c.name, got, c.wantContainer)
			}
		}
		for _, got := range []string{box.PodUID, box.Namespace, box.Name} {
			if got != c.wantSandbox {
				t.Errorf("%s: the sandbox has %q, want %q", c.name, got, c.wantSandbox)
			}
		}
	}
}
