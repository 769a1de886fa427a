package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// page is the model of the HTML page. Text of the node is in it as [shown] only.
type page struct {
	frame.Frame

	Title  shown
	Worst  tone
	Facts  []fact
	Counts []mark
	Nav    []navItem

	Verdicts []verdictView
	Brief    []briefVerdict
	Others   []otherView
	Harmless *otherView
	More     int // root causes and other problems that had no room
	Calm     *calm
	Missing  *missingView
	Findings findingsView
	Outcomes []outcomeRow
	Sections []sectionView

	Timeline  *timelineView
	Deletions *deletionsView

	Mounts     mountsView
	Holders    holdersView
	Threads    threadsView
	Goroutines []dumpView
	// NoGoroutines, NoKubelet and NoDisks say why there are none.
	NoGoroutines, NoKubelet, NoDisks shown
	CPU                              *cpuView
	Pods                             podsView
	Containers                       containersView
	Kubelet                          *kubeletView
	Disks                            *disksView
	Processes                        processesView
	Logs                             *logsView
	Coverage                         []sourceRow
	Run                              runView
}

// mark is a word with a tone.
type mark struct {
	Tone tone
	Word shown
}

// fact is one line of a list of facts.
type fact struct {
	Name  shown
	Value shown
}

// link is text that may lead to a place on the page.
type link struct {
	Text shown
	Href string // "#id", or empty
}

type navItem struct {
	Href, Text string
	Count      string
	Sub        bool
}

// The limits of the page, in bytes of a part. Together they stay below 3 MB for any node.
const (
	budgetVerdicts   = 240 << 10
	budgetFindings   = 360 << 10
	budgetTree       = 160 << 10
	budgetMounts     = 550 << 10
	budgetHolders    = 130 << 10
	budgetThreads    = 200 << 10
	budgetGoroutines = 280 << 10
	budgetFlame      = 100 << 10
	budgetPods       = 200 << 10
	budgetContainers = 100 << 10
	budgetProcesses  = 120 << 10
	budgetTimeline   = 100 << 10
	budgetDeletions  = 80 << 10
	budgetLogs       = 90 << 10
	budgetEvents     = 130 << 10
	budgetRest       = 100 << 10
	budgetSections   = 100 << 10

	maxCell    = 300  // bytes of one field in a table
	maxLine    = 1200 // bytes of a title or a sentence
	maxExcerpt = 4000 // bytes of a quotation
	maxTicket  = 64_000
)

// newPage judges nothing: it arranges what the report says. Evidence is arranged first, since the rest links to it.
func newPage(r Report) *page {
	places := newPlaces()
	r.model = r.joined()
	names := podNamesOf(r)
	places.names = &names
	p := &page{
		Title: cell(cmp.Or(r.Node.Name, "unknown node"), 100),
		Facts: headFacts(r),
	}
	p.Kubelet = newKubeletView(r, places)
	p.Mounts = newMountsView(r, names, places)
	p.Threads = newThreadsView(r, places)
	p.Goroutines = newDumpViews(r, places)
	p.NoGoroutines = emptyWords(r, forensics.SourceGoroutines, "The dump has no goroutines.")
	p.NoKubelet = emptyWords(r, forensics.SourceKubelet, "No kubelet found.")
	p.NoDisks = emptyWords(r, forensics.SourceDisks, "No disks found.")
	p.CPU = newCPUView(r.Evidence.CPUProfile)
	p.Pods = newPodsView(r, names, places)
	p.Disks = newDisksView(r, names, places)
	p.Processes = newProcessesView(r, names, places)
	p.Holders = newHoldersView(r, names, places)
	p.Containers = newContainersView(r, names, places)
	p.Timeline = newTimelineView(r, places)
	p.Deletions = newDeletionsView(r, names, places)
	p.Logs = newLogsView(r, places)
	p.Coverage = newCoverage(r)
	p.Run = newRunView(r)
	p.Findings = newFindingsView(r, names, places)
	p.Outcomes = newOutcomes(r, places)
	p.Sections = newSections(r)
	p.addVerdicts(r, names, places)
	p.addOthers(r, places)
	p.Missing = newMissing(r)
	p.addCounts(r)
	p.addNav(r)
	return p
}

// emptyWords says why a part of the page is empty: the source has nothing, or it was not collected.
func emptyWords(r Report, source string, none shown) shown {
	if ok, _ := r.Evidence.Saw(source); ok {
		return none
	}
	for _, s := range r.Evidence.Coverage {
		if s.Source == source || strings.HasPrefix(s.Source, source+":") {
			if s.Status == forensics.SourceAbsent {
				return cell("None found"+suffix(": ", s.Detail, ""), maxLine) + "."
			}
			return cell("Not collected: "+string(s.Status)+suffix(" (", s.Detail, ")"), maxLine) + "."
		}
	}
	return "Not collected."
}

