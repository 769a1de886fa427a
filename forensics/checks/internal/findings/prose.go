// Package findings has what findings of any check are made of: sentences, lists, names and entities.
package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Some joins the first few of a list.
func Some(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Sentences joins those that are not empty.
func Sentences(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// Capital begins a sentence.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// WithReason adds a reason to those that are there.
func WithReason(why, more string) string {
	switch {
	case why == "":
		return more
	case strings.Contains(why, more):
		return why
	}
	return why + "; " + more
}

// Times spells a count of messages.
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return text.Plural(int(n), "time")
}

// Union adds to a what of b is not in it.
func Union[T comparable](a, b []T) []T {
	seen := map[T]bool{}
	for _, x := range a {
		seen[x] = true
	}
	for _, x := range b {
		if !seen[x] {
			seen[x] = true
			a = append(a, x)
		}
	}
	return a
}
