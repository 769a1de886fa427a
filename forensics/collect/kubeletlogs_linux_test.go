package collect

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestKubeletLogsAreFoundThroughItsOutput starts a process whose output goes to a file that has no usual name.
func TestKubeletLogsAreFoundThroughItsOutput(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		flags map[string]string
		spoil func(*testing.T, *kubelet.Instance, string)
		also  string // a further file that is named
		found bool
	}{
		"its standard error":       {found: true},
		"a flag":                   {flags: map[string]string{"log-file": filepath.Join(dir, "a flag")}, found: true},
		"a deleted file":           {spoil: func(t *testing.T, _ *kubelet.Instance, file string) { _ = os.Remove(file) }},
		"another mount namespace":  {spoil: func(_ *testing.T, k *kubelet.Instance, _ string) { k.MountNS = 1 }, found: true},
		"a doubtful process there": {spoil: func(_ *testing.T, k *kubelet.Instance, _ string) { k.MountNS, k.Unproven = 1, "has another executable" }},
		"k3s --log":                {flags: map[string]string{"log": filepath.Join(dir, "k3s --log")}, found: true},
		"rke2 with a data directory of its own": {
			flags: map[string]string{"data-dir": dir}, spoil: func(_ *testing.T, k *kubelet.Instance, _ string) { k.Program = "rke2" },
			also: filepath.Join(dir, "agent/logs/kubelet.log"), found: true,
		},
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
			if tt.also != "" && !slices.Contains(got, tt.also) {
				t.Errorf("logs %q without %s", got, tt.also)
			}
		})
	}
}

// TestKubeletLogInAnotherMountNamespace: a container with the node's root below /host reads the log that the kubelet writes, though
// the kubelet is in another mount namespace. Here that namespace is a new one, and only it has the file.
func TestKubeletLogInAnotherMountNamespace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a new mount namespace needs root")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "node.out")
	script := `mount --make-rprivate / && mount -t tmpfs tmpfs "$1" && exec 2>"$1/node.out" && echo "$2" >&2 && echo ready && exec sleep 1000`
	cmd := exec.Command("sh", "-c", script, "sh", dir, `I1122 12:00:00.000000     123 kubelet.go:2327] "SyncLoop ADD" source="api" pods=["default/web"]`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the process said %q: %v", line, err)
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var namespace uint64
	if _, err := fmt.Sscanf(link, "mnt:[%d]", &namespace); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		unproven string
		want     forensics.SourceStatus
	}{
		"the kubelet":             {"", forensics.SourceRead},
		"perhaps not the kubelet": {"has another executable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newCollector(t.Context(), Options{LogsSince: 100 * 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			c.evidence.Kubelet = &kubelet.Instance{PID: cmd.Process.Pid, MountNS: namespace, Unproven: tt.unproven}
			c.readLogs(t.Context())
			var got forensics.SourceStatus
			for _, s := range c.evidence.Coverage {
				if s.Source == forensics.SourceLogs+":"+log {
					got = s.Status
				}
			}
			if got != tt.want {
				t.Errorf("%s is %q, want %q: %+v", log, got, tt.want, c.evidence.Coverage)
			}
		})
	}
}

func TestUnitOfACgroup(t *testing.T) {
	for cgroup, want := range map[string]string{
		"/system.slice/k3s-edge.service":                        "k3s-edge",
		"/system.slice/kubelet.service":                         "kubelet",
		"/system.slice/k3s-edge.service/init":                   "k3s-edge",
		"/docker/0123/system.slice/k3s-edge.service":            "k3s-edge",
		"/system.slice/containerd.service/kubelet":              "",
		"/system.slice/ssh.service":                             "",
		"/user.slice/user-0.slice/user@0.service/app.slice/k3s": "",
		"/user.slice/user-0.slice/session-3.scope":              "",
		"/system.slice/*.service":                               "",
		"/":                                                     "",
		"":                                                      "",
	} {
		if got := unitOf(cgroup); got != want {
			t.Errorf("unitOf(%q) = %q, want %q", cgroup, got, want)
		}
	}
}
