package fleet_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

// someFleet has a dead server on three nodes, an own cause on one, well nodes, and one that was not reached.
func someFleet(tb testing.TB) fleet.Summary {
	tb.Helper()
	var r fleet.Reader
	for i := range 9 {
		n := node{name: fmt.Sprintf("worker-%d", i+4), kernel: "6.1.0-31", version: "1.34.4", nfs: i, collected: at("10:40:00")}
		switch {
		case i < 3:
			n.dead, n.kernel = []string{"10.0.0.5:/export"}, "6.1.0-28"
		case i == 3:
			n.dead = []string{"nas.example.org:/home"}
		case i == 8:
			n.more = func(e *forensics.Evidence) { e.Collector.Interrupted = "the deadline of 60 s passed" }
		}
		page := ""
		if i%2 == 0 {
			page = fmt.Sprintf("pages of/worker-%d.html", i+4)
		}
		if err := r.Read(n.name+".json", page, bytes.NewReader(jsonOf(tb, n.report()))); err != nil {
			tb.Fatal(err)
		}
	}
	r.NotExamined("worker-99", "", "no answer within 30 s")
	_ = r.Read("broken.json", "", strings.NewReader(`{"schema":`))
	return r.Summary()
}

var embedded = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|sha256-[^'&]*`)

func TestGolden(t *testing.T) {
	s := someFleet(t)
	var page, json, short, verbose, quiet bytes.Buffer
	for _, err := range []error{
		fleet.HTML(&page, s), fleet.JSON(&json, s), fleet.Text(&short, s, report.TextOptions{Files: []string{"fleet.html"}}),
		fleet.Text(&verbose, s, report.TextOptions{Verbose: true, Width: 100}), fleet.Text(&quiet, s, report.TextOptions{Quiet: true, Color: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "fleet.html.golden", embedded.ReplaceAllString(page.String(), "…"))
	golden.Check(t, "fleet.json.golden", json.String())
	golden.Check(t, "fleet.txt.golden", short.String())
	golden.Check(t, "fleet.verbose.golden", verbose.String())
	golden.Check(t, "fleet.quiet.golden", quiet.String())
}

// A page of many nodes stays below its limit, and says what it leaves out.
func TestThePageIsBounded(t *testing.T) {
	var r fleet.Reader
	long := strings.Repeat("n", 60)
	for i := range 10_000 {
		id := fmt.Sprintf(`,"identity":{"check":"mount-hung","trouble":"A file system does not respond","kind":"file-system","id":"NFS 10.0.%d.%d","shared":true}`, i%90, i%7)
		if err := r.Read("r.json", fmt.Sprintf("reports/%s-%d.html", long, i), strings.NewReader(sickWith(fmt.Sprintf("%s-%d", long, i), id))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10_000 {
		r.NotExamined(fmt.Sprintf("gone-%d", i), strings.Repeat("<", 500), "no answer")
	}
	s := r.Summary()
	var page bytes.Buffer
	if err := fleet.HTML(&page, s); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 3_000_000 {
		t.Errorf("%d bytes", page.Len())
	}
	for _, want := range []string{"have no details on this page", "more are not on this page. The JSON has all of them."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Whoever reads the page learns how many causes it leaves out.
func TestThePageCountsTheCausesWithoutDetails(t *testing.T) {
	var r fleet.Reader
	const all = 200
	for i := range all {
		id := fmt.Sprintf(`,"identity":{"check":"mount-hung","trouble":"A file system does not respond","kind":"file-system","id":"NFS 10.0.0.%d","shared":true}`, i)
		if err := r.Read("r.json", "", strings.NewReader(sickWith(fmt.Sprintf("n-%d", i), id))); err != nil {
			t.Fatal(err)
		}
	}
	var page bytes.Buffer
	if err := fleet.HTML(&page, r.Summary()); err != nil {
		t.Fatal(err)
	}
	shown := strings.Count(page.String(), `<article class="card`)
	if want := fmt.Sprintf("%d more causes have no details", all-shown); shown == 0 || shown == all || !strings.Contains(page.String(), want) {
		t.Errorf("%d causes are shown, and the page does not say %q", shown, want)
	}
}

// BenchmarkRead reads reports of some 300 kB, of which it keeps little.
func BenchmarkRead(b *testing.B) {
	n := node{name: "worker-1", dead: []string{"10.0.0.5:/export"}, collected: at("10:40:00"), more: func(e *forensics.Evidence) {
		for i := range 1000 {
			m := e.Mounts.Mounts[0]
			m.ID, m.MountPoint = 1000+i, fmt.Sprintf("/var/lib/kubelet/pods/%d/volumes/kubernetes.io~projected/kube-api-access", i)
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		}
	}}
	text := jsonOf(b, n.report())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var r fleet.Reader
		if err := r.Read("r.json", "", bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
