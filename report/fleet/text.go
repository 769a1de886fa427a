package fleet

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
)

// The bounds of the text. The files have everything.
const (
	maxTextCauses  = 8
	maxTextMissing = 5
	maxTextTraits  = 2
)

// JSON writes the summary, indented. Arrays are never null.
func JSON(w io.Writer, s Summary) error { return report.WriteJSON(w, s) }

// Text writes the summary for a terminal: how many nodes are sick, the causes, worst first, with their nodes and what these have in common,
// and what was not examined. No control character of a report reaches the terminal.
func Text(w io.Writer, s Summary, opt report.TextOptions) error {
	t := &writer{Writer: bufio.NewWriter(w), width: max(40, cmp.Or(max(opt.Width, 0), 80)), color: opt.Color}
	causes := s.Causes
	if !opt.Verbose && !opt.Quiet {
		causes = causes[:min(len(causes), maxTextCauses)]
	}
	t.strong(verdict(&s))
	for i := range causes {
		t.cause(&causes[i], opt)
	}
	if n := len(s.Causes) - len(causes); n > 0 {
		_ = t.WriteByte('\n')
		t.line("", fmt.Sprintf("%s in the files.", text.Plural(n, "more cause")))
	}
	if !opt.Quiet {
		t.rest(&s, opt.Verbose)
	}
	if len(opt.Files) > 0 {
		_ = t.WriteByte('\n')
	}
	for i, f := range opt.Files {
		label := "        "
		if i == 0 {
			label = "Report: "
		}
		_, _ = t.WriteString(label + report.Visible(f, 8<<10) + "\n")
	}
	return t.Flush()
}

// writer lays text out. All text of reports passes Visible here.
type writer struct {
	*bufio.Writer
	width int
	color bool
}

func (t *writer) line(indent, s string) { t.hang(indent, indent, s, false) }

func (t *writer) strong(s string) { t.hang("", "", s, true) }

// hang wraps s behind a mark; further lines stand below the first one's text.
func (t *writer) hang(first, next, s string, bold bool) {
	line, empty := first, true
	used := len(next) // a mark may be painted, and is as wide as what stands below it
	flush := func() {
		if bold {
			line = line[:len(line)-len(strings.TrimLeft(line, " "))] + t.paint("1", strings.TrimLeft(line, " "))
		}
		_, _ = t.WriteString(line + "\n")
		line, used, empty = next, len(next), true
	}
	for word := range strings.FieldsSeq(report.Visible(s, 1500)) {
		n := utf8.RuneCountInString(word)
		if !empty && used+1+n > t.width {
			flush()
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+n, false
	}
	flush()
}

func (t *writer) paint(code, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *writer) cause(c *Cause, opt report.TextOptions) {
	code := map[forensics.Severity]string{forensics.Critical: "1;31", forensics.Warning: "1;33"}[c.Severity]
	word := strings.ToUpper(string(c.Severity))
	if !opt.Quiet {
		_ = t.WriteByte('\n')
	}
	t.hang(t.paint(code, word)+strings.Repeat(" ", max(1, 10-len(word))), "          ", c.Title+": "+extent(c), false)
	if opt.Quiet {
		return
	}
	traits := c.Common
	if !opt.Verbose {
		traits = traits[:min(len(traits), maxTextTraits)]
	}
	if len(c.Nodes) > 1 {
		t.nodes(c, opt.Verbose)
	} else {
		t.line("          ", c.Nodes[0].Title)
	}
	if c.Fix != "" {
		t.hang("          Fix: ", "               ", c.Fix, false)
	}
	for _, tr := range traits {
		t.line("          ", tr.words("with it"))
	}
	if opt.Verbose {
		for _, name := range c.Names {
			t.line("          ", name)
		}
	}
	if c.Doubt != "" {
		t.line("          ", c.Doubt)
	}
}

// nodes lists the nodes of a cause: as many as two lines have room for, or each with the headline of its report.
func (t *writer) nodes(c *Cause, all bool) {
	if all {
		for _, n := range c.Nodes {
			t.hang("          ", "            ", n.Node+": "+n.Title, false)
		}
		return
	}
	names, room := []string{}, 2*(t.width-12)-16
	for _, n := range c.Nodes {
		name := report.Visible(n.Node, 80)
		if room -= len(name) + 2; room < 0 && len(names) > 0 {
			break
		}
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	if more := len(c.Nodes) - len(names); more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	t.line("          ", list)
}

// rest is what is not about a cause.
func (t *writer) rest(s *Summary, all bool) {
	if len(s.Causes) > 1 && len(s.Common) > 0 {
		_ = t.WriteByte('\n')
		t.strong("All sick nodes together")
		for _, tr := range s.Common {
			t.line("  ", tr.words(sick))
		}
	}
	if len(s.NotExamined) > 0 {
		_ = t.WriteByte('\n')
		t.strong("Not examined")
		for i, m := range s.NotExamined {
			if i == maxTextMissing && !all {
				t.line("  ", fmt.Sprintf("and %d more: --verbose lists them", len(s.NotExamined)-i))
				break
			}
			t.hang("  ", "    ", missingName(m)+": "+m.Reason, false)
		}
	}
	for i, n := range s.Notes {
		if i == 0 {
			_ = t.WriteByte('\n')
		}
		t.hang("Note: ", "      ", n, false)
	}
}

func missingName(m Missing) string {
	if m.Node != "" && m.File != "" {
		return m.Node + " (" + m.File + ")"
	}
	return cmp.Or(m.Node, m.File)
}
