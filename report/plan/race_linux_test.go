package plan

import (
	"bufio"
	stdcmp "cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestScriptRace changes something between the report and the script. Nothing may be lost, and the script has to say why
// it does not go on.
func TestScriptRace(t *testing.T) {
	if !alone(t) {
		return
	}
	emptyDir := func(tr tree) { tr.write(uidA, nfs+"/", "") }
	leftVolData := func(tr tree) {
		tr.write(uidA, csi+"/vol_data.json", volData)
		tr.write(uidA, csi+"/mount/", "")
	}
	mountedDisk := func(tr tree) { tr.disk(uidA, nfs) }
	for name, tc := range map[string]struct {
		build, change func(tr tree)
		listed        string
		says          string
	}{
		"something was mounted on it":      {build: emptyDir, change: func(tr tree) { tr.mount(uidA, nfs, "tmpfs", "tmpfs", 0) }, says: "is there"},
		"something was mounted on the way": {build: emptyDir, change: func(tr tree) { tr.mount(uidA, "volumes", "tmpfs", "tmpfs", 0) }, says: "a mount covers the path to it"},
		"the pod's directory was mounted":  {build: emptyDir, change: func(tr tree) { bindSelf(tr, tr.pod(uidA)) }, says: "a mount covers the path to it"},
		"mounted in another namespace only": {build: leftVolData, change: func(tr tree) {
			elsewhere(tr, `mount -t tmpfs none "$1"`, filepath.Join(tr.pod(uidA), csi, "mount"))
		}, says: "is there"},
		"bound to another place in another namespace": {build: emptyDir, change: func(tr tree) {
			elsewhere(tr, `mount --bind "$1" /mnt`, filepath.Join(tr.pod(uidA), nfs))
		}, says: "is a bind mount from there"},
		"a file was written into the directory": {build: emptyDir, change: func(tr tree) { tr.write(uidA, nfs+"/file", "precious") }, says: "it is not empty"},
		"a file took the directory's place": {build: emptyDir, change: func(tr tree) {
			must(tr.t, os.Remove(filepath.Join(tr.pod(uidA), nfs)))
			tr.write(uidA, nfs, "precious")
		}, says: "it is not a directory"},
		"a file was written below the mount point":  {build: leftVolData, change: func(tr tree) { tr.write(uidA, csi+"/mount/file", "precious") }, says: "it has other files"},
		"a file was written beside vol_data.json":   {build: leftVolData, change: func(tr tree) { tr.write(uidA, csi+"/.file", "precious") }, says: "it has other files"},
		"a link took the place of vol_data.json":    {build: leftVolData, change: func(tr tree) { linkTo(tr, csi+"/vol_data.json", "/etc/passwd") }, says: "vol_data.json is not a regular file"},
		"something was written to a subpath's file": {build: func(tr tree) { tr.write(uidA, sub, "") }, change: func(tr tree) { tr.write(uidA, sub, "precious") }, says: "it is not an empty file"},
		"a process stands in it": {build: emptyDir, change: func(tr tree) {
			sleeper(tr, filepath.Join(tr.pod(uidA), nfs))
		}, says: "it is in use: /proc/"},
		"a process has a file of the pod open": {build: emptyDir, change: func(tr tree) {
			file, err := os.Open(tr.write(uidA, "etc-hosts", ""))
			must(tr.t, err)
			tr.t.Cleanup(func() { _ = file.Close() })
		}, says: "it is in use: /proc/"},
		"the list of pods has the pod": {build: emptyDir, change: func(tree) {}, listed: uidA, says: "the --pods list has the pod"},
		"another file system took the mount's place": {build: mountedDisk, change: func(tr tree) {
			must(tr.t, unix.Unmount(filepath.Join(tr.pod(uidA), nfs), 0))
			tr.mount(uidA, nfs, "tmpfs", "tmpfs", 0)
			tr.write(uidA, nfs+"/file", "precious")
		}, says: "another file system is mounted there now"},
		"something was mounted below the mount": {build: mountedDisk, change: func(tr tree) {
			must(tr.t, os.Mkdir(filepath.Join(tr.pod(uidA), nfs, "deep"), 0o755))
			tr.mount(uidA, nfs+"/deep", "tmpfs", "tmpfs", 0)
		}, says: "a mount is below it"},
		"a cgroup of the pod": {build: emptyDir, change: cgroupOf, says: "the pod has a cgroup"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tc.build(tr)
			r := tr.report("1.17.4")
			script := plan(t, r)
			tc.change(tr)
			before := sums(t, tr.root)
			out, status := tr.run(script, "--apply", "--pods", tr.podList(uidLive, stdcmp.Or(tc.listed, uidLive)))
			if !strings.Contains(out, tc.says) || status != 3 || strings.Contains(out, "done  ") {
				t.Errorf("exit status %d; want 3, and a refusal that says %q", status, tc.says)
			}
			if diff := cmp.Diff(before, sums(t, tr.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestScriptNothingToDo runs the script when the kubelet has done it all meanwhile.
func TestScriptNothingToDo(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	tr.write(uidA, sub, "")
	tr.write(uidA, csi+"/vol_data.json", volData)
	script := plan(t, tr.report("1.17.4"))
	must(t, os.RemoveAll(tr.pod(uidA)))
	if out, status := tr.run(script, "--apply"); status != 0 || strings.Count(out, "it no longer exists") != 3 {
		t.Errorf("exit status %d; want 0 and three times that it no longer exists", status)
	}
}

func bindSelf(tr tree, dir string) {
	tr.t.Helper()
	tr.mountAt(dir, dir, "", unix.MS_BIND)
}

func linkTo(tr tree, name, target string) {
	tr.t.Helper()
	full := filepath.Join(tr.pod(uidA), name)
	must(tr.t, os.Remove(full))
	must(tr.t, os.Symlink(target, full))
}

// elsewhere runs a command in a mount namespace of its own, which it keeps for the time of the test.
func elsewhere(tr tree, command, arg string) {
	tr.t.Helper()
	started(tr, exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", command+"; cd /; echo ready; read -r _", "sh", arg))
}

// sleeper is a process that stands in a directory.
func sleeper(tr tree, dir string) {
	tr.t.Helper()
	cmd := exec.Command("sh", "-c", "echo ready; read -r _")
	cmd.Dir = dir
	started(tr, cmd)
}

// started starts a command that says "ready" and ends when its input does.
func started(tr tree, cmd *exec.Cmd) {
	tr.t.Helper()
	in, err := cmd.StdinPipe()
	must(tr.t, err)
	out, err := cmd.StdoutPipe()
	must(tr.t, err)
	must(tr.t, cmd.Start())
	tr.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		tr.t.Fatalf("%v said %q: %v", cmd.Args, line, err)
	}
}

// cgroupOf makes a cgroup of the pod.
func cgroupOf(tr tree) {
	tr.t.Helper()
	for _, top := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir := filepath.Join(top, "kubepods-pod"+strings.ReplaceAll(uidA, "-", "_")+".slice")
		if os.Mkdir(dir, 0o755) == nil {
			tr.t.Cleanup(func() { must(tr.t, os.Remove(dir)) })
			return
		}
	}
	tr.t.Skip("no cgroup can be made")
}
