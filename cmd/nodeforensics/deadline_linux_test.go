package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// late is how long after its --timeout a run may end, on a machine that other tests use, too.
const late = 3 * time.Second

func TestManyPodsStayWithinTheTimeout(t *testing.T) {
	if raceEnabled {
		t.Skip("80,000 pods take the race detector longer than any timeout")
	}
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	v := someVolume()
	server := mountVolume(t, root, testfuse.NewUID(), v)
	startKubelet(t, root, "--more-pods=80000")
	hangUnder(t, server)
	const timeout = 40 * time.Second // ten would do on a machine with nothing else to do
	var o outcome
	var r report.Report
	for range 3 { // a busy machine may take longer for the list than the kubelet is waited for
		o = examine(t, exitDone, "--timeout", timeout.String(), "--hung-after", "1s", "--interval", "0")
		if o.took > timeout+late {
			t.Errorf("it took %v", o.took)
		}
		if r = o.report(t); coverage(t, r, forensics.SourceKubeletPods).Status != forensics.SourceTimeout {
			break
		}
	}
	leftOut(80_001)(t, r)
	finding(t, r, "mount-hung")
	if page := readFile(t, o.file(t, ".html")); !strings.Contains(page, " are not on this page. The JSON report has all of them.") {
		t.Error("the page does not say that the pods were cut")
	}
}

func TestADeadOutputStaysWithinTheTimeout(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, strayDir(t), testfuse.Options{Files: map[string]string{"out/": ""}})
	server.Hang()
	const timeout = 8 * time.Second
	o := finish(t, command(t, "--output-dir", filepath.Join(server.MountPoint(), "out"), "--no-probe", "--timeout", timeout.String()))
	if o.took > timeout+late || o.status != exitFailed {
		t.Errorf("exit status %d after %v", o.status, o.took)
	}
	if !strings.Contains(o.stderr, "written to "+fallback) {
		t.Errorf("it does not say where the report is: %s", o.stderr)
	}
	for _, name := range namesIn(t, fallback) {
		if strings.HasPrefix(name, "nodeforensics-"+nodeName) {
			t.Cleanup(func() { _ = os.Remove(filepath.Join(fallback, name)) })
		}
	}
}

// TestTooLittleTimeForTheVerdictIsSaid wants to be told that no mount can be called hung in the time that there is.
func TestTooLittleTimeForTheVerdictIsSaid(t *testing.T) {
	if !onNode(t) {
		return
	}
	for timeout, want := range map[string]bool{"20s": true, "1m": false} {
		o := finish(t, command(t, "--output-dir", t.TempDir(), "--timeout", timeout))
		if got := strings.Contains(o.stderr, "may not be recognized"); got != want {
			t.Errorf("--timeout %s: %q", timeout, o.stderr)
		}
	}
}

// TestFilesThatTakeTooLong has a report with more evidence than can be read in a second.
func TestFilesThatTakeTooLong(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big.json")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"schema":"` + report.Schema + `","evidence":{"pods":[`)
	for pods := strings.Repeat(`{"uid":"x","name":"y","source":"kubelet"},`, 1000); err == nil && size(t, f) < 160<<20; {
		_, err = f.WriteString(pods) // in pieces: what this process takes counts for its children (getrusage(2), ru_maxrss)
	}
	if _, last := f.WriteString("{}]}}"); err != nil || last != nil || f.Close() != nil {
		t.Fatal(err, last)
	}
	for _, args := range [][]string{{"render", big}, {"plan", big}, {"analyze", big, "--output-dir", t.TempDir()}} {
		o := finish(t, command(t, append(args, "--timeout", "1s")...))
		refused := strings.Contains(o.stderr, "MB") // as too large, where that is seen before the time is up
		if o.took > time.Second+lastResort+late || o.status != exitFailed || !refused && strings.Count(o.stderr, "--timeout") != 1 {
			t.Errorf("%s: exit status %d after %v, %q", args[0], o.status, o.took, o.stderr)
		}
	}
}

func size(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
