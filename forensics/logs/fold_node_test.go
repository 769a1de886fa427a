package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/errno"
)

// kp is a line of another process, or of another day.
func kp(pid int, stamp, source, message string) string {
	return fmt.Sprintf("I%s %7d %s:1] %s", stamp, pid, source, message)
}

func TestLives(t *testing.T) {
	f := newFolder()
	foldInto(f, "kubelet.log", "kubelet",
		kp(100, "1120 09:00:00.000000", "kubelet.go", `"SyncLoop ADD" source="api" pods=["default/web-0"]`),
		kp(100, "1120 09:30:00.000000", "kubelet.go", `"SyncLoop (housekeeping)"`),
		// Killed by the OOM killer, restarted by systemd.
		kp(200, "1120 09:30:11.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.4"`),
		kp(200, "1120 09:30:12.000000", "fs.go", `Filesystem UUIDs: map[]`),
		"E1120 09:30:13.000000     200 run.go:72] \"command failed\" err=\"failed to run Kubelet: x\"",
		// The third one has the same PID as the second, as in a container.
		kp(200, "1120 09:40:00.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.5"`),
		kp(200, "1120 09:40:01.000000", "server.go", `"Started kubelet"`),
		kp(200, "1120 09:40:02.000000", "kubelet.go", `"Starting kubelet main sync loop"`))
	foldInto(f, "kern.log", "kernel",
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/kubelet.service,task=kubelet,pid=100,uid=0")
	s := f.story(nil)
	if len(s.Lives) != 3 {
		t.Fatalf("%d lives, want 3: %+v", len(s.Lives), s.Lives)
	}
	for i, want := range []Life{
		{PID: 100, Verbosity: 4, End: EndOOM},
		{PID: 200, Version: "v1.34.4", Stage: StartCAdvisor, End: EndFatal},
		{PID: 200, Version: "v1.34.5", Stage: StartSyncLoop, End: EndRunning},
	} {
		got := s.Lives[i]
		if got.PID != want.PID || got.Version != want.Version || got.Verbosity != want.Verbosity || got.Stage != want.Stage {
			t.Errorf("life %d: %+v, want %+v", i, got, want)
		}
		if got.End != want.End { // the kernel's line has no time, but the PID
			t.Errorf("life %d ended by %q, want %q", i, got.End, want.End)
		}
	}
	if s.Lives[0].Started != nil || s.Lives[1].Started == nil {
		t.Error("the first life began before the log, the second within it")
	}
}

// TestFatalErrorIsNoPanic: klog prints all goroutines after an F line (pasted-evidence, rule 4).
func TestFatalErrorIsNoPanic(t *testing.T) {
	journal := func(s string) string { return "Nov 20 09:30:05 n kubelet[100]: " + s }
	stack := journal("goroutine 1 [running]:")
	fatal := journal("F1120 09:30:05.000000     100 server.go:273] failed to run Kubelet: Running with swap on is not supported")
	crash := journal("panic: runtime error: index out of range")
	signal := journal("SIGABRT: abort")
	next := kp(200, "1120 09:30:20.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.4"`)
	for want, lines := range map[End][]string{EndFatal: {fatal, stack, next}, EndPanic: {crash, stack, next}, EndSignal: {signal, stack, next}} {
		s := fold("", lines...)
		if len(s.Lives) != 2 || s.Lives[0].End != want {
			t.Errorf("want %q: %+v", want, s.Lives)
		}
	}
	s := fold("", fatal, stack, next, journal("panic: runtime error: index out of range"), stack)
	if len(s.Lives) == 0 || !strings.Contains(fmt.Sprint(s.Lives), string(EndPanic)) {
		t.Errorf("a panic of a later life is not seen: %+v", s.Lives)
	}
}

func TestEndsOfLives(t *testing.T) {
	first := kp(100, "1120 09:30:00.000000", "kubelet.go", `"SyncLoop (housekeeping)"`)
	next := kp(200, "1120 09:30:20.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.4"`)
	journal := func(s string) string { return "Nov 20 09:30:05 n systemd[1]: " + s }
	for _, c := range []struct {
		end  End
		line string
	}{
		{EndSignal, journal("kubelet.service: Main process exited, code=killed, status=9/KILL")},
		{EndSignal, journal("Stopping kubelet: The Kubernetes Node Agent...")},
		{EndWatchdog, journal("kubelet.service: Watchdog timeout (limit 30s)!")},
		{EndFatal, journal("kubelet.service: Main process exited, code=exited, status=1/FAILURE")},
		{EndPanic, journal("kubelet.service: Main process exited, code=exited, status=2/INVALIDARGUMENT")},
		{EndOOM, "Nov 20 09:30:05 n kernel: Out of memory: Killed process 100 (kubelet) total-vm:1kB"},
		{EndSignal, "SIGABRT: abort"},
		{EndPanic, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{EndUnknown, kp(100, "1120 09:30:05.000000", "kubelet.go", `"nothing"`)},
	} {
		t.Run(string(c.end), func(t *testing.T) {
			s := fold("", first, c.line, next)
			if len(s.Lives) != 2 {
				t.Fatalf("%d lives", len(s.Lives))
			}
			if s.Lives[0].End != c.end {
				t.Errorf("ended by %q, want %q by %s", s.Lives[0].End, c.end, c.line)
			}
			if (s.Lives[0].EndQuote != nil) != (c.end != EndUnknown) {
				t.Errorf("quote %+v", s.Lives[0].EndQuote)
			}
			if s.Lives[1].End != EndRunning {
				t.Errorf("the last one ended by %q", s.Lives[1].End)
			}
		})
	}
}

// TestARecoveredPanicEndsNoLife has the trace of a panic that the kubelet recovered from: its lines have no time.
func TestARecoveredPanicEndsNoLife(t *testing.T) {
	panicked := kp(100, "1120 09:30:00.000000", "runtime.go", `Observed a panic: "invalid memory address or nil pointer dereference"`)
	for after, want := range map[string]End{"1120 09:30:01.000000": EndPanic, "1120 09:37:00.000000": EndRunning} {
		s := fold("", panicked, "goroutine 196 [running]:", kp(100, after, "kubelet.go", `"SyncLoop (housekeeping)"`))
		if len(s.Lives) != 1 || s.Lives[0].End != want {
			t.Errorf("last line at %s: lives %+v, want one, %s", after, s.Lives, want)
		}
	}
}

// A watchdog that has systemd send SIGABRT says more than the signal.
func TestWatchdogOutranksItsSignal(t *testing.T) {
	s := fold("", kp(100, "1120 09:30:00.000000", "kubelet.go", `"SyncLoop (housekeeping)"`),
		"Nov 20 09:30:05 n systemd[1]: kubelet.service: Watchdog timeout (limit 30s)!",
		"Nov 20 09:30:05 n systemd[1]: kubelet.service: Main process exited, code=killed, status=6/ABRT",
		kp(200, "1120 09:30:20.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.4"`))
	if s.Lives[0].End != EndWatchdog {
		t.Errorf("ended by %q", s.Lives[0].End)
	}
}

func TestLoopFallsSilent(t *testing.T) {
	var lines []string
	for i := range 10 {
		lines = append(lines, k("I", float64(2*i), "kubelet.go", `SyncLoop (housekeeping)`))
	}
	for i := range 60 {
		lines = append(lines, k("I", float64(20+10*i), "kubelet_node_status.go", `Setting node annotation`))
	}
	l := fold("kubelet", lines...).Loop
	if l.Cadence != 2 || l.Last == nil || !l.Last.Equal(at(18)) || l.OthersCount != 60 {
		t.Errorf("cadence %v, last %v, others %d", l.Cadence, l.Last, l.OthersCount)
	}
	if s, proven := l.Silence(); !proven || s != 592 {
		t.Errorf("silent for %v, proven %v", s, proven)
	}
	// Without housekeeping lines the same silence proves nothing.
	quiet := fold("kubelet", append([]string{k("I", 1, "kubelet.go", `SyncLoop (ADD, "api"): "web-0_default(U1)"`)}, lines[10:]...)...).Loop
	if s, proven := quiet.Silence(); proven || s == 0 {
		t.Errorf("silent for %v, proven %v", s, proven)
	}
}

func at(second float64) time.Time {
	return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Add(time.Duration(second * float64(time.Second)))
}

func TestLoopGapsAndClockJumps(t *testing.T) {
	var lines []string
	for _, second := range []float64{0, 2, 4, 200, 202, -3600, -3598, -3500, -3498} {
		lines = append(lines, k("I", second, "kubelet.go", `"SyncLoop (housekeeping)"`))
	}
	l := fold("kubelet", lines...).Loop
	if len(l.Gaps) != 2 || l.Gaps[0].Seconds != 196 || l.Gaps[1].Seconds != 98 {
		t.Errorf("gaps %+v", l.Gaps)
	}
	if l.Cadence != 2 {
		t.Errorf("cadence %v", l.Cadence)
	}
}

func TestSkippingIsNotSilence(t *testing.T) {
	lines := []string{housekeeping}
	for i := range 30 {
		lines = append(lines, k("E", float64(130+5*i), "kubelet.go", `"Skipping pod synchronization" err="[container runtime is down, PLEG is not healthy: pleg was last seen active 3m4.6s ago; threshold is 3m0s]"`))
	}
	s := fold("kubelet", lines...)
	if silence, _ := s.Loop.Silence(); silence != 0 {
		t.Errorf("silent for %v, though the loop says that it skips", silence)
	}
	if e := events(s, KindPLEGUnhealthy); len(e) != 1 || e[0].Count != 30 || e[0].Max != 184.6 {
		t.Errorf("%+v", e)
	}
	d := only(t, fold("kubelet", append([]string{newFlow[1]}, lines...)...))
	if !strings.Contains(d.Waits, "skips all pods: container runtime is down; PLEG is not healthy") {
		t.Errorf("waits %q", d.Waits)
	}
}

// An event that many lines tell quotes the first of them, the one with the largest number and the last.
func TestTheLineWithTheLargestNumberIsQuoted(t *testing.T) {
	var lines []string
	for i, age := range []string{"3m1s", "9m30s", "4m2s"} {
		lines = append(lines, k("E", float64(5*i), "kubelet.go", `"Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active `+age+` ago; threshold is 3m0s"`))
	}
	e := events(fold("kubelet", lines...), KindPLEGUnhealthy)
	if len(e) != 1 || e[0].Max != 570 || len(e[0].Quotes) != 3 || !strings.Contains(e[0].Quotes[1].Text, "9m30s") {
		t.Errorf("%+v, want one event that quotes all three lines", e)
	}
}

func TestManyOrphansStayBounded(t *testing.T) {
	f := newFolder()
	const orphans = 200_000
	for i := range orphans {
		foldInto(f, "kubelet.log", "kubelet", k("E", float64(i), "kubelet_volumes.go",
			fmt.Sprintf(`"There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"%08x-0000-4000-8000-000000000000\" found, but error occurred when trying to remove the volumes dir: not a directory" numErrs=%d`, i, orphans)))
	}
	s := f.story(nil)
	if o := s.Orphans; o.Named != orphans || o.Max != orphans || !o.Rotates || o.Changes != orphans-1 {
		t.Errorf("%+v", o)
	}
	es, count := events(s, KindOrphan), int64(0)
	for _, e := range es {
		count += e.Count
	}
	if len(es) != maxEventsOfKind || count != orphans {
		t.Errorf("%d events with %d occurrences, want %d with %d", len(es), count, maxEventsOfKind, orphans)
	}
}

func TestOrphanThatStays(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, k("E", float64(2*i), "kubelet_volumes.go", `orphaned pod "U1" found, but volume paths are still present on disk : There were a total of 3 errors similar to this. Turn up verbosity to see them.`))
	}
	o := fold("kubelet", lines...).Orphans
	if o.Rotates || o.Named != 1 || o.Last != 3 || o.PodUID != uid1 || !o.Since.Equal(at(0)) || !o.Until.Equal(at(38)) {
		t.Errorf("%+v", o)
	}
}

// One kill has two or three lines, and only one of them names the pod.
func TestOneKillIsOneEvent(t *testing.T) {
	s := fold("kernel",
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/kubepods/burstable/podU1,task_memcg=/kubepods/burstable/podU1/abcd,task=java,pid=1234,uid=0",
		"Memory cgroup out of memory: Killed process 1234 (java) total-vm:1kB",
		"Task in /kubepods/burstable/podU2/abcd killed as a result of limit of /kubepods/burstable/podU2",
		"Memory cgroup out of memory: Kill process 99 (ruby) score 1000 or sacrifice child")
	es := events(s, kindKernelOOMCgroup)
	if len(es) != 2 || es[0].PodUID != uid1 || es[1].PodUID != uid2 || es[0].Count != 1 || es[1].Process != "ruby (99)" {
		t.Errorf("%+v", es)
	}
	if s.Loop != nil || len(s.Lives) != 0 {
		t.Error("the kernel's log tells nothing of a kubelet")
	}
}

// Lines that look like known ones.
func TestNearMisses(t *testing.T) {
	for _, c := range []struct{ name, line, origin string }{
		{"many errors of something else", k("E", 1, "x.go", `"There were many similar errors. Turn up verbosity to see them." err="volume x" numErrs=3`), ""},
		{"a container called busybox is not busy", k("I", 1, "x.go", `"Started container busybox: target busybox"`), ""},
		{"the kernel quoted by a program", `nfs: server 10.0.0.5 not responding, still trying`, "my-app"},
		{"an application's EXT4-fs error", `EXT4-fs error (device sda1): made up`, "my-app"},
		{"a panic of something else", `panic: runtime error: index out of range`, "my-app"},
		{"the eviction manager's commentary", k("I", 1, "helpers.go", `"Eviction manager: threshold observed resource" log="thresholds - updated stats" signal="nodefs.available" resourceName="ephemeral-storage"`), ""},
		{"a message about a pod's status", k("I", 1, "status_manager.go", `"Ignoring same status for pod" pod="default/web-0"`), ""},
		{"an event that repeats an error", k("I", 1, "event.go", `"Event occurred" object="default/web-0" reason="FailedKillPod" message="error: no space left on device"`), ""},
		{"a service that is not a kubelet's", `nginx.service: Main process exited, code=killed, status=9/KILL`, "systemd"},
		{"a task that was only started", `task jbd2/sdb-8:1234 is blocked`, "kernel"},
		{"ceph session of a client that is well", `libceph: client4305 fsid 6f1c0f5e`, "kernel"},
		{"a disk's own time limit", `nvme nvme0: Shutdown timeout set to 8 seconds`, "kernel"},
		{"a conflict at the API server", k("E", 1, "kubelet_node_status.go", `"Error updating node status, will retry" err="Operation cannot be fulfilled on nodes \"n\": the object has been modified"`), ""},
		{"an operation that ended", k("I", 1, "x.go", `Operation for volume is done`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if o, ok := classify(entryOf(ids(c.line), c.origin)); ok {
				t.Errorf("taken for %s: %+v", o.Kind, o.Subject)
			}
		})
	}
}

func TestErrnoInManyLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"umount: /p: target is busy.":                         "EBUSY",
		"umount: /p/busybox: not mounted.":                    "EINVAL",
		"remove /p: device or resource busy":                  "EBUSY",
		"umount: /p：目标忙":                                      "EBUSY",
		"umount: /p: 目標忙碌中":                                   "EBUSY",
		"umount: /p: ターゲットは使用中です":                             "EBUSY",
		"umount: /p: 対象がビジー状態です":                              "EBUSY",
		"umount: /p: Ziel wird gerade benutzt.":               "EBUSY",
		"Das Gerät oder die Ressource ist belegt":             "EBUSY",
		"la cible est occupée":                                "EBUSY",
		"el objetivo está ocupado":                            "EBUSY",
		"цель занята":                                         "EBUSY",
		"대상이 사용 중입니다":                                         "EBUSY",
		"lstat /p: stale NFS file handle":                     "ESTALE",
		"古いファイルハンドルです":                                        "ESTALE",
		"lstat /p: transport endpoint is not connected":       "ENOTCONN",
		"Der Socket ist nicht verbunden":                      "ENOTCONN",
		"输入/输出错误":                                             "EIO",
		"stat /p: host is down":                               "EHOSTDOWN",
		"unlinkat /p: directory not empty":                    "ENOTEMPTY",
		"trying to remove the volumes dir: not a directory":   "ENOTDIR",
		"error reading subPath: it is fine":                   "",
		"unable to find the occupation of the volume service": "",
	} {
		if got := errno.Of(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWithoutTimes(t *testing.T) {
	lines := make([]string, 0, len(newFlow))
	for _, l := range newFlow {
		_, message, _ := strings.Cut(l, "] ")
		lines = append(lines, message)
	}
	f := newFolder()
	for _, l := range lines {
		e := &entry{Origin: "kubelet", Raw: ids(l)}
		e.message(ids(l), nil)
		if o, ok := classify(e); ok {
			f.add("-", o)
		}
	}
	s := f.story(nil)
	d := only(t, s)
	if !d.Done || stagesOf(d) != allStages || d.Since != nil {
		t.Errorf("done %v, %q, since %v", d.Done, stagesOf(d), d.Since)
	}
	for _, e := range s.Events {
		if e.First != nil || e.Last != nil {
			t.Errorf("%s has a time", e.Kind)
		}
	}
}

// TestVersionAfterManyLines: in a container each kubelet is process 1, so that only its version tells one from the one before. Right behind its
// first lines it is its own; behind a thousand it is of the next.
func TestVersionAfterManyLines(t *testing.T) {
	for before, want := range map[int]int{20: 1, 1200: 2} {
		var lines []string
		for i := range before {
			lines = append(lines, kp(1, fmt.Sprintf("1120 09:30:%02d.000000", i*5/before), "flags.go", `FLAG: --a="b"`))
		}
		lines = append(lines, kp(1, "1120 09:30:06.000000", "server.go", `"Kubelet version" kubeletVersion="v1.34.4"`))
		if s := fold("", lines...); len(s.Lives) != want {
			t.Errorf("%d lines before the version: %d lives, want %d", before, len(s.Lives), want)
		}
	}
}

// TestNameCache reads lines that differ in what stands before their words: only some tell the name of their node, however often they come.
func TestNameCache(t *testing.T) {
	cache := nameCache{}
	p := lineParser{zone: time.UTC, latest: collected, origin: "kubelet"}
	long := strings.Repeat("x", maxCachedText)
	for range 3 {
		for line, want := range map[string]string{
			`E1120 10:27:45.000000 15709 kubelet.go:2448] "Error updating node status, will retry" err="error getting node \"node-1\": timed out"` + "\n":         "node-1",
			`E1120 10:27:46.000000 15709 kubelet.go:2448] "Error updating node status, will retry" err="error getting node \"node-2\": timed out"` + "\n":         "node-2",
			`E1120 10:27:46.000000 15709 reconciler.go:2448] "Error updating node status, will retry" err="error getting node \"node-1\": timed out"` + "\n":      "",
			`E1120 10:27:45.000000 15709 kubelet.go:2448] "Error updating node status, will retry" err="error getting node \"node-3\": timed out" ` + long + "\n": "node-3",
			`E1120 10:27:45.000000 15709 kubelet.go:2448] "Error syncing pod, skipping" pod="default/web" podUID="0a1b" node=a` + "\n":                            "",
		} {
			e, _ := p.parse(line)
			if got := cache.ownName(&e); got != want {
				t.Errorf("%q: %q, want %q", line, got, want)
			}
		}
	}
	if len(cache) != 3 {
		t.Errorf("%d texts are kept, want the 3 short ones of files that tell names", len(cache))
	}
	for i := range 3 * maxCachedNames {
		e, _ := p.parse(fmt.Sprintf("E1120 10:27:45.000000 15709 kubelet.go:2448] Error syncing pod %d\n", i))
		cache.ownName(&e)
	}
	if len(cache) > maxCachedNames {
		t.Errorf("%d texts are kept", len(cache))
	}
	other, _ := p.parse(`E1120 10:27:45.000000 15709 kubelet.go:2448] "Error updating node status, will retry" err="error getting node \"node-1\": timed out"` + "\n")
	if other.Origin = "coredns"; cache.ownName(&other) != "" {
		t.Error("another program names the node")
	}
}
