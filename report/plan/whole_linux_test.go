package plan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// everything builds pods that are gone with leftovers of all classes, and returns where the disk of one was mounted.
func everything(tr tree) string {
	tr.write(uid("0"), csi+"/vol_data.json", volData)
	tr.write(uid("0"), csi+"/mount/", "")
	tr.write(uid("1"), nfs+"/", "")
	tr.write(uid("2"), nfs+"/db/file", "precious 2")
	tr.write(uid("2"), csi+"/vol_data.json", volData)
	tr.write(uid("3"), sub, "")
	tr.write(uid("3"), "volume-subpaths/conf/app/1", "precious 3")
	tr.write(uid("3"), "volume-subpaths/conf/app/2/file", "precious 3")
	source := tr.write(uidLive, "volumes/kubernetes.io~configmap/conf/key", "value")
	tr.write(uid("4"), sub, "")
	tr.mount(uid("4"), sub, source, "", unix.MS_BIND)
	tr.write(uid("5"), "volumeDevices/kubernetes.io~csi/pvc-2", "")
	tr.mount(uid("5"), "volumeDevices/kubernetes.io~csi/pvc-2", "/dev/null", "", unix.MS_BIND)
	tr.write(uid("6"), "etc-hosts", "")
	tr.write(uid("6"), "containers/app/91b98d9e", "")
	tr.mount(uid("7"), "volumes/kubernetes.io~empty-dir/m", "tmpfs", "tmpfs", 0)
	tr.write(uid("7"), "volumes/kubernetes.io~empty-dir/m/file", "precious 7")
	tr.write(uid("8"), "volumes/stray", "precious 8")
	disk := tr.disk(uid("9"), csi+"/mount")
	tr.write(uid("9"), csi+"/mount/file", "precious 9")
	tr.write(uid("9"), csi+"/vol_data.json", volData)
	return disk
}

