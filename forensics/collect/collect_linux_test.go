package collect_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// writeTree makes files below a new directory. A content that begins with "-> " makes a symbolic link.
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	deadPod = "5c948341-c030-4996-b888-f032577d97b0"
	livePod = "2fa11937-efab-40db-8527-8b553e1ceebb"
)

const fakeVolumes = "var/lib/kubelet/pods/" + deadPod + "/volumes/"

// fakeDisk is the disk of a node with a kubelet.
func fakeDisk(t testing.TB) string {
	t.Helper()
	return writeTree(t, map[string]string{
		"etc/hostname":                                                          "node-3.example\n",
		"etc/os-release":                                                        "NAME=x\nPRETTY_NAME='Bottle \"OS\" 1'\n",
		"etc/systemd/system/kubelet.service":                                    "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --token=hunter2\n",
		"etc/kubernetes/kubelet.yaml":                                           "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nstaticPodPath: /etc/kubernetes/manifests\n",
		"etc/kubernetes/manifests/web.yaml":                                     "kind: Pod\nmetadata: {name: web, namespace: prod, uid: " + livePod + "}\n",
		fakeVolumes + "kubernetes.io~csi/pvc-1/vol_data.json":                   `{"driverName":"nfs.csi.k8s.io"}`,
		"var/log/pods/prod_web-0_" + deadPod + "/app/0.log":                     "hello\n",
		"var/lib/kubelet/pods/" + livePod + "/containers/app/ab12":              "",
		"var/lib/kubelet/pods/" + livePod + "/volumes/kubernetes.io~nfs/n/leak": "-> /etc/shadow",
	})
}

func TestCollectReadsTheDiskOfAnotherNode(t *testing.T) {
	root := fakeDisk(t)
	e, err := collect.Collect(t.Context(), collect.Options{Root: root, Version: "1.2.3", Command: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Schema != forensics.EvidenceSchema || e.Root != root || e.Collected.IsZero() || e.Collected.Location() != time.UTC {
		t.Errorf("schema %q, root %q, collected %v", e.Schema, e.Root, e.Collected)
	}
	if e.Node.Name != "node-3.example" || e.Node.OS != `Bottle "OS" 1` || e.Node.Kernel != "" {
		t.Errorf("node %+v, want what is on the disk alone", e.Node)
	}
	if e.Kubelet == nil || e.Kubelet.PID != 0 || e.Kubelet.Expected == "" || e.Kubelet.StaticPodPath != "/etc/kubernetes/manifests" {
		t.Errorf("kubelet %+v", e.Kubelet)
	}
	var uids []string
	for _, d := range e.PodDirs {
		uids = append(uids, d.UID)
	}
	slices.Sort(uids)
	if diff := cmp.Diff([]string{livePod, deadPod}, uids); diff != "" {
		t.Errorf("pod directories (-want +got):\n%s", diff)
	}
	for _, want := range []kubelet.Pod{
		{UID: livePod, Namespace: "prod", Name: "web", Source: "manifest", Kind: "static"}, {UID: deadPod, Namespace: "prod", Name: "web-0", Source: "log-dir"},
	} {
		if !slices.ContainsFunc(e.Pods, func(p kubelet.Pod) bool { return cmp.Equal(p, want) }) {
			t.Errorf("pod %+v is not among %+v", want, e.Pods)
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Error("the token of the unit file is in the evidence")
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("an array is null: %s", text)
	}
}

// TestCollectTellsEverySource: a source that was not read is listed, with a reason.
// A dump of the API is a source with a size, as a log is.
func TestCollectReadsADumpOfTheAPI(t *testing.T) {
	const dump = `{"kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop", "uid": "` + livePod + `"}}`
	name := filepath.Join(writeTree(t, map[string]string{"pods.json": dump}), "pods.json")
	e, err := collect.Collect(t.Context(), collect.Options{Root: fakeDisk(t), APIDumps: []string{name}})
	if err != nil || e.Cluster == nil || len(e.Cluster.Pods) != 1 {
		t.Fatalf("%v: %+v, want one pod", err, e.Cluster)
	}
	i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceAPIDump+":"+name })
	if i < 0 || e.Coverage[i].Status != forensics.SourceRead || e.Coverage[i].Bytes != int64(len(dump)) {
		t.Errorf("coverage %+v, want %s of %d bytes", e.Coverage, name, len(dump))
	}
}

// A file in which no object is found was read and not understood, in the word that reports have for it.
func TestCollectReadsNoDumpOfTheAPI(t *testing.T) {
	name := filepath.Join(writeTree(t, map[string]string{"notes.txt": "nothing but words\n"}), "notes.txt")
	e, err := collect.Collect(t.Context(), collect.Options{Root: fakeDisk(t), APIDumps: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceAPIDump+":"+name })
	if i < 0 || e.Coverage[i].Status != "malformed" || e.Coverage[i].Detail == "" || e.Cluster != nil {
		t.Errorf("coverage %+v, want a malformed %s, with the reason", e.Coverage, name)
	}
}

// A file that stays open keeps its file system from being unmounted, also by a program that goes on after
// it has collected. The root stays open, since a call that was left behind may still ask below it.
func TestCollectLeavesNothingOpen(t *testing.T) {
	root := fakeDisk(t)
	if _, err := collect.Collect(t.Context(), collect.Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if target, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && strings.HasPrefix(target, root+"/") {
			t.Errorf("%s is open", target)
		}
	}
}

func TestCollectLooksForTheKubelet(t *testing.T) {
	for root, want := range map[string]forensics.SourceStatus{fakeDisk(t): forensics.SourceRead, t.TempDir(): forensics.SourceAbsent} {
		e, err := collect.Collect(t.Context(), collect.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceKubelet })
		if found := want == forensics.SourceRead; i < 0 || e.Coverage[i].Status != want || (e.Kubelet != nil) != found || (e.Coverage[i].Detail == "") != found {
			t.Errorf("kubelet %+v, coverage %+v; want it %s, with a reason if it is not read", e.Kubelet, e.Coverage, want)
		}
	}
}

