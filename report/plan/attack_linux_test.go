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

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/report"
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
		"the plugin is somebody else's": {func(tr tree) { must(tr.t, os.Chown(filepath.Join(tr.pod(uidA), filepath.Dir(csi)), 65534, 0)) }, "is not root's alone"},
		"all may write to the plugin":   {func(tr tree) { must(tr.t, os.Chmod(filepath.Join(tr.pod(uidA), filepath.Dir(csi)), 0o757)) }, "is not root's alone"},
		"a file took the plugin's place": {func(tr tree) {
			plugin := filepath.Join(tr.pod(uidA), filepath.Dir(csi))
			must(tr.t, os.Rename(plugin, plugin+".old"))
			tr.write(uidA, filepath.Dir(csi), "")
		}, "is no directory"},
		"vol_data.json is a FIFO": {func(tr tree) {
			file := filepath.Join(tr.pod(uidA), csi, "vol_data.json")
			must(tr.t, os.Remove(file))
			must(tr.t, unix.Mkfifo(file, 0o600))
		}, "vol_data.json is no regular file"},
		"vol_data.json is huge": {func(tr tree) { must(tr.t, os.Truncate(filepath.Join(tr.pod(uidA), csi, "vol_data.json"), 1<<40)) }, "or too large"},
		"mount is a link":       {func(tr tree) { linkTo(tr, csi+"/mount", "/etc") }, "mount is no directory"},
		"a name with a newline": {func(tr tree) { tr.write(uidA, csi+"/mount/\nx", "") }, "something else lies in it"},
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

// TestScriptForged has reports that somebody wrote who wants something removed, unmounted or moved that is none of a pod's
// that is gone.
func TestScriptForged(t *testing.T) {
	outside := func(tr tree) string { return filepath.Join(filepath.Dir(tr.root), "srv") }
	for name, tc := range map[string]struct {
		forge func(tr tree, d *kubelet.PodDir, r *report.Report)
		says  string
	}{
		"a directory outside": {func(tr tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path = filepath.Join(outside(tr), uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not that of the pod below the root"},
		"a root outside": {func(tr tree, d *kubelet.PodDir, r *report.Report) {
			r.Evidence.Kubelet.CanonicalRoot = outside(tr)
			d.Path = filepath.Join(outside(tr), "pods", uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "the report's kubelet has its root in"},
		"a sibling of the pod": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path += "-evil"
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not that of the pod below the root"},
		"a sibling of pods": {func(tr tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path = filepath.Join(tr.root, "pods-old", uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not that of the pod below the root"},
		"a volume of a sibling":  {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path + "-evil/" + nfs }, "no kubelet has such a thing"},
		"a volume of a live pod": {func(tr tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = tr.pod(uidLive) + "/" + nfs }, "no kubelet has such a thing"},
		"dots": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Volumes[0].Path = d.Path + "/volumes/../../" + uidLive
		}, "no kubelet has such a thing"},
		"two slashes":        {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path + "//" + nfs }, "no kubelet has such a thing"},
		"a slash at the end": {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "/" }, "no kubelet has such a thing"},
		"the pod itself":     {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path }, "no kubelet has such a thing"},
		"below a volume":     {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "/db" }, "no kubelet has such a thing"},
		"a newline":          {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "\ntouch CANARY" }, "no kubelet has such a thing"},
		"an option": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Volumes[0].Path = d.Path + "/volumes/kubernetes.io~nfs/-rf"
		}, "no kubelet has such a thing"},
		"the UID of the live pod": {func(tr tree, d *kubelet.PodDir, _ *report.Report) { *d = renamed(*d, tr.pod(uidLive), uidLive) }, "the list of --pods has the pod"},
		"a UID with a newline":    {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.UID += "\n" }, "not named after the UID"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidA, nfs+"/db/file", "precious")
			tr.write(uidLive, nfs+"/db/file", "precious")
			for _, dir := range []string{outside(tr), tr.pod(uidA) + "-evil", filepath.Join(tr.root, "pods-old"), filepath.Join(outside(tr), "pods")} {
				must(t, os.MkdirAll(filepath.Join(dir, uidA, nfs, "db"), 0o750))
				must(t, os.MkdirAll(filepath.Join(dir, nfs, "db"), 0o750))
			}
			left := filepath.Join(tr.root, "left")
			must(t, os.Mkdir(left, 0o700))
			r := tr.report("1.34.4")
			forge(&r, func(d *kubelet.PodDir) { tc.forge(tr, d, &r) })
			script := plan(t, r)
			work := t.TempDir()
			t.Chdir(work)
			all := tr
			all.root = filepath.Dir(tr.root)
			before := links(t, all.root)
			out, status := tr.run(script, "--apply", "--move-data", left)
			if status == 0 || strings.Contains(out, "done  ") || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d; want a refusal that says %q", status, tc.says)
			}
			if diff := cmp.Diff(before, links(t, all.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
			if made, err := os.ReadDir(work); err != nil || len(made) != 0 {
				t.Errorf("something was executed: %v, %v", made, err)
			}
		})
	}
}

