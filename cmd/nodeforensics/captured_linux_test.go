package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// marker stands in files of the analyst's machine, which a captured disk must not bring into a report.
const marker = "OF-THE-ANALYST"

// captured are paths of a node at which the program looks, with what a file there could hold.
var captured = map[string]string{
	"/etc/hostname":                       marker + "\n",
	"/etc/os-release":                     "PRETTY_NAME=" + marker + "\n",
	"/usr/lib/os-release":                 "PRETTY_NAME=" + marker + "\n",
	"/etc/localtime":                      "TZif2" + marker,
	"/etc/machine-id":                     marker + "\n",
	"/etc/fstab":                          marker + ":/x /y nfs defaults 0 0\n",
	"/var/log/syslog":                     "Nov 21 11:00:00 " + marker + " kubelet[1]: " + klogLine,
	"/var/log/messages":                   "Nov 21 11:00:00 " + marker + " kubelet[1]: " + klogLine,
	"/var/log/kern.log":                   "Nov 21 11:00:00 " + marker + " kernel: INFO: task " + marker + ":7 blocked for more than 120 seconds.\n",
	"/var/log/kubelet.log":                strings.Replace(klogLine, "x", marker, 1),
	"/var/log/k3s.log":                    strings.Replace(klogLine, "x", marker, 1),
	"/var/log/dmesg":                      "[ 1.0] INFO: task " + marker + ":7 blocked for more than 120 seconds.\n",
	"/etc/containerd/config.toml":         "root = \"/" + marker + "\"\n",
	"/etc/crio/crio.conf":                 "[crio]\nroot = \"/" + marker + "\"\n",
	"/etc/docker/daemon.json":             `{"data-root":"/` + marker + `"}`,
	"/etc/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet --root-dir=/" + marker + "\n",
	"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf":      "[Service]\nExecStart=/usr/bin/kubelet --root-dir=/" + marker + "\n",
	"/lib/systemd/system/kubelet.service":                        "[Service]\nExecStart=/usr/bin/kubelet --root-dir=/" + marker + "\n",
	"/etc/kubernetes/kubelet.conf":                               "users: " + marker + "\n",
	"/etc/kubernetes/manifests/web.yaml":                         "apiVersion: v1\nkind: Pod\nmetadata: {name: " + marker + ", uid: " + livePod + "}\n",
	"/var/lib/kubelet/config.yaml":                               "kind: KubeletConfiguration\nstaticPodPath: /" + marker + "\n",
	"/var/lib/kubelet/kubeadm-flags.env":                         "KUBELET_KUBEADM_ARGS=--root-dir=/" + marker + "\n",
	"/var/lib/kubelet/pods/" + livePod + "/etc-hosts":            marker + "\n",
	"/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db": marker,
	"/var/log/pods/kube-system_kubelet-x_1/kubelet/0.log":        "2026-11-21T11:00:00.0Z stdout F " + marker + " " + klogLine,
}

// TestACapturedDiskCannotReachThisMachine has a disk that is full of links to this machine's files, of every kind that
// leads somewhere, at every path that is looked at.
func TestACapturedDiskCannotReachThisMachine(t *testing.T) {
	if !onNode(t) {
		return
	}
	outside := t.TempDir()
	writeTree(t, outside, captured)
	for name, target := range map[string]func(path string) string{
		"absolute":      func(path string) string { return filepath.Join(outside, path) },
		"over the root": func(path string) string { return strings.Repeat("../", 40) + filepath.Join(outside, path)[1:] },
		"over /proc":    func(path string) string { return filepath.Join("/proc/self/root", outside, path) },
	} {
		for depth := range 2 { // the file is a link, or its directory
			t.Run(fmt.Sprintf("%s %d", name, depth), func(t *testing.T) {
				root := t.TempDir()
				for path := range captured {
					link, to := filepath.Join(root, path), target(path)
					if depth == 1 {
						link, to = filepath.Dir(link), target(filepath.Dir(path))
					}
					if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
						continue // a link already
					}
					_ = os.Symlink(to, link)
				}
				reachesNothing(t, root, outside)
			})
		}
	}
	t.Run("but its own files are read", func(t *testing.T) {
		r := examine(t, exitDone, "--root", outside, "--since", "87600h").report(t)
		if r.Evidence.Node.Name != marker || r.Evidence.Node.OS != marker || r.Evidence.Logs == nil || r.Evidence.Logs.Last == nil {
			t.Errorf("node %+v, logs %+v: the test tests nothing", r.Evidence.Node, r.Evidence.Logs)
		}
	})
}

