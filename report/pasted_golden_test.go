package report_test

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestGoldenPasted holds what is shown of one pasted incident of each check to what was shown before: in the terminal, in a ticket, and, of
// some, the words of the page.
func TestGoldenPasted(t *testing.T) {
	var brief, verbose, tickets, pages strings.Builder
	for i, name := range onePerCheck(t) {
		r := reportOf(t, name)
		heading := fmt.Sprintf("==== %s\n", name)
		brief.WriteString(heading + text(t, r, report.TextOptions{}))
		verbose.WriteString(heading + text(t, r, report.TextOptions{Verbose: true}))
		tickets.WriteString(heading + markdown(t, r))
		if i%6 == 0 { // a page has the results of all checks
			pages.WriteString(heading + wordsOf(page(t, r)))
		}
	}
	golden.Check(t, "pasted.txt.golden", brief.String())
	golden.Check(t, "pasted.verbose.golden", verbose.String())
	golden.Check(t, "pasted.md.golden", tickets.String())
	golden.Check(t, "pasted.page.golden", pages.String())
}

const pastedFiles = "../forensics/checks/testdata/pasted/"

// onePerCheck lists the first sample of each check.
func onePerCheck(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile(pastedFiles + "expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		row := strings.Split(line, "\t")
		if len(row) < 3 || strings.HasPrefix(row[0], "#") || strings.HasPrefix(row[0], "dir-") {
			continue
		}
		if id, _, _ := strings.Cut(row[1], "|"); !seen[id] {
			seen[id] = true
			names = append(names, row[0])
		}
	}
	return names
}

// reportOf is the report of a sample that was saved on a certain day.
func reportOf(t *testing.T, name string) report.Report {
	t.Helper()
	text, err := os.ReadFile(pastedFiles + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	nodes, _ := read.Files(t.Context(), read.Options{Now: saved}, read.FSFile(fstest.MapFS{"paste.txt": {Data: text, ModTime: saved}}, "paste.txt"))
	for i := range nodes[0].Coverage {
		nodes[0].Coverage[i].Seconds = 0
	}
	return report.New(report.Tool{Name: "nodeforensics", Version: "golden"}, nodes[0], forensics.Analyze(&nodes[0], checks.All()))
}

var (
	tags   = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s*\n\s*`)
)

// wordsOf are the words of a page.
func wordsOf(page string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, "\n")), "\n")) + "\n"
}