// addCounts says in a few words what the page has.
func (p *page) addCounts(r Report) {
	p.Worst = toneQuiet
	if p.Calm != nil {
		p.Worst = p.Calm.Mark.Tone
		p.Counts = append(p.Counts, mark{p.Calm.Mark.Tone, p.Calm.Title})
	}
	for _, s := range []forensics.Severity{forensics.Critical, forensics.Warning, forensics.Info} {
		n := 0
		for _, d := range r.Diagnoses {
			if d.Severity == s {
				n++
			}
		}
		if n > 0 {
			p.Counts = append(p.Counts, mark{severityTone(s), severityCount(n, s)})
			if severityTone(s).rank() < p.Worst.rank() || p.Calm == nil && p.Worst == toneQuiet {
				p.Worst = severityTone(s)
			}
		}
	}
	if n := len(unchecked(r.Outcomes)); n > 0 {
		p.Counts = append(p.Counts, mark{toneQuiet, shown(fmt.Sprintf("not checked: %d of %d", n, len(r.Outcomes)))})
	}
}

// addNavItem adds one; n is a number beside it, -1 for none. It is not inlined: there would be 25 copies of it.
//
//go:noinline
func (p *page) addNavItem(href, text string, n int, sub bool) {
	item := navItem{Href: href, Text: text, Sub: sub}
	if n >= 0 {
		item.Count = grouped(int64(n))
	}
	p.Nav = append(p.Nav, item)
}

func (p *page) addNav(r Report) {
	add := p.addNavItem
	known := func(source string, n int) int { // without a number where nothing was collected
		if ok, _ := r.Evidence.Saw(source); !ok && n == 0 {
			return -1
		}
		return n
	}
	add("#verdict", "Diagnosis", -1, false)
	if len(p.Others)+len(p.Brief) > 0 || p.Harmless != nil {
		add("#others", "Other problems", -1, false)
	}
	if p.Missing != nil {
		add("#unchecked", "Not checked", p.Missing.Count, false)
	}
	add("#findings", "Findings", p.Findings.Total, false)
	if p.Logs != nil {
		n := -1
		if p.Timeline != nil {
			n = len(p.Timeline.Rows)
		}
		add("#timeline", "Events", n, false)
		if p.Deletions != nil {
			add("#deletions", "Deletions", len(p.Deletions.Stuck), true)
		}
	}
	for _, s := range p.Sections {
		add("#"+s.ID, string(s.Title), -1, false)
	}
	add("#checks", "Check results", len(p.Outcomes), false)
	add("#evidence", "Evidence", -1, false)
	add("#mounts", "Mounts", known(forensics.SourceMounts, p.Mounts.Total), true)
	add("#holders", "Mounts in use", known(forensics.SourceHolders, p.Holders.Total), true)
	add("#threads", "Blocked threads", known(forensics.SourceThreads, p.Threads.Total), true)
	total := 0
	if len(p.Goroutines) > 0 {
		total = p.Goroutines[0].Total // further dumps are mostly of the same process
	}
	add("#goroutines", "Goroutines", known(forensics.SourceGoroutines, total), true)
	add("#pods", "Pods", known(forensics.SourceKubeletPods, p.Pods.Total), true)
	add("#containers", "Containers", known(forensics.SourceRuntime, p.Containers.Total), true)
	add("#kubelet", "Kubelet", -1, true)
	if p.Disks != nil {
		add("#disks", "Disks", len(p.Disks.Disks), true)
	}
	add("#processes", "Processes", known(forensics.SourceProcesses, p.Processes.Total), true)
	if p.Logs != nil {
		add("#logs", "Logs", p.Logs.Total, true)
	}
	add("#coverage", "Sources", len(p.Coverage), false)
	add("#run", "Collection overhead", -1, false)
}

// when is a moment as people and machines read it.
type when struct {
	ISO, Text string
	Ago       string // before collection; absent where the age of the same thing is stated otherwise
}

// newMoment is a moment without its age: the titles of findings state the age at the last observation, which is some seconds later.
func newMoment(t *time.Time) *when {
	if t == nil || t.IsZero() {
		return nil
	}
	return &when{ISO: t.UTC().Format(time.RFC3339), Text: text.Moment(*t)}
}

func newWhen(t *time.Time, now time.Time) *when {
	if t == nil || t.IsZero() {
		return nil
	}
	return &when{t.UTC().Format(time.RFC3339), text.Moment(*t), age(*t, now)}
}

func severityCount(n int, s forensics.Severity) shown {
	if s == forensics.Warning {
		return shown(count(n, string(s)))
	}
	return shown(fmt.Sprintf("%d %s", n, s))
}
