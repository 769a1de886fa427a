package fleet

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// The limits of the page, in bytes of a part. With the style and the script they stay below 3 MB.
const (
	budgetOverview = 150 << 10
	budgetCauses   = 850 << 10
	budgetMatrix   = 300 << 10
	budgetTimeline = 150 << 10
	budgetMissing  = 150 << 10
	budgetNodes    = 1200 << 10

	maxCell   = 160 // bytes of a name or a headline
	maxTitled = 60  // nodes of a cause that are listed with the headlines of their reports
	maxOpen   = 12  // nodes of a cause that are listed without a click
	maxCards  = 60  // causes with all that is known of them; the others are in the table
	minRows   = 4   // causes from which on there is a table of them
)

// page is the model of the HTML page. All text of reports has passed see.
type page struct {
	frame.Frame
	Title   string
	Worst   string
	Counts  []mark
	Facts   []fact
	Nav     []navItem
	Verdict string
	// Overview has a row for each cause, NoRow counts those without one. It is empty where the cards say as much.
	Overview []causeRow
	NoRow    int
	Causes   []causeCard
	More     int // causes without a card
	Common   []traitRow
	Matrix   *matrix
	Picture  *picture
	Missing  []missingRow
	NoMore   int // of Missing that are left out
	// MissingFiles: some of Missing are files.
	MissingFiles bool
	Nodes        nodeTable
	Notes        []string
}

type mark struct{ Tone, Word string }

type fact struct{ Name, Value string }

type navItem struct {
	Href, Text, Count string
	Sub               bool
}

type link struct{ Text, Href string }

type when struct{ ISO, Text string }

type causeRow struct {
	Number, Rank int
	Mark         mark
	Title, Href  string
	Nodes        int
	Since        *when
	First        string
}

type causeCard struct {
	Number int
	Mark   mark
	Title  string
	Extent string
	Since  *when
	First  link
	Pods   int
	Doubt  string
	Fix    string
	Steps  link // the report that has them
	Names  []string
	Checks []string
	Listed []sightingRow // nodes with headlines
	Nodes  []link        // nodes without them, those of Listed not repeated
	Cut    int
	Common []traitRow
	Open   bool
}

type sightingRow struct {
	Node  link
	Since *when
	Mark  mark
	Title string
	Pods  int
}

type traitRow struct {
	Name, Value              string
	Sick, Well               string
	SickPercent, WellPercent int
}

type missingRow struct{ Node, File, Reason string }

// A room is the bytes that a part of the page may still take.
type room int

// fits takes the room for some texts and their markup, and says whether there was enough.
func (r *room) fits(markup int, texts ...string) bool {
	for _, s := range texts {
		markup += len(s) + 5*strings.Count(s, "&") + 4*(strings.Count(s, "<")+strings.Count(s, ">")+strings.Count(s, `"`)+strings.Count(s, "'")+strings.Count(s, "+"))
	}
	if markup > int(*r) {
		*r = 0 // the first rows, not a selection of short ones
		return false
	}
	*r -= room(markup)
	return true
}

func see(s string) string { return report.Visible(s, maxCell) }

func newWhen(t *time.Time) *when {
	if t == nil {
		return nil
	}
	return &when{t.UTC().Format(time.RFC3339), text.Moment(*t)}
}

func severityMark(s forensics.Severity) mark {
	switch s {
	case forensics.Critical:
		return mark{"bad", string(s)}
	case forensics.Warning:
		return mark{"warn", string(s)}
	}
	return mark{"note", see(string(s))}
}

// stateMarks are how nodes are marked.
var stateMarks = map[string]mark{sick: {"bad", sick}, well: {"good", well}, unclear: {"quiet", unclear}}

