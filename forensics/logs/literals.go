package logs

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// literals are what lines must hold, at least one of them, to be parsed at all. They are matched byte by byte, in the line
// as it stands.
var literals = sync.OnceValue(func() []string {
	var all []string
	var choices [][]string
	for _, m := range messages() {
		for _, r := range m.rules {
			switch c := r.literals(); {
			case r.find != "" || r.event != "" || len(c) == 1:
				all = append(all, c...)
			case len(c) > 1:
				choices = append(choices, c)
			}
		}
	}
	all = shortest(all)
	for _, c := range choices {
		if !slices.ContainsFunc(c, func(text string) bool { return holdsOne(text, all) }) {
			all = append(all, c[0])
		}
	}
	return shortest(all)
})

// shortest leaves out what holds another one, and so finds nothing that the other does not.
func shortest(list []string) []string {
	sorting.Stable(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	var kept []string
	for _, l := range list {
		if !holdsOne(l, kept) {
			kept = append(kept, l)
		}
	}
	return kept
}

func holdsOne(text string, literals []string) bool {
	return slices.ContainsFunc(literals, func(l string) bool { return strings.Contains(text, l) })
}

// eventLiterals are keys that each event of the API has, of core/v1 and of events.k8s.io/v1, and how a controller, as process 1, logs it.
var eventLiterals = []string{"involvedObject", "reportingController", " 1 event.go:"}

// minLiteral is how long a literal is at least, so that the search can skip.
const minLiteral = 10

// literals are what the lines of a rule hold: those that it names itself, of which one is held, or else all of its texts
// that are long enough, the most telling first. Messages that begin alike differ by what they hold besides, and many have
// the same errors.
func (r *rule) literals() []string {
	if r.find != "" {
		return strings.Split(r.find, "|")
	}
	if r.event != "" {
		return eventLiterals
	}
	var list []string
	for _, text := range []string{r.has, r.start, r.err} {
		if l := literalIn(text); len(l) >= minLiteral {
			list = append(list, l)
		}
	}
	return list
}

// literalIn is the longest part of a text that is the same however a line is written: without what klog's quotes or JSON
// escape. The first letter is left out, since its case changes between releases.
func literalIn(text string) string {
	best := ""
	for part := range strings.FieldsFuncSeq(text, escaped) {
		if len(part) > len(best) {
			best = part
		}
	}
	if len(best) > minLiteral && strings.HasPrefix(text, best) && isLetter(best[0]) {
		best = best[1:]
	}
	return best
}

// escaped says whether a character may be written in another way.
func escaped(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
