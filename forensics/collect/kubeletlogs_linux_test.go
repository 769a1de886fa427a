package collect

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestKubeletLogsAreFoundThroughItsOutput starts a process whose output goes to a file that has no usual name.
func TestKubeletLogsAreFoundThroughItsOutput(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		flags map[string]string
		spoil func(*testing.T, *kubelet.Instance, string)
		found bool
	}{
		"its standard error":          {found: true},
		"a flag":                      {flags: map[string]string{"log-file": filepath.Join(dir, "a flag")}, found: true},
		"a deleted file":              {spoil: func(t *testing.T, _ *kubelet.Instance, file string) { _ = os.Remove(file) }},
		"another mount namespace":     {spoil: func(_ *testing.T, k *kubelet.Instance, _ string) { k.MountNS = 1 }},
		"a kubelet that does not run": {spoil: func(_ *testing.T, k *kubelet.Instance, _ string) { k.PID = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sleep", "1000")
			cmd.Stderr = file
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			_ = file.Close()
			k := &kubelet.Instance{PID: cmd.Process.Pid, Flags: tt.flags}
			if tt.spoil != nil {
				tt.spoil(t, k, file.Name())
			}
			c, err := newCollector(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.evidence.Kubelet = k
			got := c.kubeletLogs()
			if slices.Contains(got, file.Name()) != tt.found || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "/dev/") }) {
				t.Errorf("logs %q, want %s: %t", got, file.Name(), tt.found)
			}
		})
	}
}
