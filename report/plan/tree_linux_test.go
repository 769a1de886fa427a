package plan

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v3/host"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/report"
)

// UIDs of pods. They are looked for on the whole machine, where other tests may run.
var (
	uidA    = uid("b")
	uidLive = uid("a")
)

// someUID is all of a UID but its first digit.
var someUID = fmt.Sprintf("%07x-%04x-%04x-%04x-%012x", rand.Uint32()>>4, rand.Uint32()>>16, rand.Uint32()>>16, rand.Uint32()>>16, rand.Uint64()>>16)

// uid makes the UID of a pod from its first digit.
func uid(first string) string { return first + someUID }

// A tree is the root directory of a kubelet with pods that are gone, below a directory of the test.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(shortDir(t))
	must(t, err)
	tr := tree{t, filepath.Join(root, "kubelet")}
	tr.write(uidLive, "volumes/kubernetes.io~empty-dir/cache/data", "in use")
	return tr
}

// shortDir is a directory of the test, without the test's name, which is no name that a kubelet's root has.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plan")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func (tr tree) pod(uid string) string { return filepath.Join(tr.root, "pods", uid) }

// write makes a file below a pod's directory, or a directory if the name ends in a slash.
func (tr tree) write(uid, name, text string) string {
	tr.t.Helper()
	full := filepath.Join(tr.pod(uid), name)
	if strings.HasSuffix(name, "/") {
		must(tr.t, os.MkdirAll(full, 0o750))
		return full
	}
	must(tr.t, os.MkdirAll(filepath.Dir(full), 0o750))
	must(tr.t, os.WriteFile(full, []byte(text), 0o640))
	return full
}

// mount mounts below a pod's directory.
func (tr tree) mount(uid, name, source, fstype string, flags uintptr) string {
	tr.t.Helper()
	full := filepath.Join(tr.pod(uid), name)
	if _, err := os.Lstat(full); err != nil {
		must(tr.t, os.MkdirAll(full, 0o750))
	}
	tr.mountAt(full, source, fstype, flags)
	return full
}

func (tr tree) mountAt(full, source, fstype string, flags uintptr) {
	tr.t.Helper()
	must(tr.t, unix.Mount(source, full, fstype, flags, ""))
	tr.t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) }) // most are gone by then
}

// disk makes an ext4 file system in a file, mounts it below a pod's directory and writes to it.
func (tr tree) disk(uid, name string) string {
	tr.t.Helper()
	image := filepath.Join(tr.t.TempDir(), "image")
	must(tr.t, os.WriteFile(image, nil, 0o600))
	must(tr.t, os.Truncate(image, 4<<20))
	run(tr.t, "mkfs.ext4", "-q", image)
	full := tr.write(uid, name+"/", "")
	run(tr.t, "mount", "-o", "loop", image, full)
	full = filepath.Clean(full)
	tr.t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	return full
}

// report examines the tree, with a kubelet of a version that lists the live pod.
func (tr tree) report(version string) report.Report {
	tr.t.Helper()
	fsys, err := hostfs.Open("/")
	must(tr.t, err)
	defer func() { _ = fsys.Close() }()
	e := forensics.NewEvidence()
	e.Root, e.Collected = "/", time.Now().UTC().Add(time.Minute) // so that a change of the test is not taken for one of the kubelet
	e.Node.Name, err = os.Hostname()
	must(tr.t, err)
	seconds, err := host.BootTime()
	must(tr.t, err)
	boot := time.Unix(int64(seconds), 0)
	e.Node.Boot = &boot
	e.Mounts, err = mountslive.Read(tr.t.Context(), fsys, os.Getpid())
	must(tr.t, err)
	e.PodDirs, err = kubeletlive.Walk(tr.t.Context(), fsys, e.Mounts.Index(), tr.root, kubeletlive.WalkOptions{})
	must(tr.t, err)
	e.Collector.HungAfterSeconds = 1
	e.Probes = mountslive.Check(tr.t.Context(), e.Mounts.Index(), tr.mounted(e.Mounts), mountslive.CheckOptions{HungAfter: time.Second})
	e.Kubelet = &kubelet.Instance{PID: 1, Version: version, RootDir: tr.root, CanonicalRoot: tr.root}
	e.Pods = []kubelet.Pod{{UID: uidLive, Namespace: "default", Name: "web", Source: "kubelet"}}
	for _, source := range []string{
		forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceKubeletPods, forensics.SourcePodDirs, forensics.SourceCgroups,
	} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	return report.New(report.Tool{Name: "test"}, e, forensics.Analysis{})
}

// mounted are the mounts below the tree.
func (tr tree) mounted(table mounts.Table) []mounts.Mount {
	return slices.DeleteFunc(slices.Clone(table.Mounts), func(m mounts.Mount) bool { return !strings.HasPrefix(m.MountPoint, tr.root+"/") })
}

// podList is a file with the pods that exist.
func (tr tree) podList(uids ...string) string {
	tr.t.Helper()
	text := `{"kind":"PodList","items":[`
	for i, uid := range uids {
		if i > 0 {
			text += ","
		}
		text += `{"metadata":{"uid":"` + uid + `"}}`
	}
	name := filepath.Join(tr.t.TempDir(), "pods.json")
	must(tr.t, os.WriteFile(name, []byte(text+"]}\n"), 0o600))
	return name
}

// run runs a script with the kubelet's root and a list of the pod that lives, and returns what it printed, and its exit status.
func (tr tree) run(script []byte, args ...string) (string, int) {
	tr.t.Helper()
	return tr.start(script, append([]string{"--kubelet-root", tr.root, "--pods", tr.podList(uidLive)}, args...)...)
}

// start runs a script with nothing but its directory for copies.
func (tr tree) start(script []byte, args ...string) (string, int) {
	tr.t.Helper()
	dir := tr.t.TempDir()
	name := filepath.Join(dir, "plan.sh")
	must(tr.t, os.WriteFile(name, script, 0o600))
	cmd := exec.Command("sh", append([]string{name, "--aside", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		tr.t.Fatal(err)
	}
	tr.t.Logf("%s\n%s", strings.Join(args, " "), out)
	return string(out), cmd.ProcessState.ExitCode()
}

// shellcheck holds a script to having nothing that shellcheck finds.
func shellcheck(t *testing.T, script []byte) {
	t.Helper()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("shellcheck", "-")
	cmd.Stdin = bytes.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}

func plan(t *testing.T, r report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, Script(&b, &r.Evidence))
	return b.Bytes()
}

// sums are the checksums of all files below a directory, on all its mounts, with what each of them is.
func sums(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(name)
			all[name] = fmt.Sprintf("%x", sha256.Sum256(text))
			return err
		}
		all[name] = d.Type().String()
		return nil
	}))
	return all
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