// forge changes the pod that is gone, and lets the report list another than the live one.
func forge(r *report.Report, change func(d *kubelet.PodDir)) {
	for i := range r.Evidence.PodDirs {
		if r.Evidence.PodDirs[i].UID == uidA {
			change(&r.Evidence.PodDirs[i])
		}
	}
	r.Evidence.Pods[0].UID = uid("f")
	for i := range r.Evidence.PodDirs {
		if d := &r.Evidence.PodDirs[i]; d.UID == uidLive && d.HostName == "" && len(d.Volumes) > 1 {
			d.Volumes = d.Volumes[:0] // what is wanted of it is in the other one
		}
	}
}

// renamed is a directory with another path and UID.
func renamed(d kubelet.PodDir, path, uid string) kubelet.PodDir {
	for i := range d.Volumes {
		d.Volumes[i].Path = strings.Replace(d.Volumes[i].Path, d.Path, path, 1)
	}
	d.Path, d.UID = path, uid
	return d
}

// TestScriptHealth unmounts only where it is known that the file system answers.
func TestScriptHealth(t *testing.T) {
	for _, status := range []mounts.Status{
		mounts.StatusNotProbed, mounts.StatusOK, mounts.StatusSlow, mounts.StatusHung, mounts.StatusUnanswered, mounts.StatusFrozen,
		mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError, mounts.StatusDenied, mounts.StatusRecovered, "new",
	} {
		t.Run("status "+string(status), func(t *testing.T) {
			tr := newTree(t)
			disk := tr.disk(uidA, nfs)
			r := tr.report("1.34.4")
			r.Evidence.Health[0].Status = status
			script := plan(t, r)
			if status != mounts.StatusOK {
				refusedWhole(t, tr, script, "umount would wait for it")
				r.Evidence.Health = nil // nobody looked at all
				refusedWhole(t, tr, plan(t, r), "nobody has asked")
			} else if out, status := tr.run(script, "--apply"); status != 0 || !strings.Contains(out, "done      1  umount -c "+disk) {
				t.Errorf("exit status %d; want that it is unmounted", status)
			}
		})
	}
}

// TestScriptMemory has a report that says of data in memory that it is something else.
func TestScriptMemory(t *testing.T) {
	for name, forge := range map[string]func(m *mounts.Mount, r *report.Report){
		"of another class": func(m *mounts.Mount, _ *report.Report) { m.Class = mounts.ClassBlock },
		"of another type":  func(m *mounts.Mount, _ *report.Report) { m.FSType, m.Class = "ext4", mounts.ClassBlock },
		"a copy": func(m *mounts.Mount, r *report.Report) {
			secret := *m
			secret.ID, secret.MountPoint = 1<<30, strings.Replace(m.MountPoint, "empty-dir/m", "secret/m", 1)
			r.Evidence.Mounts.Mounts = append(r.Evidence.Mounts.Mounts, secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.mount(uidA, "volumes/kubernetes.io~empty-dir/m", "tmpfs", "tmpfs", 0)
			tr.write(uidA, "volumes/kubernetes.io~empty-dir/m/file", "precious")
			r := tr.report("1.34.4")
			for i := range r.Evidence.Mounts.Mounts {
				if m := &r.Evidence.Mounts.Mounts[i]; strings.HasPrefix(m.MountPoint, tr.root) {
					r.Evidence.Health = []mounts.Health{{Device: m.Device, Status: mounts.StatusOK}}
					forge(m, &r)
					break
				}
			}
			refusedWhole(t, tr, plan(t, r), "refused")
		})
	}
}

