package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// TextOptions says how [Text] is laid out. The zero value is the short text, in 80 columns, without color.
type TextOptions struct {
	// Width is the number of columns; 0 is 80, and less than 40 is 40.
	Width int
	// Color asks for colors; the caller decides it by terminal and NO_COLOR.
	Color bool
	// Verbose asks for everything: all steps with their reasons, details, disks, and each check that was not made.
	Verbose bool
	// Quiet asks for the headlines and the files alone.
	Quiet bool
	// Files are the files that contain the whole report. They are named at the end.
	Files []string
}

// The bounds of the text. The files have everything.
const (
	maxTextVerdicts = 5    // diagnoses with more than their headline
	maxTextLines    = 20   // lines of a list
	maxTextBytes    = 1500 // bytes of a sentence
)

// Text writes the summary for a terminal. Its order is: headline, affected pods, the first steps of the fix, the chain of causes, other
// problems in one line each, what was not checked, the files. The short text has 24 lines for one problem in 80 columns, and at most 8 more
// for each further one. A step is never cut, so that its precondition stays with its command: a long one may take more. No control
// character of the node reaches the terminal.
func Text(w io.Writer, r Report, opt TextOptions) error {
	out := bufio.NewWriter(w)
	t := &textWriter{w: out, width: max(40, cmp.Or(max(opt.Width, 0), 80)), color: opt.Color}
	switch {
	case opt.Quiet:
		t.quiet(r)
	case opt.Verbose:
		t.verbose(r)
	default:
		t.short(r)
	}
	t.files(opt.Files)
	return out.Flush()
}

// quiet writes one line for each diagnosis, or for the result without one.
func (t *textWriter) quiet(r Report) {
	for _, d := range r.Diagnoses {
		t.headline(d)
	}
	if len(r.Diagnoses) == 0 {
		c := newCalm(r)
		t.marked(c.Mark.Tone, strings.ToUpper(string(c.Mark.Word)), string(c.Title))
	}
}

// nodeLine names the node, its versions and the time.
func nodeLine(r Report) string {
	parts := []string{cmp.Or(r.Node.Name, "unknown node")}
	if k := r.Evidence.Kubelet; k != nil && k.Version != "" {
		parts = append(parts, "kubelet "+k.Version)
	}
	if r.Node.Kernel != "" {
		parts = append(parts, "kernel "+r.Node.Kernel)
	}
	if !r.Evidence.Collected.IsZero() {
		parts = append(parts, text.Moment(r.Evidence.Collected))
	}
	return strings.Join(parts, ", ")
}

// calm says what is so where nothing was diagnosed.
func (t *textWriter) calm(r Report) {
	c := newCalm(r)
	t.marked(c.Mark.Tone, strings.ToUpper(string(c.Mark.Word)), string(c.Title))
	t.line("  ", string(c.Text))
}

// affected lists pods with their UIDs.
func affected(pods []forensics.AffectedPod) string {
	if len(pods) == 0 {
		return "none identified"
	}
	return podNames(pods)
}

// affectedShort lists pods for one line: of several that have names, the names alone.
func affectedShort(pods []forensics.AffectedPod) string {
	if len(pods) < 2 {
		return affected(pods)
	}
	var names []string
	for _, p := range pods[:min(len(pods), maxNamedPods)] {
		name := cmp.Or(p.Name, p.UID)
		if p.Namespace != "" && p.Name != "" {
			name = p.Namespace + "/" + p.Name
		}
		names = append(names, fmt.Sprintf("%s (%s)", name, p.State.Words()))
	}
	return count(len(pods), "pod") + ": " + strings.Join(names, ", ")
}

// affected is a line; where it is about one pod, it has room for all that is known of it.
func (t *textWriter) affected(pods []forensics.AffectedPod) {
	if len(pods) == 1 {
		t.field("Affected", affected(pods))
		return
	}
	t.oneField("Affected", affectedShort(pods))
}

// isFix says whether a step changes something or finds out what to change. Others are about leaving something alone.
func isFix(step forensics.Remedy) bool { return step.Action != "wait" && step.Action != "no-restart" }

// leftover says whether a diagnosis is about what pods have left behind, where somebody may think of rm -rf.
func leftover(r Report, d forensics.Diagnosis) bool {
	return slices.ContainsFunc(d.Findings, func(i int) bool {
		return i >= 0 && i < len(r.Findings) && (strings.HasPrefix(r.Findings[i].ID, "pod-orphaned") || r.Findings[i].ID == "mount-orphaned")
	})
}

const leftoverWarning = "Never run rm -rf below a pod directory: mounted volumes lose their data."

// others are the findings that belong to no diagnosis, without known harmless log lines.
func others(r Report) (rest []forensics.Finding) {
	explained := map[int]bool{}
	for _, d := range r.Diagnoses {
		for _, i := range d.Findings {
			explained[i] = true
		}
	}
	for i, f := range r.Findings {
		if !explained[i] && f.ID != noiseID {
			rest = append(rest, f)
		}
	}
	return rest
}

// noiseID is the check that finds known harmless log lines.
const noiseID = "log-noise"

func (t *textWriter) others(r Report, rest []forensics.Finding) {
	if len(rest) == 0 {
		return
	}
	title := "Other problems"
	if len(r.Diagnoses) == 0 {
		title = "Notes"
	}
	t.strong(title)
	for i, f := range rest {
		if i == maxTextLines {
			t.more(len(rest) - i)
			break
		}
		t.oneLine(fmt.Sprintf("  %-9s ", strings.ToUpper(string(cell(string(f.Severity), 9)))), f.Title)
	}
	t.blank()
}

func (t *textWriter) more(n int) {
	t.line("  ", fmt.Sprintf("%s more in the report.", grouped(int64(n))))
}

func (t *textWriter) files(files []string) {
	for i, f := range files {
		label := "        "
		if i == 0 {
			label = "Report: "
		}
		t.raw(label + string(see(f)) + "\n")
	}
}
