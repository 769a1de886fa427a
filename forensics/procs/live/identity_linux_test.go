package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestIdentity reads the identity of this test's own process, and of no other one.
func TestIdentity(t *testing.T) {
	fsys, opt := machine(t)
	opt.Identify = func(comm string, command []string) bool { return slices.Equal(command, os.Args) }
	opt.PIDs = []int{os.Getpid(), os.Getppid()}
	snap, err := Collect(t.Context(), fsys, opt)
	if err != nil || len(snap.Processes) != 2 {
		t.Fatalf("%d processes, %v", len(snap.Processes), err)
	}
	for _, p := range snap.Processes {
		if p.PID != os.Getpid() {
			if p.Identity != nil {
				t.Errorf("process %d was not chosen: %+v", p.PID, p.Identity)
			}
			continue
		}
		exe, _ := os.Readlink("/proc/self/exe")
		link, _ := os.Readlink("/proc/self/ns/user")
		cgroups, _ := os.ReadFile("/proc/self/cgroup")
		id := p.Identity
		if id == nil || id.Executable != exe || fmt.Sprintf("user:[%d]", p.UserNS) != link || id.ReaderUserNS != p.UserNS || len(id.Unread) > 0 {
			t.Fatalf("process %+v, identity %+v", p, id)
		}
		if !slices.Equal(id.UIDs, []int{os.Getuid(), os.Geteuid(), os.Geteuid()}) || len(id.Capabilities) != 16 {
			t.Errorf("users %v, capabilities %q", id.UIDs, id.Capabilities)
		}
		for line := range strings.Lines(string(cgroups)) {
			if path := strings.SplitN(strings.TrimSpace(line), ":", 3)[2]; !slices.Contains(id.Cgroups, path) {
				t.Errorf("cgroup %s is not among %q", path, id.Cgroups)
			}
		}
	}
}
