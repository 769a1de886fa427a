package checks

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

const (
	orphanText = `orphaned pod "` + uid + `" found, but volume paths are still present on disk : There were a total of 3 errors similar to this. Turn up verbosity to see them.`
	plegReason = "PLEG is not healthy: pleg was last seen active 17m41.093128846s ago; threshold is 3m0s"
	plegText   = `skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 8m0.1s ago; threshold is 3m0s]`
	nfsText    = `nfs: server 10.0.0.5 not responding, still trying`
	csiText    = `Operation for "{volumeName:kubernetes.io/csi/nfs.csi.k8s.io^h#1 podName:` + uid + ` nodeName:}" failed. No retries permitted until 2026-11-20 10:04:47 +0000 UTC m=+7.5 (durationBeforeRetry 2m2s). Error: "UnmountVolume.TearDown failed for volume \"data\" (UniqueName: \"kubernetes.io/csi/nfs.csi.k8s.io^h#1\") pod \"` + uid + `\" (UID: \"` + uid + `\") : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name nfs.csi.k8s.io not found in the list of registered CSI drivers"`
	klogAt     = `E1120 10:02:45.000001    2588 file.go:301] `
	// hungDump is a kubelet's housekeeping in a call on a file, as debug=2 writes it.
	hungDump = `goroutine 1 [select, 61 minutes]:
k8s.io/kubernetes/cmd/kubelet/app.run(0xc000aa)
	/go/src/k8s.io/kubernetes/cmd/kubelet/app/server.go:817 +0x1

goroutine 117 [syscall, 46 minutes]:
syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc000cc, 0xc000dd, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)
	/usr/local/go/src/syscall/asm_linux_amd64.s:41 +0x5
os.Stat(0xc002b20d20, 0x60, 0x1, 0x1, 0x0, 0x0)
	/usr/local/go/src/os/stat.go:13 +0x4d
k8s.io/kubernetes/vendor/k8s.io/utils/mount.IsNotMountPoint(0x5, 0x6, 0xc002b20d20, 0x60, 0x0, 0x0, 0x0)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/vendor/k8s.io/utils/mount/mount_helper_common.go:118 +0x54
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).getMountedVolumePathListFromDisk(0xc0006c8000, 0xc000b40900, 0x24, 0x0, 0x0, 0x0, 0x0, 0x0)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_getters.go:356 +0x180
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).cleanupOrphanedPodDirs(0xc0006c8000, 0xc001, 0x1, 0x1, 0xc002, 0x1, 0x1, 0x0, 0x0)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_volumes.go:120 +0x5f4
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups(0xc0006c8000, 0x0, 0x0)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go:1109 +0x6b8
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoopIteration(0xc0006c8000, 0xc0003, 0x4, 0x5, 0xc6, 0xc7, 0xc8, 0x1)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1966 +0x71d
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop(0xc0006c8000, 0xc0003, 0x4, 0x5)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1823 +0x3e0
k8s.io/kubernetes/pkg/kubelet.(*Kubelet).Run(0xc0006c8000, 0xc0003)
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1436 +0x16c
created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet
	/go/src/k8s.io/kubernetes/_output/dockerized/go/src/k8s.io/kubernetes/cmd/kubelet/app/server.go:1184 +0x113
`
)

func prefixed(prefix, text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return prefix + strings.Join(lines, "\n"+prefix) + "\n"
}

func reversed(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Reverse(lines)
	return strings.Join(lines, "\n") + "\n"
}

