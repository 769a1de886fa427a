package report_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/report"
)

var (
	timelineSVG = regexp.MustCompile(`(?s)<figure class="timeline">.*?</figure>`)
	timelineBar = regexp.MustCompile(`<g( class="(?:open|told)")?><title>([^<]*)</title><rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)"`)
	timelineRow = regexp.MustCompile(`<tr id="timeline-\d+"`)
)

func TestTimelineDrawsEachMomentToScale(t *testing.T) {
	html := page(t, load(t, "hung-mount"))
	svg := timelineSVG.FindString(html)
	bars := timelineBar.FindAllStringSubmatch(svg, -1)
	if rows := timelineRow.FindAllString(html, -1); len(bars) != len(rows) || len(bars) < 10 {
		t.Errorf("%d bars, %d rows in the table", len(bars), len(rows))
	}
	x := map[string]float64{}
	type box struct{ x, w float64 }
	rows := map[string][]box{}
	for _, m := range bars {
		from, _ := strconv.ParseFloat(m[3], 64)
		wide, _ := strconv.ParseFloat(m[5], 64)
		if from < 0 || wide < 5 || from+wide > 1080 {
			t.Errorf("%s is drawn from %g, %g wide", m[2], from, wide)
		}
		for _, other := range rows[m[4]] {
			if from < other.x+other.w && other.x < from+wide {
				t.Errorf("%s is drawn over another bar", m[2])
			}
		}
		rows[m[4]] = append(rows[m[4]], box{x: from, w: wide})
		x[strings.Fields(m[2])[0]+m[1]] = from
	}
	for _, want := range []string{`class="told"`, `class="open"`, "root cause 1 starts", ">10:00<", "2026-11-20"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %s", want)
		}
	}
	if x["no class=\"told\""] < x["orphaned class=\"told\""] {
		t.Errorf("the silence of the sync loop is not behind the first orphan: %v", x)
	}
}

// A finding that quotes a line of a log leads to where that is shown.
func TestQuotesOfLogsAreLinked(t *testing.T) {
	html := page(t, load(t, "hung-mount"))
	link := regexp.MustCompile(`<a href="#((?:timeline|event)-\d+)">logs:/var/log/kubelet.log:(\d+)</a>`)
	all := link.FindAllStringSubmatch(html, -1)
	if len(all) != 2 {
		t.Fatalf("%d links to lines of logs", len(all))
	}
	for _, m := range all {
		_, row, _ := strings.Cut(html, `<tr id="`+m[1]+`"`)
		if row, _, _ = strings.Cut(row, "</tr>"); !strings.Contains(row, "kubelet.log:"+m[2]) {
			t.Errorf("%s does not quote line %s", m[1], m[2])
		}
	}
}

func TestDeletionShowsWhereItStands(t *testing.T) {
	html := page(t, load(t, "hung-mount"))
	_, list, _ := strings.Cut(html, `<ol class="stages">`)
	list, _, _ = strings.Cut(list, "</ol>")
	for _, want := range []string{
		`<b>containers</b><span class="m good">done</span><span>30 s</span>`,
		`aria-current="step"><b>volumes</b><span class="m bad">stuck here</span><span>33 min</span>`,
		`<b>cgroup</b><span class="m quiet">not reached</span>`,
		`<b>killing</b><span class="m quiet">not logged</span>`,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
	if n := strings.Count(list, "<li "); n != 8 {
		t.Errorf("%d stages", n)
	}
}

func TestTimelineOfOddLogs(t *testing.T) {
	odd := func(change func(*report.Report)) string {
		r := load(t, "hung-mount")
		change(&r)
		html := page(t, r)
		checkPage(t, html)
		return html
	}
	if html := odd(func(r *report.Report) { r.Evidence.Logs = nil }); strings.Contains(html, `id="timeline"`) || strings.Contains(html, `id="logs"`) {
		t.Error("there is a timeline without logs")
	}
	html := odd(func(r *report.Report) {
		s := r.Evidence.Logs
		s.Lives, s.Loop, s.Deletions, s.Operations = nil, nil, nil, nil
		s.Events = s.Events[:1]
		s.Events[0].Last = s.Events[0].First
	})
	if timelineSVG.MatchString(html) || !strings.Contains(html, "1 event as a table") {
		t.Error("a single event has no length to draw, but a table")
	}
	html = odd(func(r *report.Report) { r.Diagnoses[0].Findings = []int{99} })
	if !timelineSVG.MatchString(html) {
		t.Error("an index that leads nowhere costs the timeline")
	}
	html = odd(func(r *report.Report) { // a clock that was wrong for a while
		early := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
		r.Evidence.Logs.Events[0].First = &early
	})
	if !strings.Contains(html, "1970-01-01") {
		t.Error("an event long ago is not told")
	}
}
