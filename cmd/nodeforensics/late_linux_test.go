package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/report"
)

// slowText is much work to look through for secrets.
var slowText = strings.Repeat(`token='token="`, 8<<10/14)

// slowProcesses are so many that masking them takes this machine about as long as is asked, and a last one with a secret.
func slowProcesses(t *testing.T, long time.Duration) forensics.Evidence {
	t.Helper()
	e := forensics.NewEvidence()
	slow := procs.Process{PID: 7, Comm: slowText, Command: []string{"x"}}
	mask := func(n int) time.Duration {
		sample := forensics.NewEvidence()
		sample.Processes = slices.Repeat([]procs.Process{slow}, n)
		began := time.Now()
		if _, err := mask.Until(t.Context(), &sample, []byte("key"), false); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	const some = 20
	once := min(mask(some), mask(some), mask(some), mask(some)) / some // the first makes tables, and others use the machine, too
	e.Processes = slices.Repeat([]procs.Process{slow}, min(int(long/once), 6000))
	e.Processes = append(e.Processes, procs.Process{PID: 8, Comm: "y", Command: []string{"y", "--password=hunter2horse"}})
	return e
}

// TestMaskingStaysWithinTheTimeout has a file of which masking takes several times as long as there is time. How much time
// there has to be for the file to be read depends on the machine, and is found out.
func TestMaskingStaysWithinTheTimeout(t *testing.T) {
	if raceEnabled {
		t.Skip("masking takes the race detector longer than anything else that is measured here")
	}
	for timeout := 2500 * time.Millisecond; timeout <= 40*time.Second; timeout *= 2 {
		if maskingIsCut(t, timeout) {
			return
		}
	}
	t.Error("no masking was cut")
}

// tooLate is what is said where the time was up before masking, or before what was masked was written.
var tooLate = regexp.MustCompile(`there is no result|no file could be read|not all files were read|no report is written|could not be written in time`)

// maskingIsCut says that the time was enough for all but masking, and wants that to have been cut then.
func maskingIsCut(t *testing.T, timeout time.Duration) bool {
	t.Helper()
	e := slowProcesses(t, 5*timeout)
	file := filepath.Join(t.TempDir(), "slow.json")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(f, report.New(report.Tool{}, e, forensics.Analysis{})); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	runs, enough := map[string]func() outcome{}, true
	for _, name := range []string{"analyze", "render"} {
		dir := t.TempDir()
		wait := start(t, command(t, name, file, "--output-dir", dir, "--timeout", timeout.String()))
		runs[name] = func() outcome { o := wait(); o.dir = dir; return o }
	}
	for command, wait := range runs {
		o := wait()
		if o.status != exitFailed {
			t.Fatalf("%s: exit status %d\n%s", command, o.status, o.stderr)
		}
		if o.took > timeout+lastResort+late {
			t.Errorf("%s: it took %v", command, o.took)
		}
		if tooLate.MatchString(o.stderr) {
			t.Logf("%s: %v are too little: %s", command, timeout, o.stderr)
			enough = false
			continue
		}
		checkMaskingWasCut(t, command, o, len(e.Processes))
	}
	return enough
}

func checkMaskingWasCut(t *testing.T, command string, o outcome, processes int) {
	t.Helper()
	r := o.report(t)
	if n := len(r.Evidence.Processes); n == 0 || n >= processes {
		t.Errorf("%s: %d of %d processes are left", command, n, processes)
	}
	const says = "the timeout expired before secrets were masked in processes"
	html := readFile(t, o.file(t, ".html"))
	if !strings.Contains(o.stderr, says) || !strings.Contains(html, says) || !strings.Contains(fmt.Sprint(r.Coverage), says) {
		t.Errorf("%s does not say what is missing: %s", command, o.stderr)
	}
	for _, text := range []string{o.stdout, o.stderr, html, readFile(t, o.file(t, ".json"))} {
		if strings.Contains(text, "hunter2horse") || strings.Contains(text, slowText) {
			t.Errorf("%s: what was not masked is there", command)
		}
	}
	for _, outcome := range r.Outcomes {
		if command == "analyze" && outcome.Status != forensics.OutcomeNotChecked {
			t.Errorf("%s was checked with a part of the evidence: %s", outcome.Check, outcome.Status)
		}
	}
}

func TestLogsThatCannotBeMaskedAreLeftOut(t *testing.T) {
	story := logs.Story{Events: []logs.Event{{Quotes: []logs.Quote{{Text: "password=hunter2horse"}}}}}
	a := quietApp(t)
	if got := a.maskedLogs(story, time.Now()); len(got.Events) > 0 || a.status.Load() != exitFailed {
		t.Errorf("exit status %d with %+v", a.status.Load(), got)
	}
	a = quietApp(t)
	if got := a.maskedLogs(story, time.Now().Add(time.Hour)); len(got.Events) != 1 || strings.Contains(got.Events[0].Quotes[0].Text, "hunter2") || a.status.Load() != exitDone {
		t.Errorf("exit status %d with %+v", a.status.Load(), got)
	}
}

func quietApp(t *testing.T) *app {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return &app{out: newTerminal(null), err: newTerminal(null)}
}

// TestLateRenderingIsCut gives the program all of a report but its last byte, and that one only when little time is left: too
// little for millions of numbers to be written, which are nothing to mask. How little that is, and how long reading them takes, depends
// on the machine, and is found out.
func TestLateRenderingIsCut(t *testing.T) {
	if raceEnabled {
		t.Skip("rendering takes the race detector longer than the time that is left for it")
	}
	numbers := strings.Repeat("18446744073709551615,", 1_500_000)
	text := `{"schema":"` + report.Schema + `","findings":[{"id":"mount-hung","severity":"critical","confidence":"certain","title":"planted finding","subject":{"kind":"mount","id":"59"}}],` +
		`"evidence":{"mount_use":{"uninhabited_namespaces":[` + numbers + `1]}}}`
	timeout, left := 3*time.Second, 300*time.Millisecond
	for range 12 {
		timeout = max(timeout, 2*left)
		dir := t.TempDir()
		cmd := command(t, "render", "-", "--output-dir", dir, "--timeout", timeout.String())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		wait := start(t, cmd)
		began := time.Now()
		_, early := io.WriteString(in, text[:len(text)-1])
		time.Sleep(time.Until(began.Add(timeout - left)))
		_, late := io.WriteString(in, text[len(text)-1:])
		_ = in.Close()
		o := wait()
		o.dir = dir
		t.Logf("with %v left: exit status %d after %v: %s", left, o.status, o.took, o.stderr)
		switch {
		case errors.Join(early, late) != nil: // it did not wait for them
			timeout, left = 2*timeout, 2*left
		case o.status == exitDone:
			left /= 2
		case !strings.Contains(o.stderr, "the json could not be written in time; it has the findings without the evidence"):
			left *= 2
		default:
			checkLate(t, o)
			return
		}
	}
	t.Error("no rendering was cut")
}

func checkLate(t *testing.T, o outcome) {
	t.Helper()
	if o.status != exitFailed {
		t.Errorf("exit status %d", o.status)
	}
	const says = "timed out before the report was written: the evidence is omitted"
	r, html := o.report(t), readFile(t, o.file(t, ".html"))
	if !strings.Contains(fmt.Sprint(r.Coverage), says) || !strings.HasSuffix(strings.TrimSpace(html), "</html>") { // the page may have been done in time
		t.Errorf("the report does not say that it was cut, or is not whole: %v", r.Coverage)
	}
	if len(r.Findings) != 1 || r.Findings[0].Title != "planted finding" || !strings.Contains(html, "planted finding") {
		t.Errorf("the finding is missing: %+v", r.Findings)
	}
	if r.Evidence.MountUse != nil {
		t.Error("the evidence is there")
	}
}
