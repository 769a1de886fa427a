package pasted

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a program wrote is not changed, and not copied.
func TestWhatAProgramWroteIsLeftAlone(t *testing.T) {
	names, _ := filepath.Glob("../../testdata/captures/*/*")
	if len(names) < 10 {
		t.Fatalf("%d captures", len(names))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a directory
		}
		if z, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, _ = io.ReadAll(z)
		}
		text = text[:min(len(text), MaxSize)]
		if bytes.IndexByte(text, 0) >= 0 || strings.HasSuffix(name, ".json") {
			continue
		}
		if better := Clean(text); better != nil {
			before, after := strings.Split(string(text), "\n"), strings.Split(string(better), "\n")
			for i := range min(len(before), len(after)) {
				if before[i] != after[i] {
					t.Errorf("%s:%d: %.100q became %.100q", name, i+1, before[i], after[i])
					break
				}
			}
		}
	}
}

// Lines keep their numbers.
func TestLinesKeepTheirNumbers(t *testing.T) {
	wrapped := "E1120 10:02:45.000001    2588 file.go:301] " + strings.Repeat("x", 37) + "\nyyy\nnext\n"
	want := "E1120 10:02:45.000001    2588 file.go:301] " + strings.Repeat("x", 37) + "yyy\n\nnext\n"
	if got := Clean([]byte(wrapped)); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	fenced := "a\n```\n> E1120 10:02:45.000001    2588 file.go:301] x\n```\n"
	if got := Clean([]byte(fenced)); string(got) != "a\n```\nE1120 10:02:45.000001    2588 file.go:301] x\n```\n" {
		t.Errorf("%q", got)
	}
}

