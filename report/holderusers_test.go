package report

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// A mount namespace is told by who is in it: its processes and their pods, or who else keeps it.
func TestNamespaceText(t *testing.T) {
	model := new(Report).joined()
	for want, n := range map[string]forensics.NamespaceProcesses{
		"2 processes (sh, sleep), pid 7 9":         {Processes: 2, PIDs: []int{7, 9}, Commands: []string{"sh", "sleep"}},
		"1 process (sh), pid 7, pod u1":            {Processes: 1, PIDs: []int{7}, Commands: []string{"sh"}, Pods: []string{"u1"}},
		"1 process (sh), pid 7, pod u1, u2":        {Processes: 1, PIDs: []int{7}, Commands: []string{"sh"}, Pods: []string{"u1", "u2"}},
		"no process, open in pid 8":                {OpenedBy: []int{8}},
		"no process, mounted at /run/a, /run/b":    {MountedAt: []string{"/run/a", "/run/b"}},
		"no process, its mounts could not be read": {Unread: true},
		"no process, and what keeps it is not visible (possibly a descriptor in the queue of a socket)": {},
	} {
		if got := namespaceText(model, n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
