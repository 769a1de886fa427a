package logs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/internal/kubectl"
)

// berlin is a zone that is not UTC.
var berlin = time.FixedZone("CET", 3600)

// testParser knows what the lines of the tests do not say.
func testParser() *lineParser {
	return &lineParser{latest: collected, zone: berlin, boot: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
}

// The same message, as it arrives by different ways. The time is UTC.
const (
	orphanMessage = `There were many similar errors. Turn up verbosity to see them.`
	orphanErr     = `orphaned pod "1111" found, but error occurred when trying to remove the volumes dir: not a directory`
	klogLine      = `E1121 10:00:02.000001    2588 kubelet_volumes.go:263] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"1111\" found, but error occurred when trying to remove the volumes dir: not a directory" numErrs=3`
	klogJSONLine  = `{"ts":1795251602000.001,"caller":"kubelet/kubelet_volumes.go:263","msg":"There were many similar errors. Turn up verbosity to see them.","err":"orphaned pod \"1111\" found, but error occurred when trying to remove the volumes dir: not a directory","numErrs":3}`
)

func TestAMessageIsTheSameByWhateverWay(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 2, 1000, time.UTC)
	escaped := strings.ReplaceAll(strings.ReplaceAll(klogLine, `\`, `\\`), `"`, `\"`)
	for _, c := range []struct {
		name, line, format string
		time               time.Time // at, unless a prefix tells another
		pid                int
	}{
		{name: "klog", line: klogLine, format: "klog"},
		{name: "klog with directory", line: strings.Replace(klogLine, " kubelet_vol", " kubelet/kubelet_vol", 1), format: "klog"},
		{name: "klog with carriage return", line: klogLine + "\r\n", format: "klog"},
		{name: "klog with colour", line: "\x1b[31m" + klogLine[:30] + "\x1b[0m" + klogLine[30:], format: "klog"},
		{name: "klog behind a hole that a crash left", line: strings.Repeat("\x00", 500) + klogLine, format: "klog"},
		{name: "klog of glog's thread id", line: strings.Replace(klogLine, "   2588", " 123456", 1), format: "klog", pid: 123456},
		{name: "klog JSON", line: klogJSONLine, format: "klog-json", pid: -1},
		{name: "klog JSON behind the byte order mark of an editor", line: "\ufeff" + klogJSONLine, format: "klog-json", pid: -1},
		{name: "journal short behind the byte order mark of an editor", line: "\ufeffNov 21 10:00:02 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "journal short", line: "Nov 21 10:00:02 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "journal short of a day with one digit", line: "Nov  1 10:00:02 worker-1 kubelet[2588]: " + strings.Replace(klogLine, "1121", "1101", 1), format: "syslog+klog", time: at.AddDate(0, 0, -20)},
		{name: "journal short-precise", line: "Nov 21 10:00:02.000301 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "journal short-iso", line: "2026-11-21T10:00:02+0100 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog", time: at.Truncate(time.Second)},
		{name: "journal short-iso-precise", line: "2026-11-21T10:00:02.000001+01:00 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "journal short-full", line: "Sat 2026-11-21 09:00:02 UTC worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog", time: at.Truncate(time.Second)},
		{name: "journal short-unix", line: "1795251602.000001 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "journal with unit", line: "Sat 2026-11-21 10:00:02 CET worker-1 kubelet.service[2588]: " + klogLine, format: "syslog+klog", time: at.Truncate(time.Second)},
		{name: "journal JSON", line: `{"__REALTIME_TIMESTAMP":"1795251602000001","_PID":"2588","SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"` + escaped + `"}`, format: "journal+klog"},
		{name: "journal JSON of k3s", line: `{ "__REALTIME_TIMESTAMP" : "1795251602000001", "_PID" : "2588", "SYSLOG_IDENTIFIER" : "k3s", "MESSAGE" : "` + escaped + `" }`, format: "journal+klog"},
		{name: "journal JSON of klog JSON", line: `{"__REALTIME_TIMESTAMP":"1795251602000001","_PID":"2588","_COMM":"kubelet","MESSAGE":"` + strings.ReplaceAll(strings.ReplaceAll(klogJSONLine, `\`, `\\`), `"`, `\"`) + `"}`, format: "journal+klog-json"},
		{name: "RFC 3164", line: "<27>Nov 21 10:00:02 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "RFC 3164 with the facility of busybox", line: "Nov 21 10:00:02 worker-1 daemon.err kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "RFC 3164 in UTC around local klog", line: "Nov 21 09:00:02 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog", time: at.Truncate(time.Second).Add(-time.Hour)},
		{name: "RFC 5424", line: `<27>1 2026-11-21T10:00:02.000001+01:00 worker-1 kubelet 2588 - [origin x="a ] \] b"] ` + klogLine, format: "syslog+klog"},
		{name: "RFC 5424 with byte order mark", line: "<27>1 2026-11-21T10:00:02.000001+01:00 worker-1 kubelet 2588 ID47 - \ufeff" + klogLine, format: "syslog+klog"},
		{name: "rsyslog's own", line: "2026-11-21T10:00:02.000001+01:00 worker-1 kubelet[2588]: " + klogLine, format: "syslog+klog"},
		{name: "container log", line: "2026-11-21T09:00:02.000001Z stderr F " + klogLine, format: "cri+klog"},
		{name: "container log of klog JSON", line: "2026-11-21T09:00:02.000001Z stderr F " + klogJSONLine, format: "cri+klog-json", pid: -1},
		{name: "docker", line: `{"log":"` + escaped + `\n","stream":"stderr","time":"2026-11-21T09:00:02.000001Z"}`, format: "docker+klog"},
		{name: "docker logs -t", line: "2026-11-21T09:00:02.000001Z " + klogLine, format: "time+klog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, s := testParser().parse(c.line)
			if c.time.IsZero() {
				c.time = at
			}
			if c.pid == 0 {
				c.pid = 2588
			}
			raw := c.line
			if strings.HasPrefix(c.format, "journal") || strings.HasPrefix(c.format, "docker") {
				if raw = klogLine; strings.HasSuffix(c.format, "json") {
					raw = klogJSONLine
				}
			}
			want := entry{
				Time: c.time, Origin: "kubelet", Severity: 'E', PID: max(c.pid, 0), Source: "kubelet_volumes.go", SourceLine: 263,
				Message: orphanMessage, Fields: []field{{"err", orphanErr}, {"numErrs", "3"}}, Raw: raw,
			}
			if s.String() != c.format {
				t.Errorf("format %q, want %q", s.String(), c.format)
			}
			if !e.Time.Equal(want.Time) {
				t.Errorf("time %v, want %v", e.Time.UTC(), want.Time)
			}
			e.Time = want.Time
			if strings.Contains(c.name, "short-unix") && e.PID == 0 {
				t.Error("no pid")
			}
			if strings.Contains(c.line, "worker-1 ") && (e.Host != "worker-1" || !e.HostSure) {
				t.Errorf("host %q", e.Host)
			}
			e.Host, e.HostSure = "", false
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestMessagesOfKlog(t *testing.T) {
	const head = "I1121 10:00:02.000001    2588 kubelet.go:2531] "
	for _, c := range []struct {
		name    string
		lines   []string
		message string
		fields  []field
	}{
		{name: "plain", lines: []string{`SyncLoop (DELETE, "api"): "web-0_default(1111)"`}, message: `SyncLoop (DELETE, "api"): "web-0_default(1111)"`},
		{name: "quoted, but not structured", lines: []string{`"web" is not ready`}, message: `"web" is not ready`},
		{name: "no fields", lines: []string{`"SyncLoop (housekeeping)"`}, message: "SyncLoop (housekeeping)"},
		{name: "list", lines: []string{`"SyncLoop DELETE" source="api" pods=["default/web-0","default/web-1"]`}, message: "SyncLoop DELETE", fields: []field{{"source", "api"}, {"pods", `["default/web-0","default/web-1"]`}}},
		{name: "list with blanks, 1.23", lines: []string{`"SyncLoop DELETE" source="api" pods=[default/web-0 default/web-1]`}, message: "SyncLoop DELETE", fields: []field{{"source", "api"}, {"pods", `[default/web-0 default/web-1]`}}},
		{name: "unquoted UID", lines: []string{`"Killing" podUID=1111-22 grace=30`}, message: "Killing", fields: []field{{"podUID", "1111-22"}, {"grace", "30"}}},
		{name: "struct with equals sign in a string", lines: []string{`"x" event={"ID":"a b=c","Data":"d"} pod="p"`}, message: "x", fields: []field{{"event", `{"ID":"a b=c","Data":"d"}`}, {"pod", "p"}}},
		{name: "message as operation text", lines: []string{`"operationExecutor.UnmountVolume started for volume \"data\" (UniqueName: \"kubernetes.io/csi/d^h#1\") pod \"1111\" "`}, message: `operationExecutor.UnmountVolume started for volume "data" (UniqueName: "kubernetes.io/csi/d^h#1") pod "1111" `},
		{name: "value of several lines", lines: []string{`"Unmount failed" err=<`, "\tunmount failed: exit status 32", "\tOutput: umount: /x: target is busy.", ` > pod="default/web" podUID="1111"`}, message: "Unmount failed", fields: []field{{"err", "unmount failed: exit status 32\nOutput: umount: /x: target is busy."}, {"pod", "default/web"}, {"podUID", "1111"}}},
		{name: "two values of several lines", lines: []string{`"x" err=<`, "\ta", "\t >b", ` > out=<`, "\tc", " >"}, message: "x", fields: []field{{"err", "a\n >b"}, {"out", "c"}}},
		{name: "value of several lines that was cut", lines: []string{`"x" err=<`, "\ta"}, message: "x", fields: []field{{"err", "a"}}},
		{name: "message of several lines", lines: []string{`Operation failed: exit status 32`, "Output: umount: /x: target is busy."}, message: "Operation failed: exit status 32\nOutput: umount: /x: target is busy."},
		{name: "quote that was cut", lines: []string{`"x" err="orphaned pod \"11`}, message: "x", fields: []field{{"err", `orphaned pod \"11`}}},
		{name: "control characters and other languages", lines: []string{`"x" err="umount: /x: \u76ee\u6a19\u6b63\u5fd9\x00 \x1b[0m"`}, message: "x", fields: []field{{"err", "umount: /x: 目標正忙\x00 \x1b[0m"}}},
		{name: "empty value", lines: []string{`"x" a="" b= c="d"`}, message: "x", fields: []field{{"a", ""}, {"b", ""}, {"c", "d"}}},
		{name: "empty message", lines: []string{``}, message: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := append([]string{head + c.lines[0]}, c.lines[1:]...)
			e, _ := testParser().parse(lines...)
			if e.Message != c.message {
				t.Errorf("message %q, want %q", e.Message, c.message)
			}
			if diff := cmp.Diff(c.fields, e.Fields); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Of an escape character, only the sequence that it begins is taken out.
func TestColour(t *testing.T) {
	for line, want := range map[string]string{
		"\x1b[1;31mfailed\x1b[0m to mount": "failed to mount",
		"cut in a sequence\x1b[31":         "cut in a sequence",
		"cut before it\x1b":                "cut before it",
		"another\x1bsequence":              "anothersequence",
	} {
		if got := trim(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestJSONMessagesLookLikeText(t *testing.T) {
	e, _ := testParser().parse(`{"ts":1795251602100.001,"caller":"kubelet/kubelet.go:2531","msg":"SyncLoop DELETE","v":2,"source":"api","pods":[{"name":"web-0","namespace":"default"}],"pod":{"name":"web-0","namespace":"default"},"n":1.5,"b":true,"z":null}`)
	want := []field{{"source", "api"}, {"pods", `["default/web-0"]`}, {"pod", "default/web-0"}, {"n", "1.5"}, {"b", "true"}, {"z", "null"}}
	if diff := cmp.Diff(want, e.Fields); diff != "" || e.Severity != 'I' {
		t.Errorf("severity %c, -want +got\n%s", e.Severity, diff)
	}
}

func TestLinesOfOthers(t *testing.T) {
	boot := testParser().boot
	for _, c := range []struct {
		name, line string
		want       entry
	}{
		{"kmsg", "3,1234,5678901,-;INFO: task umount:4711 blocked for more than 120 seconds.", entry{Time: boot.Add(5678901 * time.Microsecond), Origin: "kernel", Severity: 'E', Message: "INFO: task umount:4711 blocked for more than 120 seconds."}},
		{"kmsg of systemd", "30,567,5678901,-;systemd[1]: Started kubelet.", entry{Time: boot.Add(5678901 * time.Microsecond), Origin: "systemd", PID: 1, Severity: 'I', Message: "Started kubelet."}},
		{"dmesg", "[  123.456789] nfs: server 10.0.0.5 not responding, still trying", entry{Time: boot.Add(123456789 * time.Microsecond), Origin: "kernel", Message: "nfs: server 10.0.0.5 not responding, still trying"}},
		{"dmesg with caller", "[  123.456789] [ T4711] nfs: server 10.0.0.5 OK", entry{Time: boot.Add(123456789 * time.Microsecond), Origin: "kernel", Message: "nfs: server 10.0.0.5 OK"}},
		{"dmesg -T", "[Sat Nov 21 10:00:00 2026] XFS (sdb1): Filesystem has been shut down", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kernel", Message: "XFS (sdb1): Filesystem has been shut down"}},
		{"a kernel's line without a date", "kernel: nfs: server 10.0.0.5 OK", entry{Origin: "kernel", Message: "nfs: server 10.0.0.5 OK"}},
		{"dmesg -x", "kern  :err   : [  123.456789] x", entry{Time: boot.Add(123456789 * time.Microsecond), Origin: "kernel", Message: "x"}},
		{"dmesg -r", "<3>[  123.456789] x", entry{Time: boot.Add(123456789 * time.Microsecond), Origin: "kernel", Severity: 'E', Message: "x"}},
		{"dmesg iso", "2026-11-21T10:00:00,123456+01:00 x y: z", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC), Origin: "kernel", Message: "x y: z"}},
		{"kernel by syslog", "Nov 21 10:00:00 worker-1 kernel: [  123.456789] x", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kernel", Message: "x"}},
		{"kernel by the journal, taken in late", `{"__REALTIME_TIMESTAMP":"1795251607000000","__MONOTONIC_TIMESTAMP":"9000000","_SOURCE_MONOTONIC_TIMESTAMP":"2000000","_TRANSPORT":"kernel","MESSAGE":"x"}`, entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kernel", Message: "x"}},
		{"kernel by the journal, message as bytes", `{"__REALTIME_TIMESTAMP":"1795251600000000","_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","PRIORITY":"4","MESSAGE":[120,255]}`, entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kernel", Severity: 'W', Message: "x\xff"}},
		{"k3s", `time="2026-11-21T10:00:00+01:00" level=error msg="a \"b\"" error="c d"`, entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Severity: 'E', Message: `a "b"`, Fields: []field{{"error", "c d"}}}},
		{"containerd by syslog", `Nov 21 10:00:00 worker-1 containerd[612]: time="2026-11-21T10:00:00+01:00" level=info msg="shim disconnected" id=abc`, entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "containerd", PID: 612, Severity: 'I', Message: "shim disconnected", Fields: []field{{"id", "abc"}}}},
		{"controller manager inside k3s", "I1121 10:00:00.000000    2588 gc_controller.go:151] x", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kube-controller-manager", Severity: 'I', PID: 2588, Source: "gc_controller.go", SourceLine: 151, Message: "x"}},
		{"microk8s", "Nov 21 10:00:00 worker-1 microk8s.daemon-kubelite[77]: x", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kubelet", PID: 77, Message: "x"}},
		{"nothing known", "goroutine 1 [running]:", entry{Message: "goroutine 1 [running]:", Bare: true}},
		{"empty", "", entry{Bare: true}},
		{"JSON of somebody else", `{"a":1}`, entry{Message: `{"a":1}`, Bare: true}},
		{"JSON with a list that has no end", `{"msg":"x","a":[1}`, entry{Message: `{"msg":"x","a":[1}`, Bare: true}},
		{"JSON that was cut", `{"log":"abc`, entry{Message: `{"log":"abc`, Bare: true}},
		{"not a time", "Nov 99 10:00:00 x y: z", entry{Message: "Nov 99 10:00:00 x y: z", Bare: true}},
		{"not klog", "I9921 10:00:00.000000    2588 a.go:1] x", entry{Message: "I9921 10:00:00.000000    2588 a.go:1] x", Bare: true}},
		{"kail", "kube-system/csi-nfs-node-x2[nfs]: E1121 10:00:00.000000    2588 a.go:1] x", entry{Time: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Origin: "kubelet", Severity: 'E', PID: 2588, Source: "a.go", SourceLine: 1, Message: "x"}},
		{"a tag of syslog with a path", "postfix/smtpd[1]: x", entry{Message: "postfix/smtpd[1]: x", Bare: true}},
		{"klog without its header", "kubelet_volumes.go:154] x", entry{Source: "kubelet_volumes.go", SourceLine: 154, Message: "x", Bare: true}},
		{"a journal without its date", "01:38:02 node kubelet[812]: x", entry{Origin: "kubelet", PID: 812, Message: "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := testParser().parse(c.line)
			if c.want.Raw = c.line; strings.Contains(c.line, "__REALTIME") {
				c.want.Raw = c.want.Message
			}
			if !e.Time.Equal(c.want.Time) {
				t.Errorf("time %v, want %v", e.Time, c.want.Time)
			}
			e.Time = c.want.Time
			if strings.Contains(c.line, "worker-1 ") && (e.Host != "worker-1" || !e.HostSure) {
				t.Errorf("host %q", e.Host)
			}
			e.Host, e.HostSure = "", false
			if diff := cmp.Diff(c.want, e); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A controller logs the events that it reports.
func TestEventsInTheLogOfAController(t *testing.T) {
	const (
		old   = `I1121 10:00:00.000000       1 event.go:218] Event(v1.ObjectReference{Kind:"Pod", Namespace:"shop", Name:"db-0", UID:"7a9ac0a1-6fb8-11e8-8a6e-0a580a2a0a11", APIVersion:"v1", ResourceVersion:"12", FieldPath:"spec.containers{db}"}): type: 'Warning' reason: 'FailedAttachVolume' Multi-Attach error for volume "pvc-1" x`
		since = `I1121 10:00:00.000000       1 event.go:294] "Event occurred" object="shop/db-0" fieldPath="spec.containers{db}" kind="Pod" apiVersion="v1" type="Warning" reason="FailedAttachVolume" message="Multi-Attach error for volume \"pvc-1\" x"`
		node  = `I1121 10:00:00.000000       1 event.go:294] "Event occurred" object="worker-1" kind="Node" apiVersion="v1" type="Normal" reason="NodeNotReady" message="Node worker-1 status is now: NodeNotReady"`
	)
	pod := kubectl.Event{Count: 1, Type: "Warning", Reason: "FailedAttachVolume", Message: `Multi-Attach error for volume "pvc-1" x`, Kind: "Pod", Namespace: "shop", Name: "db-0", Container: "db"}
	withUID := pod
	withUID.UID = "7a9ac0a1-6fb8-11e8-8a6e-0a580a2a0a11"
	for _, c := range []struct {
		name, line string
		want       *kubectl.Event
	}{
		{"until 1.18", old, &withUID},
		{"since 1.19", since, &pod},
		{"of a node", node, &kubectl.Event{Count: 1, Type: "Normal", Reason: "NodeNotReady", Message: "Node worker-1 status is now: NodeNotReady", Kind: "Node", Name: "worker-1", Host: "worker-1"}},
		{"of a kubelet, which says it in other words, too", strings.Replace(old, "      1 event", "   2588 event", 1), nil},
		{"what a container has printed", "2026-11-21T09:00:00.000001Z stdout F " + old, nil},
		{"another message", strings.Replace(old, "Event(", "event(", 1), nil},
	} {
		e, _ := testParser().parse(c.line)
		if diff := cmp.Diff(c.want, e.API); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
		if want := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC); c.want != nil && (e.Origin != "kube-controller-manager" && e.API.Kind == "Pod" || !e.Time.Truncate(time.Second).Equal(want)) {
			t.Errorf("%s: origin %q, time %v", c.name, e.Origin, e.Time)
		}
	}
}

func TestTheYearIsTheLatestThatIsNotInTheFuture(t *testing.T) {
	for _, c := range []struct {
		name   string
		latest time.Time
		stamp  string
		want   int
	}{
		{"same day", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), "1121 11:00:00", 2026},
		{"a little ahead, by another clock", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), "1122 05:00:00", 2026},
		{"ahead by days", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), "1125 05:00:00", 2025},
		{"before New Year", time.Date(2027, 1, 1, 0, 0, 5, 0, time.UTC), "1231 23:59:59", 2026},
		{"after New Year", time.Date(2027, 1, 1, 0, 0, 5, 0, time.UTC), "0101 00:00:01", 2027},
		{"after New Year by a clock that is ahead", time.Date(2026, 12, 31, 23, 59, 58, 0, time.UTC), "0101 00:00:01", 2027},
		{"leap day", time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), "0229 10:00:00", 2024},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &lineParser{latest: c.latest, zone: time.UTC}
			e, s := p.parse("I" + c.stamp + ".000000 1 a.go:1] x")
			if e.Time.Year() != c.want || !s.guessedYear || !s.guessedZone {
				t.Errorf("%v, guessed year %v, zone %v; want the year %d", e.Time, s.guessedYear, s.guessedZone, c.want)
			}
		})
	}
}