// TestNewestFirst tells a log that has its newest line first from one below which somebody has added what came before.
func TestNewestFirst(t *testing.T) {
	const early, later, late = "Jan 17 01:00:31 w4 sshd[1]: a", "Jan 17 02:00:31 w4 sshd[1]: b", "Jan 17 02:04:12 w4 sshd[1]: c"
	for name, tt := range map[string]struct {
		lines []string
		want  bool
	}{
		"newest first":                 {[]string{late, early}, true},
		"with a continuation between":  {[]string{late, " more", "", early}, true},
		"a sentence above":             {[]string{"Look:", late, early}, true},
		"two falls, one at a sentence": {[]string{late, later, "and", early}, true},
		"oldest first":                 {[]string{early, late}, false},
		"added below a sentence":       {[]string{late, late, "Before that only:", early}, false},
		"of one second":                {[]string{late, late}, false},
		"it also rises":                {[]string{late, early, later}, false},
	} {
		if got := newestFirst(tt.lines); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A list of words stays in YAML, and the marks of a list in Markdown go.
func TestListsOfYAML(t *testing.T) {
	for text, want := range map[string]string{
		"kind: KubeletConfiguration\nclusterDNS:\n- 10.96.0.10\n- 10.96.0.11\nmaxPods: 110\n":     "",
		"a: b\ncommand:\n- kubelet\n- --v=2\n":                                                    "",
		"the log:\n- E1120 10:02:45.000001    2588 file.go:301] x\n":                              "the log:\nE1120 10:02:45.000001    2588 file.go:301] x\n",
		"What I see:\n- nothing starts\n- E1120 10:02:45.000001    2588 file.go:301] x\nthanks\n": "What I see:\nnothing starts\nE1120 10:02:45.000001    2588 file.go:301] x\nthanks\n",
	} {
		if got := Clean([]byte(text)); string(got) != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"> `E1120 10:02:45.000001    2588 file.go:301] x`", "janv. 06 10:11:12 n k[1]: x", "goroutine 1 [select]: main.main() /a.go:1 +0x1 main.x(0x1) /b.go:2", "\u00a0“&quot;"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < MaxSize {
			if better := Clean(text); len(better) > 2*len(text)+64 {
				t.Errorf("%d bytes became %d", len(text), len(better))
			}
		}
	})
}

func TestCleanJoinsWords(t *testing.T) {
	const whole = `E0119 08:50:20.110381     955 nestedpendingoperations.go:301] Operation for "{volumeName:v podName: nodeName:}" failed. No retries permitted until 2022-01-19 08:52:22 +0000 UTC (durationBeforeRetry 2m2s). Error: MountVolume.SetUp failed for volume "v"`
	var lines []string
	line := ""
	for _, word := range strings.SplitAfter(whole, " ") {
		if len(line)+len(strings.TrimSpace(word)) > 72 {
			lines, line = append(lines, strings.TrimSpace(line)), ""
		}
		line += word
	}
	lines = append(lines, line)
	got := string(Clean([]byte(strings.Join(lines, "\n") + "\n")))
	if first, _, _ := strings.Cut(got, "\n"); first != whole {
		t.Errorf("got %q", got)
	}
	// Every line happens to be full, and a wider line of prose tells that this is not where a terminal wraps.
	full := []string{"E0119 08:50:20.110381     955 a.go:301] \"Unmounting failed\" err=\"timeout", "of " + strings.Repeat("v", 68), "at " + strings.Repeat("w", 68), "after 2m\""}
	prose := strings.Repeat("that is what we see ", 5) + "there\n"
	if got := string(Clean([]byte(prose + strings.Join(full, "\n") + "\n"))); !strings.Contains(got, strings.Join(full, " ")+"\n") {
		t.Errorf("full lines were not joined: %q", got)
	}
	// What umount has printed belongs to the error above it, not to a line that a terminal has wrapped.
	apart := "E0119 08:50:20.110381     955 mount_linux.go:10] Unmount failed: exit status 32\n\tUnmounting arguments: /var/lib/kubelet/pods/u/volumes/kubernetes.io~nfs/a-long-name-of-a-volume\n\tOutput: umount: /var/lib/kubelet: target is busy.\n"
	want := strings.ReplaceAll(strings.TrimSuffix(apart, "\n"), "\n\t", " ") + "\n\n\n"
	if got := string(Clean([]byte(apart))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, other := range []string{strings.ReplaceAll(apart, "exit status 32", "x"), strings.ReplaceAll(apart, "\tOutput", "\tNothing")} {
		if got := Clean([]byte(other)); got != nil && strings.Contains(string(got), "Unmounting arguments") && !strings.Contains(string(got), "\nUnmounting") && !strings.Contains(string(got), "\tUnmounting") {
			t.Errorf("%q became %q", other, got)
		}
	}
}

// A message that a sentence quotes is a line of a log if the sentence is about the present. What was, or would be, is no evidence.
func TestQuotedMessagesOfThePastAreNoEvidence(t *testing.T) {
	message := "E1120 10:02:45.000001    2588 file.go:301] " + strings.Repeat("x", 40)
	for sentence, want := range map[string]bool{
		"The kubelet says: ": true, "Before the reboot it was: ": false, "I would expect: ": false, "It is not: ": false, "Another node shows: ": false,
	} {
		text := "Please help.\n" + sentence + "`" + message + "`\n"
		if got := strings.Contains("\n"+string(Clean([]byte(text))), "\n"+message); got != want {
			t.Errorf("%q: its quote is a line of its own: %v", sentence, got)
		}
	}
}

// What stands before each line that a program has gathered from many nodes or containers goes, and nothing that looks like it.
func TestPrefixesOfManyNodes(t *testing.T) {
	for _, line := range []string{
		"E1120 10:02:45.000001    2588 file.go:301] x", `{"ts":1732099365000.1,"caller":"a/b.go:1","msg":"x"}`, `time="2026-11-20T10:02:45Z" level=info msg=x`,
	} {
		for _, prefix := range []string{"10.5.0.14: ", "worker-3: ", "> 10.5.0.14: ", "[pod/kube-system/csi-x/driver] "} {
			if prefix == "> 10.5.0.14: " && line[0] == '{' {
				continue // mail does not quote JSON in one line
			}
			if got := string(Clean([]byte(prefix + line + "\n"))); got != line+"\n" {
				t.Errorf("%s: %q", prefix, got)
			}
		}
	}
	for _, line := range []string{"startTime: 2026-11-20T10:02:45Z", "10.5.0.14: no such host", "panic: goroutine 5 [running]:"} {
		if got := Clean([]byte(line + "\n")); got != nil {
			t.Errorf("%q became %q", line, got)
		}
	}
}

// What a syslog daemon writes to all terminals is a line of its log, cut in two.
func TestMessagesToAllTerminals(t *testing.T) {
	for text, want := range map[string]string{
		"\nMessage from syslogd@node-1 at Nov 20 10:02:45 ...\n kernel:[1612007.220133] NMI watchdog: x\n":          "\n\nNov 20 10:02:45 node-1 kernel: [1612007.220133] NMI watchdog: x\n",
		"> Message from syslogd@node-1 at Nov  2 10:02:45 ...\n>  systemd[1]: Caught <SEGV>\n":                      "\nNov  2 10:02:45 node-1 systemd[1]: Caught <SEGV>\n",
		"Message from syslogd@node-1 at Nov 20 10:02:45 2026 ...\r\nkernel: watchdog: BUG: soft lockup - CPU#1\r\n": "\nNov 20 10:02:45 node-1 kernel: watchdog: BUG: soft lockup - CPU#1\n",
	} {
		if got := string(Clean([]byte(text))); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The title of a table of events tells where a terminal has wrapped it, also if a row is wider than the terminal.
func TestWrappedTableOfEvents(t *testing.T) {
	title := "  Type     Reason                  Age                  From               Message"
	row := "  Warning  FailedCreatePodSandBox  14m (x7 over 20m)    kubelet            Failed to create pod sandbox: rpc error: code = Unknown desc = x"
	wrap := func(s string) string { return s[:78] + "\n" + s[78:] + "\n" }
	if got, want := string(Clean([]byte("Events:\n"+wrap(title)+wrap(row)))), "Events:\n"+title+"\n\n"+row+"\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A frame goes, and what was wrapped in it is put together.
func TestFrames(t *testing.T) {
	const mount, output = "│ Mounting command: mount                                                  │", "│ Output: mount: /mnt: busy.                                               │"
	for _, test := range []struct{ name, text, want string }{
		{
			"between words", "│  Warning  FailedMount  3s  kubelet  MountVolume.SetUp failed for volume  │\n│ \"data\" : mount failed: exit status 32                                   │\n" + mount + "\n" + output + "\n",
			" Warning  FailedMount  3s  kubelet  MountVolume.SetUp failed for volume \"data\" : mount failed: exit status 32\n\nMounting command: mount\nOutput: mount: /mnt: busy.\n",
		},
		{"within a word", "┃ MountVolume.SetUp failed for volume \"data\" : mount failed: exit stat ┃\n┃ us 32                                                                ┃\n", "MountVolume.SetUp failed for volume \"data\" : mount failed: exit status 32\n\n"},
		{"rows of a table", "│ db-0   Pending   0/1   10.0.0.1   n-1 │\n│ db-1   Pending   0/1   10.0.0.2   n-1 │\n", "db-0   Pending   0/1   10.0.0.1   n-1\ndb-1   Pending   0/1   10.0.0.2   n-1\n"},
		{"a tree", "sda    8:0\n└─sda1 8:1\n│ └─x 8:2\n", ""},
	} {
		if got := string(Clean([]byte(test.text))); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// What is set apart in instructions is an example, unless something there has a time: then it is what has happened.
func TestInstructionsAreNoIncidents(t *testing.T) {
	const message = "PLEG is not healthy: pleg was last seen active 3m2s ago; threshold is 3m0s"
	const dated = "E1120 10:02:45.000001    2588 kubelet.go:1] x\n"
	for _, c := range []struct {
		name, text string
		want       bool // the message is still there
	}{
		{"a runbook", "# Runbook: PLEG\n\n    " + message + "\n", false},
		{"a table in a runbook", "How to read the log\n| `" + message + "` | look at containerd |\n", false},
		{"a runbook with names to fill in", "Runbook: orphans\n" + message + "\nfind /var/lib/kubelet/pods/<uid>\n", false},
		{"a page of a wiki", "draft for our wiki\n## NotReady\n> " + message + "\n", false},
		{"a fence in a runbook", "# Runbook: PLEG\n```\n" + message + "\n```\n", false},
		{"a proposal", "Threshold of PLEG\n## Motivation\n```\n" + message + "\n```\n## Non-Goals\nnone\n", false},
		{"a proposal beside a log", "Threshold of PLEG\n## Motivation\n```\n" + message + "\n" + dated + "```\n## Non-Goals\nnone\n", true},
		{"an issue with a motivation", "## Motivation\n```\n" + message + "\n```\n", true},
		{"a question about the documentation", "Fürs Seminar: laut Doku steht da\n> " + message + "\nDas habe ich noch nie gesehen. Wie stellt man es nach?\n", false},
		{"a problem that the documentation names", "Laut Doku steht da bei Überlast\n> " + message + "\nGenau das sehen wir.\n", true},
		{"a note for the documentation", "Kurzer Hinweis für die Doku:\n    " + message + "\n", false},
		{"documentation that did not help", "There is nothing in it.\nI looked in the docs:\n    " + message + "\n", true},
		{"a page that somebody quotes", "please review\n\n> ## NotReady\n>\n> `" + message + "`\n", false},
		{"a quoted page beside a log, and a name to fill in", "> ## NotReady\n\n    " + message + "\nkubectl describe node <node>\n" + dated, true},
		{"a runbook that was followed", "Runbook: PLEG\n\n    " + message + "\n" + dated, true},
		{"a runbook that is mentioned", "the runbook says nothing of this:\n\n    " + message + "\n", true},
		{"a pod of a wiki", "our wiki-0 pod hangs\n## what I see\n> " + message + "\n", true},
		{"a wiki without sections", "see our wiki\n> " + message + "\n", true},
		{"a prompt that somebody quotes", "please look\n> # journalctl -u kubelet\n> " + message + "\n", true},
		{"words of a runbook", "Runbook: PLEG\n" + message + "\n", true},
	} {
		text := []byte(c.text)
		if better := Clean(text); better != nil {
			text = better
		}
		if got := strings.Contains(string(text), message); got != c.want {
			t.Errorf("%s: %v, want %v:\n%s", c.name, got, c.want, text)
		}
	}
}

// What was cut off before the lines of a dump, and what kubectl escapes in an error, is undone.
func TestDumpsAndAnswersWithinOtherLines(t *testing.T) {
	dump := "kubelet[1490]: goroutine 355 [syscall, 2818 minutes]:\nkubelet[1490]: syscall.Syscall(0x1)\n"
	if got, want := string(Clean([]byte(dump))), strings.ReplaceAll(dump, "kubelet[1490]: ", ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	answer := `Error from server (InternalError): an error on the server ("[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed") has prevented the request` + "\n"
	if got := string(Clean([]byte(answer))); !strings.Contains(got, "\n[-]syncloop failed: reason withheld\n") {
		t.Errorf("%q", got)
	}
}