// reachesNothing examines a disk, and wants neither marker nor, where strace is, a call that opens a marked file.
func reachesNothing(t testing.TB, root, outside string) {
	t.Helper()
	out := t.TempDir()
	cmd := command(t, "--root", root, "--output-dir", out, "--since", "87600h")
	trace := filepath.Join(t.TempDir(), "trace")
	if strace, err := exec.LookPath("strace"); err == nil {
		cmd.Args = append([]string{"strace", "-f", "-qq", "-y", "-e", "trace=openat,openat2,open", "-o", trace, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = strace
	}
	o := finish(t, cmd)
	r := onlyFile(t, out, ".json")
	text := o.stdout + o.stderr + readFile(t, r) + readFile(t, onlyFile(t, out, ".html"))
	if strings.Contains(text, marker) {
		t.Error("the report holds what stands in a file of this machine")
	}
	calls, _ := os.ReadFile(trace)
	for line := range strings.Lines(string(calls)) {
		if _, opened, ok := strings.Cut(line, ") = "); ok && strings.Contains(opened, "<"+outside) {
			t.Errorf("opened: %s", line)
		}
	}
}

// TestTheJournalOfThisMachineIsNotThatOfADisk has a disk whose journal leads to this machine's.
func TestTheJournalOfThisMachineIsNotThatOfADisk(t *testing.T) {
	if !onNode(t) {
		return
	}
	own := ownJournal(t)
	root := t.TempDir()
	dir := filepath.Join(root, filepath.Dir(own))
	writeTree(t, dir, map[string]string{"decoy.journal": "x"})
	if err := os.Symlink(own, filepath.Join(dir, "system.journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.Repeat("../", 40)+own[1:], filepath.Join(dir, "up.journal")); err != nil {
		t.Fatal(err)
	}
	records := func(root string) (n int64) {
		testfuse.Await(t, "the journal to be read in time on a busy machine", func() bool {
			n = 0
			late := false
			for _, f := range examine(t, exitDone, "--root", root, "--since", "87600h", "--timeout", "5m").report(t).Evidence.Logs.Files {
				if strings.HasPrefix(f.Path, "journal:") {
					n += f.Lines
					late = late || f.Status == string(forensics.SourceTimeout)
				}
			}
			return n > 0 || !late
		})
		return n
	}
	if n := records(root); n != 0 {
		t.Errorf("%d records of this machine's journal are in the report", n)
	}
	for _, name := range []string{"system.journal", "up.journal"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "system.journal"), []byte(readFile(t, own)), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := records(root); n == 0 {
		t.Error("nor is the disk's own journal read: the test tests nothing")
	}
}

// ownJournal has journald write one, of what the kernel has said, and returns its file.
func ownJournal(t testing.TB) string {
	t.Helper()
	const journald = "/lib/systemd/systemd-journald"
	if _, err := os.Stat(journald); err != nil {
		t.Skip("no journald")
	}
	withKernelLog(t)
	mountNow(t, "run", "/run", "tmpfs", 0)
	for _, dir := range []string{"/run/systemd/journal", "/var/log/journal"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(journald)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	testfuse.Await(t, "journald to wait for signals", func() bool { // one that comes earlier ends it
		_, rest, _ := strings.Cut(readFile(t, fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)), "\nSigBlk:")
		mask, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
		return err == nil && mask&(1<<(unix.SIGUSR1-1)) != 0
	})
	var found []string
	testfuse.Await(t, "the journal", func() bool {
		_ = cmd.Process.Signal(unix.SIGUSR1) // to the disk
		found, _ = filepath.Glob("/var/log/journal/*/system.journal")
		if len(found) == 0 {
			return false
		}
		out, _ := exec.Command("journalctl", "--quiet", "--file="+found[0], "--lines=1", "_TRANSPORT=kernel").Output()
		return len(out) > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return found[0]
}

// TestHiddenProcessesAreNotMissing has a /proc that shows others' processes to root only (proc(5), hidepid=2).
func TestHiddenProcessesAreNotMissing(t *testing.T) {
	if !onNode(t) {
		return
	}
	startKubelet(t, t.TempDir())
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_REMOUNT, "hidepid=2"); err != nil {
		t.Skip(err)
	}
	out, exe := filepath.Join(fallback, "out"), filepath.Join(fallback, programName)
	if err := os.WriteFile(exe, []byte(readFile(t, program(t, programName))), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(out, 0o777); err != nil || os.Chown(out, 65534, 65534) != nil {
		t.Fatal(err)
	}
	cmd := command(t, "--output-dir", out)
	cmd.Path, cmd.Dir = exe, "/"
	cmd.SysProcAttr = asNobody()
	o := finish(t, cmd)
	r := readReport(t, onlyFile(t, out, ".json"))
	if got := coverage(t, r, forensics.SourceProcesses); got.Status == forensics.SourceRead || !strings.Contains(got.Detail, "hidepid") {
		t.Errorf("coverage of processes: %+v, want that they are hidden", got)
	}
	for _, f := range findings(r, "kubelet-not-running") {
		t.Errorf("%s: %s (%s)", f.Severity, f.Title, f.Confidence)
	}
	if slices.Contains([]int{exitUsage, exitFinding}, o.status) {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
}
