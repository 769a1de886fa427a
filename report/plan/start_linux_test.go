package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/report"
)

// TestScriptStale has reports that are not of this node as it is now.
func TestScriptStale(t *testing.T) {
	if !alone(t) {
		return
	}
	ago := func(d time.Duration) func(*report.Report) {
		return func(r *report.Report) { r.Evidence.Collected = time.Now().Add(-d) }
	}
	boot := func(d time.Duration) func(*report.Report) {
		return func(r *report.Report) { boot := r.Evidence.Node.Boot.Add(d); r.Evidence.Node.Boot = &boot }
	}
	for name, tc := range map[string]struct {
		change func(r *report.Report)
		says   string
	}{
		"old":                         {ago(3700 * time.Second), "older than an hour"},
		"of yesterday":                {ago(24 * time.Hour), "older than an hour"},
		"from the future":             {ago(-time.Hour), "is in the future"},
		"of the boot before":          {boot(-time.Hour), "booted since the report"},
		"booted later":                {boot(time.Hour), "booted since the report"},
		"of a node with a like name":  {func(r *report.Report) { r.Evidence.Node.Name += "2" }, "the report is of node"},
		"before the kubelet's change": {ago(time.Minute), "changed since the report"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidA, nfs+"/", "")
			r := tr.report("1.17.4")
			for i := range r.Evidence.PodDirs {
				r.Evidence.PodDirs[i].Modified = nil
			}
			tc.change(&r)
			refusedWhole(t, tr, plan(t, r), tc.says)
		})
	}
}

// TestScriptPodList has lists that prove nothing.
func TestScriptPodList(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/db/file", "precious")
	script := plan(t, tr.report("1.34.4"))
	left := filepath.Join(tr.root, "left")
	must(t, os.Mkdir(left, 0o700))
	good, err := os.ReadFile(tr.podList(uidLive))
	must(t, err)
	old := tr.podList(uidLive)
	must(t, os.Chtimes(old, time.Now(), time.Now().Add(-2*time.Hour)))
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "pods.json")
		must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	for name, list := range map[string]string{
		"cut":                 file(string(good[:len(good)-4])),
		"empty":               file(`{"kind":"PodList","items":[]}`),
		"of another cluster":  tr.podList(uid("e")),
		"an error":            file(`{"kind":"Status"}`),
		"one page of several": file(strings.Replace(string(good), `{"kind"`, `{"metadata":{"continue": "x"},"kind"`, 1)),
		"old":                 old,
		"a FIFO":              fifo,
		"absent":              filepath.Join(left, "absent"),
	} {
		t.Run(name, func(t *testing.T) {
			refusedWhole(t, tr, script, "plan.sh: the --pods file", "--pods", list, "--move-data", left)
		})
	}
	if out, status := tr.start(script, "--apply", "--kubelet-root", tr.root, "--move-data", left); status != 2 || !strings.Contains(out, "--move-data needs --pods") {
		t.Errorf("exit status %d; want that data is not moved without a list of pods", status)
	}
}

// TestScriptWithoutPodList has no list: it goes on only where cgroups of pods can be seen.
func TestScriptWithoutPodList(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	cgroups := filepath.Join(t.TempDir(), "cgroup")
	must(t, os.Mkdir(cgroups, 0o755))
	tr.mountAt("/sys/fs/cgroup", "tmpfs", "tmpfs", 0)
	before := links(t, tr.root)
	if out, status := tr.start(script, "--apply", "--kubelet-root", tr.root); status != 3 || !strings.Contains(out, "no pod cgroup is visible here") {
		t.Errorf("exit status %d; want that it asks for a list", status)
	}
	if diff := cmp.Diff(before, links(t, tr.root)); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
	must(t, os.MkdirAll("/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"+strings.ReplaceAll(uidLive, "-", "_")+".slice", 0o755))
	if _, status := tr.start(script, "--apply", "--kubelet-root", tr.root); status != 0 {
		t.Errorf("exit status %d; want 0", status)
	}
}

// TestScriptRuntime has a container of the pod in the files of the runtime.
func TestScriptRuntime(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	tr.mountAt("/run", "tmpfs", "tmpfs", 0)
	for _, name := range []string{
		"/run/containerd/io.containerd.runtime.v2.task/k8s.io/0123/config.json",
		"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/0123/config.json",
		"/run/containers/storage/overlay-containers/0123/userdata/config.json",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(`{"annotations":{"io.kubernetes.cri.sandbox-uid":"`+uidA+`"}}`), 0o600))
		refusedWhole(t, tr, script, "the runtime has a container of the pod: "+name)
		must(t, os.Remove(name))
	}
}

