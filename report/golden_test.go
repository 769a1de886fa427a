package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/report"
)

// load reads a report written by hand.
func load(t testing.TB, name string) report.Report {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := report.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func page(t testing.TB, r report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(t testing.TB, r report.Report, opt report.TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var embedded = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'|&#39;sha256-[^&]*&#39;`)

// body is a page without its style sheet and script, whose change is no change of what the page says.
func body(html string) string {
	return embedded.ReplaceAllStringFunc(html, func(s string) string { return s[:min(len(s), 7)] + "…" })
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
		t.Run(name, func(t *testing.T) {
			r := load(t, name)
			golden.Check(t, name+".html.golden", body(page(t, r)))
			golden.Check(t, name+".txt.golden", text(t, r, report.TextOptions{Files: []string{"/tmp/nodeforensics-x.html"}}))
			var tickets strings.Builder
			for _, d := range r.Diagnoses {
				tickets.WriteString(report.Plain(d) + "\n----\n" + report.MarkdownOf(d) + "\n----\n")
			}
			golden.Check(t, name+".ticket.golden", tickets.String())
			golden.Check(t, name+".verbose.golden", text(t, r, report.TextOptions{Verbose: true}))
			golden.Check(t, name+".md.golden", markdown(t, r))
		})
	}
}

// TestGoldenHolders holds what `nodeforensics holders` says of a mount: two files of one process, a process that was not read, and a
// call under way.
func TestGoldenHolders(t *testing.T) {
	e := load(t, "hung-mount").Evidence
	e.MountUse = &forensics.MountUse{Holders: []holders.Holder{
		{PID: 10411, Kind: holders.HoldFD, FD: 7, Path: "/data/log", MountID: 60, Device: "0:47"},
		{PID: 10411, Kind: holders.HoldFD, FD: 8, Path: "/data/old", MountID: 60, Device: "0:47", Deleted: true},
		{PID: 999, Kind: holders.HoldCwd, FD: -1, Path: "/data", MountID: 60, Device: "0:47"},
	}}
	model := forensics.NewModel(&e)
	mount, ok := model.Host().ByID(60)
	if !ok {
		t.Fatal("no mount 60")
	}
	var b bytes.Buffer
	if err := report.WriteHolders(&b, &e, []report.MountHolders{{Query: mount.MountPoint, Mounts: []forensics.MountUsers{model.Uses().Of(mount)}}}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "hung-mount.holders.golden", b.String())
}