func TestCollectTellsEverySource(t *testing.T) {
	for name, root := range map[string]string{"a node's disk": fakeDisk(t), "an empty disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			e, err := collect.Collect(t.Context(), collect.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range []string{
				forensics.SourceNode, forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceHealth,
				forensics.SourceKubelet, forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics,
				forensics.SourceGoroutines, forensics.SourcePodDirs, forensics.SourceStaticPods, forensics.SourceCgroups, forensics.SourcePodLogs,
			} {
				i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source })
				if i < 0 {
					t.Errorf("nothing is said about %s", source)
				} else if s := e.Coverage[i]; s.Status == "" || !s.Status.Usable() && s.Detail == "" {
					t.Errorf("%+v: no status or no reason", s)
				}
			}
		})
	}
}

func TestCollectEmitsWhatItReturns(t *testing.T) {
	var mu sync.Mutex
	merged := forensics.NewEvidence()
	e, err := collect.Collect(t.Context(), collect.Options{Root: fakeDisk(t), RedactKey: []byte("k"), Emit: func(part forensics.Evidence) {
		mu.Lock()
		defer mu.Unlock()
		text, err := json.Marshal(part) // as the command sends it
		if err != nil {
			t.Error(err)
		}
		var got forensics.Evidence
		if err := json.Unmarshal(text, &got); err != nil {
			t.Error(err)
		}
		merged.Merge(got)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, merged); diff != "" {
		t.Errorf("(-returned +emitted):\n%s", diff)
	}
}

func TestCollectWithoutARootIsAnError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	e, err := collect.Collect(t.Context(), collect.Options{Root: missing})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v, want one that names %s", err, missing)
	}
	if e.Schema != forensics.EvidenceSchema || e.Coverage == nil {
		t.Errorf("evidence %+v, want an empty one", e)
	}
}

func TestCollectThatIsCancelledSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	e, err := collect.Collect(ctx, collect.Options{Root: fakeDisk(t), Emit: func(forensics.Evidence) { once.Do(cancel) }})
	if err != nil {
		t.Fatal(err)
	}
	if e.Collector.Interrupted == "" {
		t.Errorf("collector %+v, want it to say that it was interrupted", e.Collector)
	}
	for _, s := range e.Coverage {
		if s.Status == forensics.SourceRead {
			t.Errorf("%+v, though there was no time", s)
		}
	}
}

// TestCollectOnThisMachine probes nothing: what is mounted here may be dead, and this process must be able to end.
func TestCollectOnThisMachine(t *testing.T) {
	t.Parallel()
	var progress []string
	e, err := collect.Collect(t.Context(), collect.Options{NoProbe: true, Progress: func(s string) { progress = append(progress, s) }})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Processes, func(p procs.Process) bool { return p.PID == os.Getpid() })
	if i < 0 {
		t.Fatal("this process is not among the processes")
	}
	if got := e.Processes[i].Command; len(got) == 0 || !strings.HasSuffix(got[0], ".test") {
		t.Errorf("command %q", got)
	}
	if len(e.Mounts.Mounts) == 0 || e.Node.Name == "" || e.Node.Kernel == "" || e.Node.Boot == nil || e.Node.MemoryBytes == 0 {
		t.Errorf("%d mounts, node %+v", len(e.Mounts.Mounts), e.Node)
	}
	i = 0
	for _, said := range progress { // others may be said between them
		if steps := []string{"reading mounts and processes", "looking for the kubelet", "reading pod directories", "probing mounts", "looking for open files on mounts", ""}; said == steps[i] {
			i++
		}
	}
	if i != 5 {
		t.Errorf("told %q, of which %d steps are in their order", progress, i)
	}
	// Calls may be outstanding: another test may have a kubelet with a dead disk here.
	if got := e.Collector; got.PID != os.Getpid() || got.PeakBytes == 0 || got.Interrupted != "" {
		t.Errorf("collector %+v", got)
	}
	for _, h := range forensics.NewModel(&e).MountHealth() {
		if h.Method == "probe" {
			t.Errorf("%s was probed", h.MountPoint)
		}
	}
}

// TestCollectReadsTheRuntimeOfAnotherNode has a dead CRI-O: all pods, sandboxes and containers are named, by files alone.
func TestCollectReadsTheRuntimeOfAnotherNode(t *testing.T) {
	root := fakeDisk(t)
	if err := os.CopyFS(root, os.DirFS("../runtimes/live/testdata/cri-o")); err != nil {
		t.Fatal(err)
	}
	e, err := collect.Collect(t.Context(), collect.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]forensics.SourceStatus{
		forensics.SourceRuntime: forensics.SourceRead, forensics.SourceRuntimeAnswer: forensics.SourceAbsent,
	} {
		if !slices.ContainsFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source && s.Status == want }) {
			t.Errorf("coverage of %s is not %s: %+v", source, want, e.Coverage)
		}
	}
	if len(e.Runtimes) != 1 || len(e.Sandboxes) != 2 || len(e.Containers) != 2 || len(e.Images) != 2 {
		t.Errorf("%d runtimes, %d sandboxes, %d containers, %d images", len(e.Runtimes), len(e.Sandboxes), len(e.Containers), len(e.Images))
	}
	var pods []string
	for _, p := range e.Pods {
		if p.Source == "runtime" {
			pods = append(pods, p.Namespace+"/"+p.Name+" "+p.Kind)
		}
	}
	slices.Sort(pods)
	if diff := cmp.Diff([]string{"kube-system/kube-apiserver-n1 static", "prod/web-6f7d "}, pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Error("a secret is in the evidence")
	}
}
