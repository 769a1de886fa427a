package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// writeGroups lists groups of goroutines: blocked ones with their stacks, the others in a line each. In a large dump some goroutines are
// only counted.
func writeGroups(b *bytes.Buffer, groups []goroutines.Group, summed int, stacks bool) {
	total, blocked := 0, 0
	for _, g := range groups {
		total += g.Count
		if g.Blocked {
			blocked += g.Count
		}
	}
	fmt.Fprintf(b, "%s in %s, %d blocked\n", text.Plural(total, "goroutine"), text.Plural(len(groups), "group"), blocked)
	if summed > 0 {
		fmt.Fprintf(b, "Large dump: %d goroutines are only counted. Each group has some examples.\n", summed)
	}
	for _, g := range groups {
		if g.Blocked || stacks {
			writeStack(b, g)
		}
	}
	if stacks || blocked == total {
		return
	}
	fmt.Fprintln(b)
	for _, g := range groups {
		if !g.Blocked {
			fmt.Fprintf(b, "%7d  %-28s %-34s %s\n", g.Count, lineText(fit(g.Role.Name, 28)), lineText(fit(statesOf(g), 34)), cellText(subjectOf(g)))
		}
	}
}

func writeStack(b *bytes.Buffer, g goroutines.Group) {
	mark := ""
	if g.Blocked {
		mark = "BLOCKED  "
	}
	fmt.Fprintf(b, "\n%s%d %s [%s]%s\n", mark, g.Count, cellText(g.Role.Name), cellText(statesOf(g)), idsOf(g))
	for _, f := range g.Frames {
		place := ""
		if f.File != "" {
			place = fmt.Sprintf("  %s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		args := f.Args
		if g.Count > 1 && args != "" && !f.Inlined {
			args = "…" // they differ
		}
		fmt.Fprintf(b, "    %s(%s)%s\n", cellText(f.Func), cellText(args), cellText(place))
	}
	if g.CreatedBy != nil {
		fmt.Fprintf(b, "    created by %s\n", cellText(g.CreatedBy.Func))
	}
}

// statesOf is "select" or "select 20, runnable 1", with the longest wait.
func statesOf(g goroutines.Group) string {
	if len(g.States) == 0 {
		return "state unknown"
	}
	words := stateCounts(g.States)
	if g.MaxWaitMinutes > 0 {
		words += ", " + text.Plural(g.MaxWaitMinutes, "minute")
	}
	return words
}

// idsOf is ": goroutine 117" or ": goroutines 1, 2 and 4 more".
func idsOf(g goroutines.Group) string {
	if len(g.IDs) == 0 {
		return ""
	}
	var ids []string
	for _, id := range g.IDs {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	if len(ids) == 1 && g.Count == 1 {
		return ": goroutine " + ids[0]
	}
	text := ": goroutines " + strings.Join(ids, ", ")
	if more := g.Count - len(ids); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// subjectOf is the innermost function that characterizes a group: not one of the standard library or of a common helper. Where there is
// none, it is the function that started the goroutines.
func subjectOf(g goroutines.Group) string {
	for _, f := range g.Frames {
		first, _, _ := strings.Cut(f.Func, "/")
		if strings.Contains(first, ".") && strings.Contains(f.Func, "/") && !isPlumbing(f.Func) {
			return f.Func
		}
	}
	switch {
	case g.CreatedBy != nil:
		return "created by " + g.CreatedBy.Func
	case len(g.Frames) > 0:
		return g.Frames[len(g.Frames)-1].Func
	}
	return ""
}

func isPlumbing(function string) bool {
	for _, prefix := range []string{"golang.org/x/", "google.golang.org/grpc", "k8s.io/apimachinery/pkg/util/wait.", "k8s.io/client-go/util/workqueue."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// writeChanges lists the groups whose number changed between two dumps.
func writeChanges(b *bytes.Buffer, changes []goroutines.Change) {
	const most = 50
	fmt.Fprintf(b, "%s between the two dumps\n", text.Plural(len(changes), "group")+" changed")
	for _, c := range changes[:min(len(changes), most)] {
		fmt.Fprintf(b, "%+7d  %d to %d  %-28s %-24s %s\n", c.After-c.Before, c.Before, c.After,
			lineText(fit(c.Group.Role.Name, 28)), lineText(fit(statesOf(c.Group), 24)), cellText(subjectOf(c.Group)))
	}
	if more := len(changes) - most; more > 0 {
		fmt.Fprintf(b, "         and %d more (-o json lists all)\n", more)
	}
	fmt.Fprintln(b)
}

func writeProblems(b *bytes.Buffer, problems []DumpProblem) {
	const most = 10
	if len(problems) == 0 {
		return
	}
	fmt.Fprintf(b, "\nCould not parse %s:\n", text.Plural(len(problems), "part"))
	for _, p := range problems[:min(len(problems), most)] {
		fmt.Fprintf(b, "  %s:%d: %s\n", lineText(p.File), p.Line, lineText(p.Reason))
	}
	if more := len(problems) - most; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