func newPage(s *Summary) *page {
	p := &page{Title: examined(s), Verdict: verdict(s), Worst: "quiet"}
	p.addCounts(s)
	left := room(budgetCauses)
	for i := range s.Causes {
		if i == maxCards || left < 2000 {
			p.More = len(s.Causes) - i
			break
		}
		p.Causes = append(p.Causes, newCard(s, i, &left))
	}
	p.addOverview(s)
	p.Common = newTraits(s.Common)
	p.Matrix = newMatrix(s)
	p.Picture = newPicture(s)
	left = budgetMissing
	for i, m := range s.NotExamined {
		row := missingRow{see(m.Node), report.Visible(m.File, 2*maxCell), report.Visible(m.Reason, 2*maxCell)}
		if !left.fits(40, row.Node, row.File, row.Reason) {
			p.NoMore = len(s.NotExamined) - i
			break
		}
		p.Missing = append(p.Missing, row)
		p.MissingFiles = p.MissingFiles || row.File != ""
	}
	p.Nodes = newNodeTable(s)
	for _, n := range s.Notes {
		p.Notes = append(p.Notes, report.Visible(n, 1000))
	}
	p.addNav(s)
	return p
}

// addOverview adds a table of many causes.
func (p *page) addOverview(s *Summary) {
	if len(s.Causes) < minRows {
		return
	}
	left := room(budgetOverview)
	for i := range s.Causes {
		c := &s.Causes[i]
		row := causeRow{
			Number: i + 1, Rank: -c.Severity.Rank(), Mark: severityMark(c.Severity), Title: report.Visible(c.Title, 2*maxCell), Nodes: len(c.Nodes),
			Since: newWhen(c.Since), First: see(c.FirstNode),
		}
		if i < len(p.Causes) {
			row.Href = fmt.Sprintf("#cause-%d", i+1)
		}
		if !left.fits(230, row.Title, row.First) {
			p.NoRow = len(s.Causes) - i
			return
		}
		p.Overview = append(p.Overview, row)
	}
}

func (p *page) addCounts(s *Summary) {
	for _, c := range []struct {
		n    int
		mark mark
	}{{s.Sick, stateMarks[sick]}, {s.Well, stateMarks[well]}, {s.Unclear, stateMarks[unclear]}} {
		if c.n > 0 {
			p.Counts = append(p.Counts, mark{c.mark.Tone, fmt.Sprintf("%d %s", c.n, c.mark.Word)})
		}
	}
	for _, gap := range gaps(s) {
		p.Counts = append(p.Counts, mark{"warn", gap})
	}
	switch {
	case len(s.Causes) > 0:
		p.Worst = severityMark(s.Causes[0].Severity).Tone
	case s.Well > 0:
		p.Worst = "good"
	}
	if s.From != nil {
		p.Facts = append(p.Facts, fact{"Collected", text.Moment(*s.From)})
		if s.To.After(*s.From) {
			p.Facts = append(p.Facts, fact{"to", text.Moment(*s.To)})
		}
	}
	p.Facts = append(p.Facts, fact{"Causes", fmt.Sprint(len(s.Causes))})
}

func (p *page) addNav(s *Summary) {
	add := func(have bool, href, text string, n int) {
		if have {
			p.Nav = append(p.Nav, navItem{Href: href, Text: text, Count: fmt.Sprint(n)})
		}
	}
	add(true, "#verdict", "Causes", len(s.Causes))
	add(len(p.Common) > 0, "#common", "In common", len(p.Common))
	add(p.Matrix != nil, "#matrix", "Matrix", s.Sick)
	add(p.Picture != nil, "#timeline", "Timeline", 0)
	add(len(p.Missing) > 0, "#missing", "Not examined", len(s.NotExamined))
	add(true, "#nodes", "Nodes", len(s.Nodes))
	for i := range p.Nav {
		if p.Nav[i].Count == "0" {
			p.Nav[i].Count = ""
		}
	}
}

// nodeLink is a node with the way to the page of its report.
func nodeLink(n *Node) link { return link{see(n.Name), pageURL(n.Page)} }

