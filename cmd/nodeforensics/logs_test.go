package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// tellLogs runs the command on files and wants an exit status.
func tellLogs(t testing.TB, want int, args ...string) outcome {
	t.Helper()
	o := finish(t, command(t, append([]string{"logs", "--zone", "UTC"}, args...)...))
	if o.status != want {
		t.Fatalf("exit status %d, want %d\n%s%s", o.status, want, o.stdout, o.stderr)
	}
	return o
}

// story runs the command with --json.
func story(t testing.TB, args ...string) logs.Story {
	t.Helper()
	var s struct {
		Schema string `json:"schema"`
		logs.Story
	}
	if err := json.Unmarshal([]byte(tellLogs(t, exitDone, append(args, "-o", "json")...).stdout), &s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "nodeforensics.logs/v1" {
		t.Errorf("schema %q", s.Schema)
	}
	return s.Story
}

// wantInOrder looks for parts of a text, one behind the other.
func wantInOrder(t testing.TB, text string, parts ...string) {
	t.Helper()
	last := 0
	for _, part := range parts {
		i := strings.Index(text[last:], part)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", part, last, text)
		}
		last += i
	}
}

func TestLogsTellTheStoryOfACapture(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"kubelet-1.17.4-hung-cephfs":     {"gzip+klog", "Sync loop", "last housekeeping     2026-11-20 10:00:10 UTC", "no message for 12 min, while other parts wrote", "orphan 2fa11937efabc40db85278b553e1ceeb", "Known harmless log messages"},
		"kubelet-1.34.4-hung-csi":        {"last PLEG", "at this verbosity that proves nothing"},
		"kubelet-1.34.4-unmount-busy":    {"Pod deletions: 1 pod, 1 not finished", "at stage volumes since", "waits for the unmount of volume sub", "UnmountVolume of sub", "next retry after 32 s", "EBUSY"},
		"kubelet-1.17.4-orphan-leftover": {"Orphaned pod directories\n  3 in the last round, 3 at most", "orphan 002d97dc-e398-4e34-b510-38f52354ad29"},
		"kubelet-1.34.4-runtime-stopped": {"runtime-call-failed DeadlineExceeded", "pleg-unhealthy"},
		"kubelet-1.34.4-disk-pressure":   {"image-removed", "eviction-critical-pod default/web-lab-node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantInOrder(t, tellLogs(t, exitDone, capture(t, name, "kubelet.log.gz")).stdout, parts...)
		})
	}
}

