package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// maxNamedPods is how many pods a ticket text names; the report names them all.
const maxNamedPods = 20

// Plain is a diagnosis as plain text for a ticket: verdict, chain, pods and steps. Hidden characters of the node's
// text are escaped; lines are not wrapped.
func Plain(d forensics.Diagnosis) string { return ticket(d, plainStyle{}) }

// markdown is [Plain] as CommonMark. Text of the node cannot become markup, a link or a mention.
func markdown(d forensics.Diagnosis) string { return ticket(d, markdownStyle{}) }

// Markdown writes a report as CommonMark for a ticket: each diagnosis, the worst first, the other problems, and what was not checked.
// Text of the node cannot become markup, a link or a mention.
func Markdown(w io.Writer, r Report) error {
	var b strings.Builder
	style := markdownStyle{}
	b.WriteString(style.text(nodeLine(r)) + "\n\n")
	if len(r.Diagnoses) == 0 {
		c := newCalm(r)
		b.WriteString(style.heading(string(c.Mark.Word), string(c.Title)) + style.text(string(c.Text)) + "\n\n")
	}
	for _, d := range r.Diagnoses {
		b.WriteString(markdown(d) + "\n")
	}
	if rest := others(r); len(rest) > 0 {
		b.WriteString("**Other problems**\n\n")
		for _, f := range rest {
			b.WriteString(style.fact(style.text(strings.ToUpper(string(f.Severity))), f.Title))
		}
		b.WriteString("\n")
	}
	if n := len(unchecked(r.Outcomes)); n > 0 {
		b.WriteString(style.text(strings.TrimSpace(fmt.Sprintf("Not checked: %d of %s. %s", n, count(len(r.Outcomes), "check"), howToCheck(r)))) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ticketStyle is how the parts of a ticket text are written.
type ticketStyle interface {
	heading(severity, title string) string
	section(name string) string
	fact(name, value string) string
	text(s string) string
	item(number int, s string) string
	command(number int, r forensics.Remedy) string
	note(number int, name, s string) string
}

func ticket(d forensics.Diagnosis, style ticketStyle) string {
	var b strings.Builder
	b.WriteString(style.heading(string(d.Severity), d.Title))
	if d.Since != nil {
		b.WriteString(style.fact("Since", text.Moment(*d.Since)))
	}
	b.WriteString(style.fact("Affected", affected(d.Pods)))
	b.WriteString(style.fact("Confidence", confidence(d)))
	if len(d.Remedies) > 0 {
		b.WriteString(style.section("Fix, in this order"))
		for i, r := range d.Remedies {
			b.WriteString(style.command(i+1, r))
			b.WriteString(style.note(i+1, "Why", sentenceOf(r.Why)))
			b.WriteString(style.note(i+1, "Only if", sentenceOf(r.OnlyIf)))
			b.WriteString(style.note(i+1, "Risk", sentenceOf(r.Risk)))
		}
	}
	if len(d.Chain) > 0 {
		b.WriteString(style.section("Why we think so, from the cause to the effect"))
		for i := range d.Chain {
			b.WriteString(style.item(i+1, linkText(d.Chain, i)))
		}
	}
	return b.String()
}

// confidence is how certain a diagnosis is, and why.
func confidence(d forensics.Diagnosis) string {
	if d.ConfidenceWhy == "" {
		return string(d.Confidence)
	}
	return string(d.Confidence) + ": " + d.ConfidenceWhy
}

func podNames(pods []forensics.AffectedPod) string {
	var names []string
	for _, p := range pods[:min(len(pods), maxNamedPods)] {
		names = append(names, p.String()+", "+p.State.Words())
	}
	if more := len(pods) - maxNamedPods; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return count(len(pods), "pod") + ": " + strings.Join(names, "; ")
}

type plainStyle struct{}

func (plainStyle) text(s string) string { return string(see(s)) }
func (p plainStyle) heading(severity, title string) string {
	return strings.ToUpper(p.text(severity)) + ": " + p.text(title) + "\n"
}
func (plainStyle) section(name string) string       { return "\n" + name + ":\n" }
func (p plainStyle) fact(name, value string) string { return name + ": " + p.text(value) + "\n" }
func (p plainStyle) item(n int, s string) string    { return fmt.Sprintf("  %d. %s\n", n, p.text(s)) }

func (plainStyle) command(n int, r forensics.Remedy) string {
	s, _ := stepText(r)
	lines := strings.Split(s, "\n")
	return fmt.Sprintf("  %d. %s\n", n, strings.Join(lines, "\n     "))
}

func (p plainStyle) note(_ int, name, s string) string {
	if s == "" {
		return ""
	}
	return "     " + name + ": " + p.text(s) + "\n"
}

type markdownStyle struct{}

func (markdownStyle) text(s string) string { return escapeMarkdown(string(see(s))) }

func (m markdownStyle) heading(severity, title string) string {
	return "**" + strings.ToUpper(m.text(severity)) + ":** " + m.text(title) + "\n\n"
}
func (markdownStyle) section(name string) string { return "\n**" + name + "**\n\n" }
func (m markdownStyle) fact(name, value string) string {
	return "- **" + name + ":** " + m.text(value) + "\n"
}
func (m markdownStyle) item(n int, s string) string { return fmt.Sprintf("%d. %s\n", n, m.text(s)) }

// command is a sentence as text and a shell command as a code block, which belongs to its item by indentation.
func (m markdownStyle) command(n int, r forensics.Remedy) string {
	lines, prose := stepText(r)
	if prose {
		return m.item(n, lines)
	}
	fence := strings.Repeat("`", max(3, longestRun(lines, '`')+1))
	indent := itemIndent(n)
	body := strings.ReplaceAll(lines, "\n", "\n"+indent)
	return fmt.Sprintf("%d. %ssh\n%s%s\n%s%s\n", n, fence, indent, body, indent, fence)
}

// note is a list inside the item, by its indentation.
func (m markdownStyle) note(n int, name, s string) string {
	if s == "" {
		return ""
	}
	return itemIndent(n) + "- " + name + ": " + m.text(s) + "\n"
}

// itemIndent is where the text of "12. " begins.
func itemIndent(n int) string { return strings.Repeat(" ", len(strconv.Itoa(n))+2) }

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// escapeMarkdown escapes what CommonMark and its dialects in ticket systems would act on: emphasis, code, links,
// images, HTML, tables, mentions, references and bare addresses. An underscore inside a word is no emphasis and stays
// readable; no line begins with text of the node, so that markers of blocks need no care.
func escapeMarkdown(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	before := ' '
	for i, r := range s {
		switch {
		case r == ':' && strings.HasPrefix(s[i:], "://"):
			b.WriteString("&#58;") // a backslash would not keep the address from becoming a link
		case strings.ContainsRune("\\`*[]<>|~@#!{}&", r) || r == '_' && !insideWord(before, s[i+1:]):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

func insideWord(before rune, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	return word(before) && word(next)
}
