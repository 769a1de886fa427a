package report_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

var pages = flag.String("pages", "", "directory to keep the pages of the browser test in, to look at them")

// expectation is what check.mjs is told about a page.
type expectation struct {
	Findings    int  `json:"findings"`
	Interactive bool `json:"interactive"`  // filter, sort, search and copy are tried
	Large       bool `json:"large"`        // the accessibility rules, which take a second per thousand elements, are left out
	Brief       bool `json:"brief"`        // two views instead of four
	FirstScreen bool `json:"first_screen"` // the first command is on the first screen
	Fleet       bool `json:"fleet"`        // a summary of many nodes: sort, search and the way to the page of a node are tried
}

// TestBrowser opens reports in a real browser: nothing runs or loads that came from the node, no console message,
// headings in order, the accessibility rules of axe, no horizontal scrolling, and what the script adds works.
func TestBrowser(t *testing.T) {
	chromium, node := browser(t)
	dir := *pages
	if dir == "" {
		dir = t.TempDir()
	}
	hung := load(t, "hung-mount")
	writePage := func(name, html string, want expectation) {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{name + ".html": []byte(html), name + ".json": data} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(name string, r report.Report, want expectation) {
		want.Findings = len(r.Findings)
		writePage(name, page(t, r), want)
	}
	write("hung-mount", hung, expectation{Interactive: true, FirstScreen: true})
	write("healthy", load(t, "healthy"), expectation{Brief: true})
	write("nothing-checked", load(t, "nothing-checked"), expectation{Brief: true})
	write("hostile", bent(t, payload), expectation{})
	write("hostile-everywhere", filled(payload), expectation{Brief: true})
	write("monster", monster(""), expectation{Large: true, Brief: true})
	for _, name := range captureNames {
		write(name, captured(t, name), expectation{Brief: true, FirstScreen: name == "kubelet-1.34.4-hung-csi" || name == "kubelet-1.17.4-hung-cephfs"})
	}

	writePage("fleet", fleetPage(t, "worker"), expectation{Fleet: true, FirstScreen: true})
	writePage("fleet-hostile", fleetPage(t, payload), expectation{Brief: true})

	cmd := exec.Command(node, filepath.Join("testdata", "browser", "check.mjs"), chromium, dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Parallel() // the other tests of the package go on meanwhile
	if err := cmd.Wait(); err != nil {
		t.Errorf("check.mjs: %v\n%s", err, stderr.Bytes())
	}
	if !reportProblems(t, stdout.Bytes()) {
		t.Error("check.mjs did not come to its end")
	}
}

// fleetPage is a summary of nodes of which most have one cause and some another one, and whose pages are that of hung-mount.
func fleetPage(t *testing.T, name string) string {
	t.Helper()
	var r fleet.Reader
	reports := []report.Report{load(t, "hung-mount"), load(t, "healthy"), load(t, "nothing-checked")}
	for _, capture := range captureNames {
		reports = append(reports, captured(t, capture))
	}
	for i := range 6 {
		again := reports[0]
		again.Evidence.Collected = again.Evidence.Collected.Add(time.Duration(i) * time.Minute)
		reports = append(reports, again)
	}
	for i, one := range reports {
		one.Node.Name = fmt.Sprintf("%s-%d", name, i)
		var text bytes.Buffer
		if err := report.JSON(&text, one); err != nil {
			t.Fatal(err)
		}
		if err := r.Read("r.json", "hung-mount.html", &text); err != nil {
			t.Fatal(err)
		}
	}
	r.NotExamined(name+"-99", "", "timed out "+name)
	var html bytes.Buffer
	if err := fleet.HTML(&html, r.Summary()); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

// reportProblems fails the test for each line of check.mjs and says whether the last one was reached.
func reportProblems(t *testing.T, out []byte) (done bool) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var p struct {
			Where, What, Detail string
			Done                bool
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Errorf("check.mjs wrote %q", lines.Bytes())
			continue
		}
		if p.Done {
			done = true
			continue
		}
		t.Errorf("%s: %s: %s", p.Where, p.What, p.Detail)
	}
	return done
}

// browser finds Chromium and Node, or skips.
func browser(t *testing.T) (chromium, node string) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a browser some seconds")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	if _, err := os.Stat(filepath.Join("testdata", "browser", "node_modules", "playwright-core")); err != nil {
		t.Skip("no playwright-core: run report/testdata/browser/install")
	}
	// The shell without windows does the same with a quarter less work.
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, node
		}
	}
	t.Skip("no Chromium in PATH, and CHROMIUM is not set")
	return "", ""
}