func TestLogsReadStandardInput(t *testing.T) {
	t.Parallel()
	cmd := command(t, "logs", "--zone", "UTC", "-")
	cmd.Stdin = strings.NewReader("Nov 20 10:00:02 worker-1 kubelet[2588]: E1120 10:00:02.000001    2588 kubelet_volumes.go:154] Orphaned pod \"11111111-2222-3333-4444-555555555555\" found, but volume paths are still present on disk : There were a total of 7 errors similar to this. Turn up verbosity to see them.\n")
	o := finish(t, cmd)
	if o.status != exitDone || o.stderr != "" {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	wantInOrder(t, o.stdout, "-: read, kubelet (syslog+klog), 1 line", "orphan 11111111-2222-3333-4444-555555555555", "line 1: ")
}

func TestLogsReadTheFilesOfALogInTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var names []string
	now := time.Now().UTC().Add(-time.Hour)
	for i, name := range []string{"kubelet.log", "kubelet.log.1"} { // as a shell lists them: the newest first
		at := now.Add(-time.Duration(i) * 10 * time.Minute)
		line := fmt.Sprintf("I%s    2588 kubelet.go:2531] \"SyncLoop DELETE\" source=\"api\" pods=[\"default/web-%d\"]\n", at.Format("0102 15:04:05.000000"), i)
		names = append(names, filepath.Join(dir, name))
		if err := os.WriteFile(names[i], []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := story(t, names...)
	if len(s.Files) != 2 || s.Files[0].Path != names[1] || s.Files[1].Path != names[0] {
		t.Errorf("%+v", s.Files)
	}
	if s = story(t, append(names, "--since", "65m")...); s.Files[0].Selected != 1 || len(s.Events) != 1 || s.Events[0].PodName != "default/web-0" {
		t.Errorf("since 65 minutes: %+v", s.Events)
	}
}

func TestLogsMaskSecrets(t *testing.T) {
	t.Parallel()
	cmd := command(t, "logs", "-o", "json", "-")
	cmd.Stdin = strings.NewReader("E1120 10:00:02.000001    2588 server.go:1] \"command failed\" err=\"failed to run Kubelet: Authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlc2lnbmF0dXJl\"\n")
	o := finish(t, cmd)
	if strings.Contains(o.stdout, "eyJpc3Mi") || !strings.Contains(o.stdout, "failed to run Kubelet") {
		t.Errorf("%s", o.stdout)
	}
}

func TestLogsNameWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	well := capture(t, "kubelet-1.34.4-hung-csi", "kubelet.log.gz")
	missing := filepath.Join(t.TempDir(), "missing")
	o := tellLogs(t, exitDone, well, missing)
	wantOneLine(t, o.stderr, missing)
	wantInOrder(t, o.stdout, "Sync loop")
	tellLogs(t, exitFailed, missing)
	tellLogs(t, exitFailed, t.TempDir())
	tellLogs(t, exitUsage)
	tellLogs(t, exitUsage, "--since", "yesterday", well)
	tellLogs(t, exitUsage, "--zone", "Atlantis", well)
}

func TestAnalyzeKnowsLogs(t *testing.T) {
	t.Parallel()
	const name = "kubelet-1.34.4-unmount-busy"
	r := analyze(t, exitDone, capture(t, name, "kubelet.log.gz"), capture(t, name, "goroutine.debug2")).report(t)
	if r.Evidence.Logs == nil || len(r.Evidence.Logs.Deletions) != 1 || len(r.Evidence.Dumps) != 1 {
		t.Fatalf("logs %v, %d dumps", r.Evidence.Logs, len(r.Evidence.Dumps))
	}
	read := 0
	for _, s := range r.Coverage {
		if strings.HasPrefix(s.Source, forensics.SourceLogs) && s.Status == forensics.SourceRead {
			read++
		}
	}
	if read != 2 {
		t.Errorf("the coverage does not name the logs: %+v", r.Coverage)
	}
}

func TestAnalyzeFindsTheDumpInALog(t *testing.T) {
	t.Parallel()
	dump, err := os.ReadFile(capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "kubelet.log")
	if err := os.WriteFile(log, append([]byte("I1120 10:00:02.000001    2588 server.go:1] x\n"), dump...), 0o600); err != nil {
		t.Fatal(err)
	}
	r := analyze(t, exitDone, log).report(t)
	finding(t, r, "kubelet-housekeeping-blocked")
	if r.Evidence.Logs == nil {
		t.Error("the log is not read")
	}
}

// TestLogsOfOnePod asks for a pod by its name and by its UID; lines that have one of these only are found by both.
func TestLogsOfOnePod(t *testing.T) {
	t.Parallel()
	log := capture(t, "kubelet-1.34.4-unmount-busy", "kubelet.log.gz")
	all := story(t, log)
	byName, byUID := story(t, "--pod", "default/web-lab-node-1", log), story(t, "--pod", "2fa11937efabc40db85278b553e1ceeb", log)
	if n := len(byName.Events); n == 0 || n >= len(all.Events) || len(byName.Files) != 1 || byName.Loop != nil {
		t.Errorf("%d of %d events, %d files", n, len(all.Events), len(byName.Files))
	}
	if diff := cmp.Diff(byName, byUID); diff != "" {
		t.Errorf("the UID shows something else: %s", diff)
	}
	for _, e := range byName.Events {
		if e.PodUID != "2fa11937efabc40db85278b553e1ceeb" && e.PodName != "default/web-lab-node-1" {
			t.Errorf("an event of another pod: %+v", e)
		}
	}
	pods := filepath.Join(t.TempDir(), "kubelet.log") // a StatefulSet makes a pod of the same name again
	const killed = "E1124 10:00:0%d.000000    1200 pod_workers.go:1300] \"Error syncing pod, skipping\" err=\"x\" pod=\"shop/cart-0\" podUID=\"0b5d2a54-6ffa-4d31-9a2b-7e13c40f1f7%d\"\n"
	if err := os.WriteFile(pods, fmt.Appendf(nil, killed+killed, 1, 1, 2, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := finish(t, command(t, "logs", "--pod", "shop/cart-0", pods)); !strings.Contains(o.stderr, "shop/cart-0 is the name of 2 pods in these logs") {
		t.Errorf("two pods of one name: %q", o.stderr)
	}
	for pod, says := range map[string]string{"default/web-lab-node-2": "did you mean default/web-lab-node-1?", "shop/cart-0": "they name default/web-lab-node-1"} {
		o := finish(t, command(t, "logs", "--pod", pod, log))
		if o.status != exitFailed || o.stdout != "" || !strings.Contains(o.stderr, says) {
			t.Errorf("%s: exit status %d, %q; want %q", pod, o.status, o.stderr, says)
		}
	}
}
