package pattern

import (
	"regexp/syntax"
	"strings"
)

// A need is what a text must hold to match: a literal, or all or any of other needs. The zero value is nothing. Most texts that are
// looked at do not match, and to search for a literal costs a tenth of what the expression does.
type need struct {
	literal  string
	all, any []need
}

// maxExact bounds the texts of which one is all that a part of an expression matches.
const maxExact = 16

// in says whether a text holds what is needed.
func (n *need) in(text string) bool {
	if n.literal != "" {
		return strings.Contains(text, n.literal)
	}
	for i := range n.all {
		if !n.all[i].in(text) {
			return false
		}
	}
	for i := range n.any {
		if n.any[i].in(text) {
			return true
		}
	}
	return len(n.any) == 0
}

func (n *need) nothing() bool { return n.literal == "" && n.all == nil && n.any == nil }

// needs is what a text must hold to match an expression.
func needs(re *syntax.Regexp) need {
	if list := exact(re); list != nil {
		return oneOf(list)
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return needs(re.Sub[0])
	case syntax.OpAlternate:
		n := need{}
		for _, sub := range re.Sub {
			s := needs(sub)
			if s.nothing() {
				return s
			}
			n.any = append(n.any, s)
		}
		return n
	case syntax.OpConcat:
		return needsOfConcat(re.Sub)
	}
	return need{}
}

// needsOfConcat are those of its parts, of which neighbours that are exact are joined.
func needsOfConcat(parts []*syntax.Regexp) need {
	n := need{}
	add := func(s need) {
		if !s.nothing() {
			n.all = append(n.all, s)
		}
	}
	var joined []string
	for _, part := range parts {
		list := exact(part)
		if list == nil || len(list)*max(len(joined), 1) > maxExact {
			add(oneOf(joined))
			joined = list
			if list == nil {
				add(needs(part))
			}
			continue
		}
		joined = product(joined, list)
	}
	add(oneOf(joined))
	return n
}

// oneOf is the need for one of several texts; nothing if one is too short to tell anything.
func oneOf(list []string) need {
	n := need{}
	for _, text := range list {
		if len(text) < 2 {
			return need{}
		}
		n.any = append(n.any, need{literal: text})
	}
	if len(n.any) == 1 {
		return n.any[0]
	}
	return n
}

// exact are all texts that an expression matches, where they are few; nil otherwise.
func exact(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpCapture:
		return exact(re.Sub[0])
	case syntax.OpQuest:
		if list := exact(re.Sub[0]); list != nil {
			return append([]string{""}, list...)
		}
	case syntax.OpCharClass:
		var list []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(list) == 4 {
					return nil
				}
				list = append(list, string(r))
			}
		}
		return list
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list := exact(sub)
			if list == nil || len(all)+len(list) > maxExact {
				return nil
			}
			all = append(all, list...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			list := exact(sub)
			if list == nil || len(all)*len(list) > maxExact {
				return nil
			}
			all = product(all, list)
		}
		return all
	}
	return nil
}

// product is each text of a before each of b.
func product(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	var all []string
	for _, first := range a {
		for _, second := range b {
			all = append(all, first+second)
		}
	}
	return all
}