// TestScriptCopies keeps copies only where nobody can exchange them, and says where they would not last.
func TestScriptCopies(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, csi+"/vol_data.json", volData)
	script := plan(t, tr.report("1.34.4"))
	shared, somebodys := filepath.Join(shortDir(t), "shared"), filepath.Join(shortDir(t), "somebodys")
	must(t, os.Mkdir(shared, 0o700))
	must(t, os.Chmod(shared, 0o777))
	must(t, os.Mkdir(somebodys, 0o700))
	must(t, os.Chown(somebodys, 65534, 65534))
	link := filepath.Join(shortDir(t), "link")
	must(t, os.Symlink(tr.pod(uidLive), link))
	for dir, says := range map[string]string{
		shared: "other users than root can change", somebodys: "other users than root can change", link: "below the pods directory", filepath.Join(tr.root, "absent"): "it does not exist",
	} {
		refusedWhole(t, tr, script, says, "--aside", dir)
	}
	memory := filepath.Join(shortDir(t), "memory")
	must(t, os.Mkdir(memory, 0o700))
	tr.mountAt(memory, "tmpfs", "tmpfs", 0)
	out, status := tr.run(script, "--apply", "--aside", memory)
	if status != 0 || !strings.Contains(out, "The copies are in memory") {
		t.Errorf("exit status %d; want that it says that the copies do not last", status)
	}
	copies, err := filepath.Glob(filepath.Join(aside(out), uidA, "*", "vol_data.json"))
	must(t, err)
	if len(copies) != 1 {
		t.Fatalf("copies: %v", copies)
	}
	for name, mode := range map[string]os.FileMode{copies[0]: 0o600, filepath.Dir(copies[0]): 0o700, aside(out): 0o700} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", name, info.Mode(), err, mode)
		}
	}
}

// TestScriptFullDisk cannot keep a copy, so the file stays.
func TestScriptFullDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, csi+"/vol_data.json", volData)
	tr.write(uidA, csi+"/mount/", "")
	script := plan(t, tr.report("1.34.4"))
	full := filepath.Join(shortDir(t), "full")
	must(t, os.Mkdir(full, 0o700))
	must(t, unix.Mount("tmpfs", full, "tmpfs", 0, "size=8k"))
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	must(t, os.WriteFile(filepath.Join(full, "filler"), make([]byte, 4096), 0o600))
	refusedWhole(t, tr, script, "cannot copy it", "--aside", full)
}

// TestScriptEnvironment believes nothing of its caller's environment.
func TestScriptEnvironment(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	name := filepath.Join(t.TempDir(), "plan.sh")
	must(t, os.WriteFile(name, plan(t, tr.report("1.17.4")), 0o600))
	evil := t.TempDir()
	for _, tool := range []string{"find", "awk", "rmdir", "grep", "id", "env", "sed", "xargs"} {
		must(t, os.WriteFile(filepath.Join(evil, tool), []byte("#!/bin/sh\necho \"$0\" >>"+evil+"/ran\n"), 0o755)) //nolint:gosec // it has to be executable
	}
	must(t, os.Mkdir(filepath.Join(evil, "proc"), 0o755))
	for _, shell := range [][]string{{"sh"}, {"bash", "--posix"}} {
		cmd := exec.Command(shell[0], append(shell[1:], name, "--kubelet-root", tr.root, "--pods", tr.podList(uidLive))...)
		cmd.Dir = evil
		cmd.Env = []string{
			"PATH=" + evil + ":" + os.Getenv("PATH"), "IFS=/", "CDPATH=" + evil, "ENV=" + evil + "/find", "BASH_ENV=" + evil + "/find", "POSIXLY_CORRECT=1",
			"GREP_OPTIONS=-v", "LC_ALL=tr_TR.UTF-8", "apply=1", "listed=x", "root=/", "AWKPATH=" + evil, "OLDPWD=/", "TMPDIR=" + evil, "closed=", "LIBMOUNT_FSTAB=" + evil,
			"BASH_FUNC_find%%=() { echo function >>" + evil + "/ran; }", "BASH_FUNC_cd%%=() { echo function >>" + evil + "/ran; }",
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "would     1  rmdir") {
			t.Errorf("%v: %v\n%s", shell, err, out)
		}
	}
	if ran, err := os.ReadFile(filepath.Join(evil, "ran")); err == nil {
		t.Errorf("a program of the caller ran: %s", ran)
	}
}
