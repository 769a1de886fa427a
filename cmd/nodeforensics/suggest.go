package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// maxSuggestions is how many names a mistake is answered with.
const maxSuggestions = 3

// didYouMean names what is spelled nearly like a word, the nearest first, as the end of a message; "" where nothing is.
func didYouMean(word string, known []string, prefix string) string {
	type near struct {
		name string
		far  int
	}
	var found []near
	for _, name := range known {
		far := distance(strings.ToLower(word), strings.ToLower(name))
		if len(word) >= 3 && strings.HasPrefix(name, strings.ToLower(word)) {
			far = min(far, 1)
		}
		if far <= max(1, min(3, len(name)/3)) {
			found = append(found, near{prefix + name, far})
		}
	}
	sorting.Stable(found, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	names := make([]string, 0, maxSuggestions)
	for _, f := range found[:min(len(found), maxSuggestions)] {
		names = append(names, f.name)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; did you mean " + names[0] + "?"
	}
	return "; did you mean " + oneOf(names) + "?"
}

// distance is how many letters must be added, removed or exchanged to make one word of the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				next = min(next, diagonal)
			} else {
				next = min(next, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// flagError says which flag may be meant, or which commands have it.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return usageError{err}
	}
	name := unknown.GetSpecifiedName()
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	hint := didYouMean(name, known, "--")
	if owners := commandsWith(cmd.Root(), name); hint == "" && len(owners) > 0 {
		hint = "; it is a flag of " + strings.Join(owners, ", ")
	}
	return usageError{fmt.Errorf("%w%s", err, hint)}
}

// commandsWith are the commands that have a flag.
func commandsWith(root *cobra.Command, flag string) (names []string) {
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if f := cmd.Flags().Lookup(flag); f != nil && !f.Hidden {
			names = append(names, cmd.CommandPath())
		}
	}
	return names
}

// argsError says what a command wants.
func argsError(cmd *cobra.Command, args []string) error {
	if cmd.HasParent() || len(args) == 0 {
		line := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		return usagef("got %s; want %s", text.Plural(len(args), "argument"), line)
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	hint := didYouMean(args[0], names, "")
	if hint == "" && strings.ContainsAny(args[0], "./") {
		hint = "; to judge a saved file: nodeforensics analyze FILE"
	}
	return usagef("unknown command %q%s", args[0], hint)
}