// TestScriptSiblings has things of names that begin as another's: they are not taken for it.
func TestScriptSiblings(t *testing.T) {
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	disk := tr.disk(uidA, csi+"/mount")
	tr.write(uidA, csi+"/vol_data.json", volData)
	script := plan(t, tr.report("1.17.4"))
	for _, name := range []string{nfs + "-2", nfs + "2", csi + "/mount-2"} {
		tr.mount(uidA, name, "tmpfs", "tmpfs", 0)
	}
	sleeper(tr, filepath.Dir(tr.write(uidA+"-evil", nfs, "")))
	out, status := tr.run(script, "--apply")
	for _, says := range []string{"umount -c " + disk, "rmdir " + filepath.Join(tr.pod(uidA), nfs)} {
		if !strings.Contains(out, says+"\n") || strings.Contains(out, says+":") {
			t.Errorf("exit status %d; want that it does %q", status, says)
		}
	}
	if !strings.Contains(out, "refused   2  remove vol_data.json") || !strings.Contains(out, "mount-2") && !strings.Contains(out, "is there") {
		t.Error("the mount beside \"mount\" is in the volume, which must be refused")
	}
}

// TestScriptBelowBind has another namespace that sees the pod's directory somewhere else, and a mount there.
func TestScriptBelowBind(t *testing.T) {
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	elsewhere(tr, `mount --bind "$1" /mnt && mount -t tmpfs none /mnt/data`, filepath.Join(tr.pod(uidA), filepath.Dir(nfs)))
	refusedWhole(t, tr, script, "shows a directory above it")
}

// TestScriptOrder lets the kernel refuse to remove the mount point: vol_data.json must be there still.
func TestScriptOrder(t *testing.T) {
	tr := newTree(t)
	tr.write(uidA, csi+"/vol_data.json", volData)
	point := tr.write(uidA, csi+"/mount/", "")
	if out, err := exec.Command("chattr", "+i", point).CombinedOutput(); err != nil {
		t.Skipf("chattr: %v: %s", err, out)
	}
	t.Cleanup(func() { run(t, "chattr", "-i", point) })
	refusedWhole(t, tr, plan(t, tr.report("1.34.4")), "rmdir: failed to remove './mount'")
}

// TestScriptStale has reports that are not of this node as it is now.
func TestScriptStale(t *testing.T) {
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
		"from the future":             {ago(-time.Hour), "from the future"},
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
			refusedWhole(t, tr, script, "plan.sh: the file of --pods", "--pods", list, "--move-data", left)
		})
	}
	if out, status := tr.start(script, "--apply", "--kubelet-root", tr.root, "--move-data", left); status != 2 || !strings.Contains(out, "--move-data needs --pods") {
		t.Errorf("exit status %d; want that data is not moved without a list of pods", status)
	}
}

// TestScriptWithoutPodList has no list: it goes on only where cgroups of pods can be seen.
func TestScriptWithoutPodList(t *testing.T) {
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	cgroups := filepath.Join(t.TempDir(), "cgroup")
	must(t, os.Mkdir(cgroups, 0o755))
	tr.mountAt("/sys/fs/cgroup", "tmpfs", "tmpfs", 0)
	before := links(t, tr.root)
	if out, status := tr.start(script, "--apply", "--kubelet-root", tr.root); status != 3 || !strings.Contains(out, "no cgroup of any pod can be seen here") {
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
		shared: "is not root's alone", somebodys: "is not root's alone", link: "below the directory of the pods", filepath.Join(tr.root, "absent"): "it is not there",
	} {
		refusedWhole(t, tr, script, says, "--aside", dir)
	}
	memory := filepath.Join(shortDir(t), "memory")
	must(t, os.Mkdir(memory, 0o700))
	tr.mountAt(memory, "tmpfs", "tmpfs", 0)
	out, status := tr.run(script, "--apply", "--aside", memory)
	if status != 0 || !strings.Contains(out, "Copies are kept in memory") {
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
	tr := newTree(t)
	tr.write(uidA, csi+"/vol_data.json", volData)
	tr.write(uidA, csi+"/mount/", "")
	script := plan(t, tr.report("1.34.4"))
	full := filepath.Join(shortDir(t), "full")
	must(t, os.Mkdir(full, 0o700))
	must(t, unix.Mount("tmpfs", full, "tmpfs", 0, "size=8k"))
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	must(t, os.WriteFile(filepath.Join(full, "filler"), make([]byte, 4096), 0o600))
	refusedWhole(t, tr, script, "it could not be copied", "--aside", full)
}

// TestScriptEnvironment believes nothing of its caller's environment.
func TestScriptEnvironment(t *testing.T) {
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
