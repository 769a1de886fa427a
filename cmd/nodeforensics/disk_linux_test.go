package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// writeTree makes files below a directory. A content that begins with "-> " makes a symbolic link, a path that ends in
// "/" a directory.
func writeTree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, path)
		} else if !strings.HasSuffix(name, "/") {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheDiskOfAnotherNodeIsReadAndNothingOfThisOne(t *testing.T) {
	if !onNode(t) {
		return
	}
	// This node is sick.
	live := t.TempDir()
	sick, here := testfuse.NewUID(), someVolume()
	dead := mountVolume(t, live, sick, here)
	startKubelet(t, live)
	hangUnder(t, dead)

	disk, uid := t.TempDir(), testfuse.NewUID()
	writeTree(t, disk, map[string]string{
		"etc/os-release": "-> ../usr/lib/os-release", "usr/lib/os-release": "ID=bottle\nPRETTY_NAME=\"Bottle OS 1.2\"\n",
		"etc/hostname":                       "node-of-the-disk\n",
		"etc/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --root-dir=/data/kubelet\n",
		"etc/kubernetes/kubelet.yaml":        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nstaticPodPath: /etc/kubernetes/manifests\n",
		"etc/kubernetes/manifests/web.yaml":  "kind: Pod\napiVersion: v1\nmetadata: {name: web, namespace: prod, uid: 11111111-2222-3333-4444-555555555555}\n",
		"data":                               "-> /mnt/ssd", // absolute: must not lead into this machine
		"mnt/ssd/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1/vol_data.json": `{"driverName":"nfs.csi.k8s.io","volumeHandle":"h"}`,
		"mnt/ssd/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1/mount/":        "",
		"mnt/ssd/kubelet/pods/" + uid + "/etc-hosts":                                     "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.1.2.3\tpayroll-7\n",
		"mnt/ssd/kubelet/pods/evil":                                                      "-> " + filepath.Join(live, "pods", sick),
		"proc/1/comm":                                                                    "not a process",
	})
	o := examine(t, 0, "--root", disk)
	r := o.report(t)
	if r.Node.Name != "node-of-the-disk" || r.Node.OS != "Bottle OS 1.2" || !strings.HasPrefix(filepath.Base(o.file(t, ".json")), "nodeforensics-node-of-the-disk-") {
		t.Errorf("node %+v in %s", r.Node, o.file(t, ".json"))
	}
	e := r.Evidence
	if e.Root != disk || len(e.Processes)+len(e.Threads)+len(e.Mounts.Mounts)+len(e.Probes)+len(e.Dumps)+len(e.Cgroups) != 0 {
		t.Errorf("something live is in the evidence of %s: %+v", e.Root, e)
	}
	if k := e.Kubelet; k == nil || k.PID != 0 || k.RootDir != "/data/kubelet" || k.CanonicalRoot != "/mnt/ssd/kubelet" || len(k.Endpoints) != 0 {
		t.Errorf("kubelet %+v", k)
	}
	i := slices.IndexFunc(e.PodDirs, func(d kubelet.PodDir) bool { return d.UID == uid })
	if i < 0 {
		t.Fatalf("pod directories %+v", e.PodDirs)
	}
	if d := e.PodDirs[i]; d.HostName != "payroll-7" || len(d.Volumes) != 1 || d.Volumes[0].VolData == nil || d.Volumes[0].VolData.Driver != "nfs.csi.k8s.io" {
		t.Errorf("pod directory %+v", d)
	}
	if !slices.ContainsFunc(e.Pods, func(p kubelet.Pod) bool { return p.Name == "web" && p.Source == "manifest" }) {
		t.Errorf("the static pod is not there: %+v", e.Pods)
	}
	text := readFile(t, o.file(t, ".json"))
	for _, alien := range []string{sick, here.source, nodeName, livePod} {
		if strings.Contains(text, alien) {
			t.Errorf("%q of this machine is in the report about the disk", alien)
		}
	}
	for _, source := range []string{forensics.SourceProcesses, forensics.SourceMounts, forensics.SourceHealth, forensics.SourceKubeletPods} {
		if ids := clean(r, source); len(ids) > 0 {
			t.Errorf("%q are clean without %s", ids, source)
		}
		if got := coverage(t, r, source); got.Status != forensics.SourceAbsent {
			t.Errorf("coverage of %s is %+v, want absent", source, got)
		}
	}
	if n := dead.UnansweredHere(); n != 1 {
		t.Errorf("%d requests wait for this machine's dead mount, want the kubelet's alone", n)
	}
}

func TestADiskThatIsNotThereIsNamed(t *testing.T) {
	if !onNode(t) {
		return
	}
	missing := filepath.Join(t.TempDir(), "missing")
	o := examine(t, exitFailed, "--root", missing)
	if !strings.Contains(o.stderr, missing) || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("want one line that names %s: %q", missing, o.stderr)
	}
	o.report(t) // it says so, too

	file := filepath.Join(t.TempDir(), "image")
	writeTree(t, filepath.Dir(file), map[string]string{"image": "not a directory"})
	if o := examine(t, exitFailed, "--root", file); !strings.Contains(o.stderr, file) {
		t.Errorf("want a line that names %s: %q", file, o.stderr)
	}

	hung := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	hung.Hang()
	r := examine(t, exitFailed, "--root", hung.MountPoint(), "--timeout", "8s").report(t)
	if got := coverage(t, r, forensics.SourcePodDirs); got.Status != forensics.SourceTimeout {
		t.Errorf("coverage of a disk that does not answer: %+v", got)
	}
}
