package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// impostor is a kubelet's root directory that a pod has made in its volume, with a pod that is gone.
func impostor(tr tree) tree {
	evil := tree{tr.t, tr.write(uidLive, "volumes/kubernetes.io~empty-dir/cache/fake/", "")}
	must(tr.t, os.Chmod(filepath.Dir(evil.root), 0o777)) // as the kubelet makes an emptyDir
	evil.root = filepath.Clean(evil.root)
	evil.write(uidA, csi+"/vol_data.json", volData)
	evil.write(uidA, csi+"/mount/", "")
	return evil
}

// TestScriptImpostor has a process that poses as the kubelet, with a --root-dir of its own that the report believed. After
// that a link there leads to a live pod's volume.
func TestScriptImpostor(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, swap := range map[string]func(evil tree, victim string){
		"nothing is swapped": func(tree, string) {},
		"volumes": func(evil tree, victim string) {
			swapped(evil.t, filepath.Join(evil.pod(uidA), "volumes"), filepath.Join(victim, "volumes"))
		},
		"the plugin": func(evil tree, victim string) {
			swapped(evil.t, filepath.Join(evil.pod(uidA), filepath.Dir(csi)), filepath.Join(victim, filepath.Dir(csi)))
		},
		"the pod": func(evil tree, victim string) { swapped(evil.t, evil.pod(uidA), victim) },
		"the root": func(evil tree, victim string) {
			must(evil.t, os.Rename(evil.pod(uidA), evil.pod(uidA)+".old"))
			swapped(evil.t, evil.root, filepath.Dir(filepath.Dir(victim)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidLive, csi+"/vol_data.json", volData)
			tr.write(uidLive, csi+"/mount/", "")
			evil := impostor(tr)
			script := plan(t, evil.report("1.34.4"))
			swap(evil, tr.pod(uidLive))
			before := sums(t, tr.root)
			for _, root := range []string{tr.root, evil.root} { // the person knows better, or believes the report
				out, status := tr.run(script, "--apply", "--kubelet-root", root)
				if status == 0 || strings.Contains(out, "done  ") {
					t.Errorf("--kubelet-root %s: exit status %d", root, status)
				}
				if diff := cmp.Diff(before, sums(t, tr.root)); diff != "" {
					t.Errorf("something was changed (-before +after):\n%s", diff)
				}
			}
		})
	}
}

// swapped puts a link to a target where something was.
func swapped(t *testing.T, name, target string) {
	t.Helper()
	must(t, os.Rename(name, name+".old"))
	must(t, os.Symlink(target, name))
}

// TestScriptSwapped has links and directories of others on the way to what the script is about.
func TestScriptSwapped(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, tc := range map[string]struct {
		change func(tr tree)
		says   string
	}{
		"the pod is a link": {func(tr tree) { swapped(tr.t, tr.pod(uidA), tr.pod(uidA)+".old") }, "is a link"},
		"volumes is a link": {func(tr tree) {
			swapped(tr.t, filepath.Join(tr.pod(uidA), "volumes"), filepath.Join(tr.pod(uidLive), "volumes"))
		}, "is a link"},
		"the plugin is a link":          {func(tr tree) { swapped(tr.t, filepath.Join(tr.pod(uidA), filepath.Dir(csi)), "/etc") }, "is a link"},
		"the volume is a link":          {func(tr tree) { swapped(tr.t, filepath.Join(tr.pod(uidA), csi), filepath.Join(tr.pod(uidLive), csi)) }, "is a link"},
		"the plugin is somebody else's": {func(tr tree) { must(tr.t, os.Chown(filepath.Join(tr.pod(uidA), filepath.Dir(csi)), 65534, 0)) }, "other users than root can change"},
		"all may write to the plugin":   {func(tr tree) { must(tr.t, os.Chmod(filepath.Join(tr.pod(uidA), filepath.Dir(csi)), 0o757)) }, "other users than root can change"},
		"a file took the plugin's place": {func(tr tree) {
			plugin := filepath.Join(tr.pod(uidA), filepath.Dir(csi))
			must(tr.t, os.Rename(plugin, plugin+".old"))
			tr.write(uidA, filepath.Dir(csi), "")
		}, "is not a directory"},
		"vol_data.json is a FIFO": {func(tr tree) {
			file := filepath.Join(tr.pod(uidA), csi, "vol_data.json")
			must(tr.t, os.Remove(file))
			must(tr.t, unix.Mkfifo(file, 0o600))
		}, "vol_data.json is not a regular file"},
		"vol_data.json is huge": {func(tr tree) { must(tr.t, os.Truncate(filepath.Join(tr.pod(uidA), csi, "vol_data.json"), 1<<40)) }, "or is too large"},
		"mount is a link":       {func(tr tree) { linkTo(tr, csi+"/mount", "/etc") }, "mount is not a directory"},
		"a name with a newline": {func(tr tree) { tr.write(uidA, csi+"/mount/\nx", "") }, "it has other files"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidLive, csi+"/vol_data.json", volData)
			tr.write(uidA, csi+"/vol_data.json", volData)
			tr.write(uidA, csi+"/mount/", "")
			script := plan(t, tr.report("1.34.4"))
			tc.change(tr)
			refusedWhole(t, tr, script, tc.says)
		})
	}
}

// refusedWhole runs a script that must refuse something, say why, and change nothing.
func refusedWhole(t *testing.T, tr tree, script []byte, says string, args ...string) {
	t.Helper()
	before := links(t, tr.root)
	out, status := tr.run(script, append([]string{"--apply"}, args...)...)
	if status == 0 || strings.Contains(out, "done  ") || !strings.Contains(out, says) {
		t.Errorf("exit status %d; want a refusal that says %q", status, says)
	}
	if diff := cmp.Diff(before, links(t, tr.root)); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
}

// links are all names below a directory, with what each of them is.
func links(t *testing.T, root string) map[string]string {
	t.Helper()
	out, err := exec.Command("find", root, "-printf", `%p %y %U %m %l %s\0`).Output()
	must(t, err)
	all := map[string]string{}
	for _, line := range strings.Split(string(out), "\x00") {
		all[line] = ""
	}
	return all
}