// TestScriptLosesNothing runs the script over leftovers of all classes at once: what is safe is removed, the rest is
// refused with the reason, and every file with something in it is still there, byte for byte.
func TestScriptLosesNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, version := range []string{"1.17.4", "1.34.4", ""} {
		t.Run("kubelet "+version, func(t *testing.T) {
			tr := newTree(t)
			disk := everything(tr)
			device := backing(t, disk)
			before := sums(t, tr.root)
			script := plan(t, tr.report(version))
			shellcheck(t, script)
			out, status := tr.run(script, "--apply")
			if status != 3 {
				t.Errorf("exit status %d; want 3", status)
			}
			for _, says := range []string{
				"refused", "done", "umount -c " + disk, "it has 1 file, 10 bytes", "it is in memory only",
				"remove vol_data.json and the empty directories of " + filepath.Dir(disk),
			} {
				if !strings.Contains(out, says) {
					t.Errorf("it does not say %q", says)
				}
			}
			for _, name := range []string{csi + "/vol_data.json", csi + "/mount", csi} {
				if _, err := os.Lstat(filepath.Join(tr.pod(uid("0")), name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
			// What was unmounted is mounted elsewhere, to see whether all is still in it.
			again := filepath.Join(t.TempDir(), "again")
			must(t, os.Mkdir(again, 0o755))
			tr.mountAt(again, device, "ext4", 0)
			after := sums(t, tr.root)
			for name, sum := range sums(t, again) {
				after[strings.Replace(name, again, disk, 1)] = sum
			}
			for name, hash := range before {
				if name == filepath.Join(tr.pod(uid("4")), sub) {
					name = filepath.Join(tr.pod(uidLive), "volumes/kubernetes.io~configmap/conf/key") // what was mounted there
				}
				if filepath.Base(name) != "vol_data.json" && len(hash) == 64 && hash != emptySum && after[name] != hash {
					t.Errorf("%s was changed or is lost", name)
				}
			}
			copies, err := filepath.Glob(filepath.Join(aside(out), uid("0"), "*", "vol_data.json"))
			must(t, err)
			if len(copies) != 1 {
				t.Fatalf("copies of vol_data.json: %v", copies)
			}
			if text, err := os.ReadFile(copies[0]); err != nil || string(text) != volData {
				t.Errorf("the copy of vol_data.json is %q, %v", text, err)
			}
		})
	}
}

// emptySum is the checksum of a file in which nothing is.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// aside is where the script says that it keeps copies.
func aside(out string) string {
	for line := range strings.Lines(out) {
		if dir, ok := strings.CutPrefix(line, "Copies and notes: "); ok {
			return strings.TrimSpace(dir)
		}
	}
	return ""
}

// backing is the device that is mounted on a path. It stays there after the unmount: the loop device is held open.
func backing(t *testing.T, point string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[4] == point {
			device := fields[slices.Index(fields, "-")+2]
			file, err := os.Open(device) // keeps an automatic loop device from going with its mount
			must(t, err)
			t.Cleanup(func() { _ = file.Close() })
			return device
		}
	}
	t.Fatalf("%s is not mounted", point)
	return ""
}

func TestScriptMovesData(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/db/file", "precious")
	must(t, os.Symlink("/etc", filepath.Join(tr.pod(uidA), nfs, "link")))
	script := plan(t, tr.report("1.34.4"))
	to := filepath.Join(filepath.Dir(tr.root), "left")
	must(t, os.Mkdir(to, 0o700))

	other := filepath.Join(t.TempDir(), "other")
	must(t, os.Mkdir(other, 0o700))
	tr.mountAt(other, "tmpfs", "tmpfs", 0)
	if out, status := tr.run(script, "--apply", "--move-data", other); status != 2 || !strings.Contains(out, "is on another mount") {
		t.Errorf("exit status %d; want a refusal to copy", status)
	}
	bind := filepath.Join(t.TempDir(), "bind")
	must(t, os.Mkdir(bind, 0o700))
	bindSelf(tr, bind) // the same file system, and yet rename(2) would answer EXDEV
	if out, status := tr.run(script, "--apply", "--move-data", bind); status != 2 || !strings.Contains(out, "is on another mount") {
		t.Errorf("exit status %d; want a refusal to copy", status)
	}
	if _, status := tr.run(script, "--move-data", to); status != 0 {
		t.Errorf("dry run: exit status %d", status)
	}
	before := sums(t, filepath.Join(tr.pod(uidA), nfs))
	if _, status := tr.run(script, "--apply", "--move-data", to); status != 0 {
		t.Errorf("exit status %d; want 0", status)
	}
	moved, err := filepath.Glob(filepath.Join(to, uidA+".*", "data"))
	must(t, err)
	if len(moved) != 1 {
		t.Fatalf("moved to %v", moved)
	}
	after := map[string]string{}
	for name, sum := range sums(t, moved[0]) {
		after[strings.Replace(name, moved[0], filepath.Join(tr.pod(uidA), nfs), 1)] = sum
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("moved data (-before +after):\n%s", diff)
	}
}

// hostileNames are names of volumes that a shell, awk, find, printf or a terminal could take for something else.
var hostileNames = []string{
	"a b", "a\nb", "ends with newline\n", "'; touch CANARY; '", "$(touch CANARY)", "`touch CANARY`", `"; touch CANARY; "`, "-rf", "--help", "\x1b]0;x\x07\x1b[2J",
	`back\slash`, `\n\040`, "*", "?[a]", "%s%n", "\u202egnp", "tab\t", "\r", "a;b|c&d>e", "~", "#", "!x", "=", "{a,b}",
}

// TestScriptHostileNames has names that no kubelet makes: nothing is done about them, and nothing of them is executed.
func TestScriptHostileNames(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	for _, name := range hostileNames {
		tr.write(uidA, "volumes/kubernetes.io~nfs/"+name+"/", "")
		tr.write(uidA, "volumes/kubernetes.io~csi/"+name+"/vol_data.json", volData)
	}
	for i, name := range hostileNames[:4] {
		tr.disk(uid(string(rune('0'+i))), "volumes/kubernetes.io~nfs/"+name)
	}
	script := plan(t, tr.report("1.17.4"))
	shellcheck(t, script)
	if i := bytes.IndexFunc(script, func(r rune) bool { return r >= 0x7f || r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("the script holds %q", script[i:i+10])
	}
	work := t.TempDir()
	t.Chdir(work)
	before := sums(t, tr.root)
	out, status := tr.run(script, "--apply")
	if status != 3 || strings.Contains(out, "done  ") || strings.ContainsFunc(out, func(r rune) bool { return r >= 0x7f || r < ' ' && r != '\n' }) {
		t.Errorf("exit status %d, or raw names in the output", status)
	}
	if diff := cmp.Diff(before, sums(t, tr.root)); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("a name was executed: %v, %v", left, err)
	}
}

// TestScriptDoesNotTouchDeadMounts has a mount that stopped answering in a pod that is cleaned up otherwise.
func TestScriptDoesNotTouchDeadMounts(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	dead := testfuse.Mount(t, tr.write(uidA, nfs+"/", ""), testfuse.Options{})
	tr.write(uidA, csi+"/vol_data.json", volData)
	dead.Hang()
	r := tr.report("1.34.4")
	before := dead.Waiting() // by the report
	out, status := tr.run(plan(t, r), "--apply")
	if status != 3 || !strings.Contains(out, "its file system is not healthy (hung)") || !strings.Contains(out, "done") {
		t.Errorf("exit status %d; want that the dead mount is refused, and the other volume done", status)
	}
	if n := dead.Waiting(); n != before {
		t.Errorf("%d requests wait, %d before: the dead mount was touched", n, before)
	}
	must(t, unix.Unmount(dead.MountPoint(), unix.MNT_DETACH)) // as the report's other steps do
	out, status = tr.run(plan(t, r), "--apply")
	if status != 0 || strings.Contains(out, "refused ") || !strings.Contains(out, "it is no longer mounted here") {
		t.Errorf("exit status %d; want that nothing is refused for a mount that is gone", status)
	}
}

// TestScriptRefuses has reports from which nothing may be concluded.
func TestScriptRefuses(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, tc := range map[string]struct {
		change func(r *report.Report)
		status int
		says   string
	}{
		"another node":             {func(r *report.Report) { r.Evidence.Node.Name = "other" }, 2, "the report is of node other"},
		"an empty list of pods":    {func(r *report.Report) { r.Evidence.Pods = nil }, 3, "2 pod directories cannot be distinguished from those of live pods"},
		"no list of pods":          {func(r *report.Report) { r.Evidence.Coverage = r.Evidence.Coverage[:2] }, 3, "cannot be distinguished"},
		"directories not read":     {func(r *report.Report) { r.Evidence.PodDirs, r.Evidence.Coverage = nil, nil }, 3, "pod directories were not collected"},
		"part of a directory":      {func(r *report.Report) { r.Evidence.PodDirs[1].Error = "cut" }, 3, "it was not read completely"},
		"no UID":                   {func(r *report.Report) { r.Evidence.PodDirs[1].UID = ".." }, 3, "is not the UID of a pod"},
		"path of something else":   {func(r *report.Report) { r.Evidence.PodDirs[1].Volumes[0].Path = "/etc" }, 3, "a kubelet creates nothing like this here"},
		"path that leads up":       {func(r *report.Report) { r.Evidence.PodDirs[1].Volumes[0].Path += "/../../../.." }, 3, "a kubelet creates nothing like this here"},
		"bytes that are escapes":   {func(r *report.Report) { r.Evidence.PodDirs[1].Volumes[0].Path += `\xff` }, 3, "a kubelet creates nothing like this here"},
		"bytes that JSON lost":     {func(r *report.Report) { r.Evidence.PodDirs[1].Volumes[0].Path += "\ufffd" }, 3, "a kubelet creates nothing like this here"},
		"a kubelet that remembers": {remembers, 3, "only a restart of the kubelet removes it"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidA, nfs+"/", "")
			r := tr.report("1.17.4")
			slices.SortFunc(r.Evidence.PodDirs, func(a, b kubelet.PodDir) int { return strings.Compare(a.UID, b.UID) }) // the live one first
			tc.change(&r)
			script := plan(t, r)
			before := sums(t, tr.root)
			out, status := tr.run(script, "--apply")
			if status != tc.status || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d; want %d and %q", status, tc.status, tc.says)
			}
			if diff := cmp.Diff(before, sums(t, tr.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// remembers is a kubelet that believes that a volume is mounted.
func remembers(r *report.Report) {
	k := r.Evidence.Kubelet
	k.Version, k.Endpoints = "1.34.4", []kubelet.Endpoint{{URL: "x", Status: "ok", Passed: []string{"syncloop"}}}
	for i := range r.Evidence.PodDirs {
		long := r.Evidence.Collected.Add(-24 * time.Hour)
		r.Evidence.PodDirs[i].Changed = &long
	}
}

// TestScriptIsWhole makes sure that of a script that was cut nothing runs.
func TestScriptIsWhole(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	for _, cut := range []int{5, 40, 200, bytes.Index(script, []byte("step remove-dir")) + 16} {
		if cut < 200 {
			cut = len(script) - cut
		}
		if out, status := tr.run(script[:cut], "--apply"); strings.Contains(out, "done  ") {
			t.Errorf("%d of %d bytes ran, exit status %d", cut, len(script), status)
		}
	}
	if _, err := os.Lstat(filepath.Join(tr.pod(uidA), nfs)); err != nil {
		t.Error(err)
	}
}

// TestScriptOptions holds wrong options to doing nothing.
func TestScriptOptions(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	script := plan(t, tr.report("1.17.4"))
	for _, args := range [][]string{{"--force"}, {"--move-data"}, {"--move-data", "/nowhere"}, {"apply"}} {
		if _, status := tr.run(script, args...); status != 2 {
			t.Errorf("%v: exit status %d; want 2", args, status)
		}
	}
	if out, status := tr.run(script, "--help"); status != 0 || !strings.Contains(out, "--move-data DIR") {
		t.Errorf("--help: exit status %d", status)
	}
}

// TestScriptShells runs the script in every shell that is here.
func TestScriptShells(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/db\n/", "")
	tr.write(uidA, csi+"/vol_data.json", volData)
	name := filepath.Join(t.TempDir(), "plan.sh")
	must(t, os.WriteFile(name, plan(t, tr.report("1.17.4")), 0o600))
	pods := tr.podList(uidLive)
	var first string
	for _, shell := range [][]string{{"sh"}, {"bash", "--posix"}, {"bash"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		out, err := exec.Command(shell[0], append(shell[1:], name, "--kubelet-root", tr.root, "--pods", pods)...).CombinedOutput()
		if first == "" {
			first = string(out)
		}
		if string(out) != first || !strings.Contains(first, "would") {
			t.Errorf("%v: %v\n%s\nwant\n%s", shell, err, out, first)
		}
	}
}

// TestScriptStaticPod has a pod whose UID comes back with its manifest: only a list of pods tells whether it is gone.
func TestScriptStaticPod(t *testing.T) {
	if !alone(t) {
		return
	}
	static := strings.ReplaceAll(uid("c"), "-", "")
	for name, tc := range map[string]struct {
		listed []string
		status int
	}{
		"no list":                  {nil, 3},
		"the list has another pod": {[]string{uidLive}, 0},
		"the list has it, by its own id or as config.hash of its mirror pod": {[]string{uidLive, static}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(static, nfs+"/", "")
			args := []string{"--kubelet-root", tr.root, "--apply"}
			if tc.listed != nil {
				args = append(args, "--pods", tr.podList(tc.listed...))
			}
			if _, status := tr.start(plan(t, tr.report("1.17.4")), args...); status != tc.status {
				t.Errorf("exit status %d; want %d", status, tc.status)
			}
			if _, err := os.Lstat(filepath.Join(tr.pod(static), nfs)); (err != nil) != (tc.status == 0) {
				t.Errorf("directory: %v", err)
			}
		})
	}
}
