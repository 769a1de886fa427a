// Package findings makes the parts of findings of any check: sentences, lists, names and entities.
package findings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
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
//
//go:noinline
func Sentences(list ...string) string {
	return strings.Join(sorting.Delete(list, func(s string) bool { return s == "" }), " ")
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
//
//go:noinline
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return Thousands(n) + " times"
}

// Thousands spells a count with commas: "12,600".
func Thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// Plural is [text.Plural] with commas: "12,600 pods".
//
//go:noinline
func Plural(n int, noun string) string {
	return strings.Replace(text.Plural(n, noun), strconv.Itoa(n), Thousands(int64(n)), 1)
}

// Are spells a count with its verb: "1 image is", "3 images are", "2 more are".
func Are(n int, noun string) string {
	switch {
	case noun == "more" && n == 1:
		return "1 more is"
	case noun == "more":
		return Thousands(int64(n)) + " more are"
	case n == 1:
		return "1 " + noun + " is"
	}
	return Plural(n, noun) + " are"
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