func wrapped(width int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > width {
			b.WriteString(line[:width] + "\n")
			line = line[width:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// pastedSamples are incidents as people paste them, with the check whose finding is the first root cause; "" is none.
var pastedSamples = []struct{ name, text, root string }{
	{"orphan, klog", klogAt + orphanText, "pod-orphaned"},
	{"orphan, the message alone", orphanText, "pod-orphaned"},
	{"orphan, fenced, with prose", "What happened:\n\nThe kubelet logs this every two seconds:\n```\n" + orphanText + "\n" + orphanText + "\n```\nHow do I get rid of it?\n", "pod-orphaned"},
	{"orphan, a leading backtick", "`" + klogAt + orphanText + "`", "pod-orphaned"},
	{"orphan, quoted mail", "On Friday somebody wrote:\n> " + klogAt + orphanText + "\n> \n> Any idea?\n", "pod-orphaned"},
	{"orphan, a list", "1. restart the node\n2. see\n   - " + klogAt + orphanText + "\n", "pod-orphaned"},
	{"orphan, smart quotes", strings.NewReplacer(`pod "`, "pod “", `" found`, "” found").Replace(klogAt + orphanText), "pod-orphaned"},
	{"orphan, HTML entities", strings.ReplaceAll(klogAt+orphanText, `"`, "&quot;"), "pod-orphaned"},
	{"orphan, no-break spaces", strings.ReplaceAll(klogAt+orphanText, " ", "\u00a0"), "pod-orphaned"},
	{"orphan, wrapped at 80", wrapped(80, klogAt+orphanText), "pod-orphaned"},
	{"orphan, wrapped at 130, journal", wrapped(130, "Nov 20 10:02:45 node-1 kubelet[2588]: "+klogAt+orphanText), "pod-orphaned"},
	{"orphan, journal without a date", "10:02:45 node-1 kubelet[2588]: " + klogAt + orphanText, "pod-orphaned"},
	{"orphan, French journal", "nov. 20 10:02:45 node-1 kubelet[2588]: " + klogAt + orphanText, "pod-orphaned"},
	{"orphan, German journal", "Mär 20 10:02:45 node-1 kubelet[2588]: E0320" + klogAt[5:] + orphanText, "pod-orphaned"},
	{"orphan, Chinese journal", "11月 20 10:02:45 node-1 kubelet[2588]: " + klogAt + orphanText, "pod-orphaned"},
	{"orphan, tabs", prefixed("\t", klogAt+orphanText), "pod-orphaned"},
	{"PLEG, klog", "I1120 10:05:00.000001    2588 kubelet.go:1823] " + plegText, "kubelet-pleg-unhealthy"},
	{"PLEG, the message alone", plegText, "kubelet-pleg-unhealthy"},
	{"PLEG, its reason alone", "PLEG is not healthy: pleg was last seen active 3m2.1s ago; threshold is 3m0s", "kubelet-pleg-unhealthy"},
	{"PLEG, four blanks and prose", "My node goes NotReady and back:\n\n    I1120 10:05:00.000001    2588 kubelet.go:1823] " + plegText + "\n\nDocker 19.03, kernel 3.10.\n", "kubelet-pleg-unhealthy"},
	{"CSI, klog", klogAt + csiText, "csi-driver-missing"},
	{"CSI, the message alone", csiText, "csi-driver-missing"},
	{"CSI, wrapped at 80", wrapped(80, klogAt+csiText), "csi-driver-missing"},
	{"CSI, newest first", reversed("Nov 20 10:00:00 node-1 kubelet[2588]: I1120 10:00:00.000001    2588 server.go:416] Version: v1.17.4\nNov 20 10:02:45 node-1 kubelet[2588]: " + klogAt + csiText), "csi-driver-missing"},
	{"a dump", hungDump, "kubelet-housekeeping-blocked"},
	{"a dump, fenced, with prose", "Here is the dump:\n```\n" + hungDump + "```\nThanks\n", "kubelet-housekeeping-blocked"},
	{"a dump, quoted", prefixed("> ", hungDump), "kubelet-housekeeping-blocked"},
	{"a dump, four blanks", prefixed("    ", hungDump), "kubelet-housekeeping-blocked"},
	{"a dump, with a journal's prefix", prefixed("Nov 20 10:12:31 node-1 kubelet[2588]: ", hungDump), "kubelet-housekeeping-blocked"},
	{"a dump, with a prefix without date", prefixed("10:12:31 node-1 kubelet[2588]: ", hungDump), "kubelet-housekeeping-blocked"},
	{"a dump, newest first", reversed(prefixed("Nov 20 10:12:31 node-1 kubelet[2588]: ", hungDump)), "kubelet-housekeeping-blocked"},
	{"a dump in one line", strings.NewReplacer("\n", " ", "\t", " ").Replace(hungDump), "kubelet-housekeeping-blocked"},
	{"a dump in msg=", `time="2026-11-20T10:12:31Z" level=info msg="` + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(hungDump) + `"`, "kubelet-housekeeping-blocked"},
	{"a dump without its first lines", hungDump[strings.Index(hungDump, "os.Stat("):], "kubelet-housekeeping-blocked"},
	{"a dump with no-break spaces", strings.ReplaceAll(hungDump, " ", "\u00a0"), "kubelet-housekeeping-blocked"},
	{"a dump in CRLF", strings.ReplaceAll(hungDump, "\n", "\r\n"), "kubelet-housekeeping-blocked"},
	{"PLEG, quoted of a condition", "It flaps: `KubeletNotReady   " + plegReason + "`\n", "kubelet-pleg-unhealthy"},
	{"umount, by hand", "umount: /var/lib/kubelet/pods/3b6d0b1c-2f37-4b0b-9f6b-5b3d8d4a7c90/volumes/kubernetes.io~nfs/shared: target is busy.\n", "unmount-busy"},
	// What is no evidence.
	{"PLEG, quoted of a condition, and ready again", "It was `KubeletNotReady   " + plegReason + "`, and after a restart of docker\n`KubeletReady   kubelet is posting ready status`\n", ""},
	{"a condition in prose", "The condition shows KubeletNotReady and PLEG is not healthy when docker is slow. What is PLEG?\n", ""},
	{"umount of other mounts, or of none", "umount: /mnt/data: target is busy.\numount: /var/lib/kubelet/pods/3b6d0b1c-2f37-4b0b-9f6b-5b3d8d4a7c90/volumes/kubernetes.io~nfs/shared: not mounted.\n", ""},
	{"a program that is missing", "Error: failed to start container \"web\": Error response from daemon: OCI runtime create failed: exec: \"serve\": executable file not found in $PATH: unknown\n", ""},
	{"a runtime that answers", `"command failed" err="failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"`, "kubelet-restarting"},
	{"a pod that made room for another", "- lastTransitionTime: \"2023-11-02T01:37:20Z\"\n  message: 'default-scheduler: preempting to accommodate a higher priority pod'\n  reason: PreemptionByScheduler\n  type: DisruptionTarget\n", ""},
	{"PodGC in prose", "The condition DisruptionTarget with `PodGC: node no longer exists` is what the garbage collector sets when it deletes a pod.\n", ""},
	{"prose about PLEG", "When the PLEG is not healthy, the kubelet skips pods. I read that orphaned pod directories are found, but not removed, and that an nfs server not responding is the usual reason.\n", ""},
	{"prose with a full disk", "The old node had no space left on device last week, and then too many open files. This one is fine, nothing is in its log.\n", ""},
	{"a recipe", "# How to debug\n\nRun `journalctl -u kubelet | grep 'PLEG is not healthy'` and look for 'orphaned pod found, but volume paths are still present on disk'.\n", ""},
	{"alert rules", "groups:\n  - alert: Certificate\n    annotations:\n      summary: \"x509: certificate has expired or is not yet valid soon\"\n", ""},
	{"a sentence that begins with a quote", "`x509: certificate has expired or is not yet valid` in its log: look at `openssl x509 -enddate`.\n", ""},
	{"a test run", "=== RUN   TestEviction\nE0114 15:20:52.114502   91822 eviction_manager.go:626] \"Eviction manager: pod failed to evict\" err=\"timeout waiting to kill pod\" pod=\"ns/below\"\n--- PASS: TestEviction (0.00s)\nPASS\n", ""},
	{"an outage of the API server that ended", strings.Repeat("E1120 11:00:05.271590    1310 controller.go:145] \"Failed to ensure lease exists, will retry\" err=\"Get https://10.0.0.1:6443/: dial tcp 10.0.0.1:6443: connect: connection refused\"\n", 3) +
		"I1120 11:00:30.942282    1310 kubelet.go:2441] \"SyncLoop UPDATE\" source=\"api\" pods=[\"a/b\"]\nI1120 11:01:02.625963    1310 kubelet.go:2425] \"SyncLoop ADD\" source=\"api\" pods=[\"a/c\"]\n", ""},
	{"inotify ends the kubelet", "F1120 10:07:44.010203   30214 kubelet.go:1440] Failed to start cAdvisor inotify_add_watch /sys/fs/cgroup/cpu/kubepods: no space left on device\n", "limit-exhausted"},
	{"the watchdog, by the sync loop", strings.Repeat("E1120 10:18:03.602987    1402 watchdog_linux.go:131] \"Do not notify watchdog this iteration as the kubelet is reportedly not healthy\" err=\"checker syncloop failed: sync Loop took longer than expected\"\n", 2), "kubelet-syncloop-stalled"},
	{"source code", "\tklog.ErrorS(err, \"Orphaned pod found, but volumes are not cleaned up\", \"podUID\", uid)\n\tif strings.Contains(msg, \"nfs: server not responding\") {\n\t\treturn errors.New(\"read-only file system\")\n\t}\n", ""},
}

// The counts of TestPasted: an input that is judged wrongly costs more than ten that are missed.
const pastedRight, pastedWrong = 55, 0

// TestPasted judges what people paste. Of an input, the first root cause is looked at: it is right, missing, or wrong.
func TestPasted(t *testing.T) {
	right, missed, wrong := 0, 0, 0
	for _, s := range pastedSamples {
		root := pastedRoot(t, s.text)
		switch root {
		case s.root:
			right++
			continue
		case "":
			missed++
		default:
			wrong++
		}
		t.Logf("%s: %q, want %q", s.name, root, s.root)
	}
	t.Logf("of %d: %d right, %d missed, %d wrong", len(pastedSamples), right, missed, wrong)
	if right < pastedRight || wrong > pastedWrong {
		t.Errorf("%d right, want %d; %d wrong, want at most %d", right, pastedRight, wrong, pastedWrong)
	}
}

// pastedRoot is the check whose finding is the first root cause.
func pastedRoot(t *testing.T, text string) string {
	t.Helper()
	return rootOf(analyzePasted(t, text))
}

// analyzePasted judges a text that somebody has saved on a certain day.
func analyzePasted(t *testing.T, text string) forensics.Analysis {
	t.Helper()
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := read.FSFile(fstest.MapFS{"paste.txt": {Data: []byte(text), ModTime: saved}}, "paste.txt")
	nodes, _ := read.Files(t.Context(), read.Options{Now: saved}, f)
	return forensics.Analyze(&nodes[0], All())
}

// rootOf is the check whose finding is the first root cause, "" without one.
func rootOf(a forensics.Analysis) string {
	if len(a.Diagnoses) == 0 || a.Diagnoses[0].Severity == forensics.Info {
		return ""
	}
	return a.Findings[a.Diagnoses[0].Findings[0]].ID
}