// pageURL is a relative path as a URL; "" for what is none.
func pageURL(way string) string {
	if way == "" || path.IsAbs(way) {
		return ""
	}
	return (&url.URL{Path: way}).String()
}

func newCard(s *Summary, i int, left *room) causeCard {
	c := &s.Causes[i]
	card := causeCard{
		Number: i + 1, Mark: severityMark(c.Severity), Title: report.Visible(c.Title, 2*maxCell), Extent: nodesOf(c),
		Since: newWhen(c.Since), Pods: c.Pods, Doubt: c.Doubt, Fix: report.Visible(c.Fix, 2*maxCell), Common: newTraits(c.Common),
	}
	card.Steps = nodeLink(&s.Nodes[c.Nodes[0].node])
	left.fits(1200, card.Title, card.Doubt, card.Fix)
	if c.Since != nil {
		card.First = nodeLink(&s.Nodes[c.Nodes[0].node])
	}
	for _, check := range c.Checks[:min(len(c.Checks), 8)] {
		card.Checks = append(card.Checks, see(check))
	}
	for _, name := range c.Names[:min(len(c.Names), 20)] {
		card.Names = append(card.Names, see(name))
	}
	for j, n := range c.Nodes {
		to := nodeLink(&s.Nodes[n.node])
		if len(c.Nodes) <= maxTitled {
			row := sightingRow{to, newWhen(n.Since), severityMark(n.Severity), report.Visible(n.Title, 2*maxCell), n.Pods}
			if !left.fits(260, to.Text, to.Href, row.Title) {
				card.Cut = len(c.Nodes) - j
				break
			}
			card.Listed = append(card.Listed, row)
			continue
		}
		if !left.fits(30, to.Text, to.Href) {
			card.Cut = len(c.Nodes) - j
			break
		}
		card.Nodes = append(card.Nodes, to)
	}
	card.Open = len(c.Nodes) <= maxOpen
	return card
}

func newTraits(list []Trait) (rows []traitRow) {
	for _, t := range list {
		rows = append(rows, traitRow{
			see(t.Name), see(t.Value), fmt.Sprintf("%d of %d", t.Sick, t.SickAll), fmt.Sprintf("%d of %d", t.Well, t.WellAll),
			int(100*share(t.Sick, t.SickAll) + .5), int(100*share(t.Well, t.WellAll) + .5),
		})
	}
	return rows
}

// nodeTable has one row for each node, sick ones first.
type nodeTable struct {
	Columns []string
	Rows    []nodeRow
	Cut     int
}

type nodeRow struct {
	Node   link
	Mark   mark
	Rank   int
	Causes []int
	Cells  []string
	Checks string
	At     *when
}

// tableFacts are columns of the table, where any node has them.
var tableFacts = []string{"kubelet", "kernel", "zone", "instance type"}

func newNodeTable(s *Summary) nodeTable {
	var t nodeTable
	for _, name := range tableFacts {
		for i := range s.Nodes {
			if s.Nodes[i].Facts[name] != "" {
				t.Columns = append(t.Columns, name)
				break
			}
		}
	}
	left := room(budgetNodes)
	for rank, state := range []string{sick, unclear, well} {
		for i := range s.Nodes {
			n := &s.Nodes[i]
			if n.State != state {
				continue
			}
			row := nodeRow{Node: nodeLink(n), Mark: stateMarks[state], Rank: rank, At: newWhen(n.Collected), Checks: fmt.Sprintf("%d of %d", n.Made, n.Made+n.NotMade)}
			for _, c := range n.Causes[:min(len(n.Causes), 12)] {
				row.Causes = append(row.Causes, c+1)
			}
			for _, name := range t.Columns {
				row.Cells = append(row.Cells, report.Visible(n.Facts[name], 60))
			}
			if t.Cut > 0 || !left.fits(190+34*len(row.Causes)+9*len(row.Cells), append([]string{row.Node.Text, row.Node.Href}, row.Cells...)...) {
				t.Cut++
				continue
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
