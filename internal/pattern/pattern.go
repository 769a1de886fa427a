// Package pattern has regular expressions that are compiled when they are first used. This program starts copies of itself
// that do one small thing, such as reading one file, and compiling all of its expressions takes longer than that.
package pattern

import (
	"os"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unsafe"
)

// A Pattern is a [regexp.Regexp] that is compiled when it is first used. Its methods are those of the same names. Of a text that
// begins as no match does, or without the literals that a match has, it says so without the expression.
type Pattern struct {
	compiled func() *expression
}

type expression struct {
	re    *regexp.Regexp
	first first
	need  need
}

// New returns a pattern. In a test binary that the go command starts it is compiled at once, so that none is wrong that no test
// uses; not in those that tests start of themselves, to be a server, a kubelet or kubectl.
func New(expr string) *Pattern {
	p := &Pattern{sync.OnceValue(func() *expression { return compile(expr) })}
	if slices.Contains(os.Args, "-test.paniconexit0") {
		p.compiled()
	}
	return p
}

func compile(expr string) *expression {
	e := &expression{re: regexp.MustCompile(expr)}
	if re, err := syntax.Parse(expr, syntax.Perl); err == nil {
		re = re.Simplify()
		e.first, e.need = firstOf(re), needs(re)
	}
	return e
}

// in returns the expression, nil if the text cannot match it.
func (p *Pattern) in(text string) *regexp.Regexp {
	e := p.compiled()
	if !e.first.in(text) || !e.need.in(text) {
		return nil
	}
	return e.re
}

// inBytes does the same.
func (p *Pattern) inBytes(b []byte) *regexp.Regexp {
	return p.in(unsafe.String(unsafe.SliceData(b), len(b)))
}

func (p *Pattern) Match(b []byte) bool       { re := p.inBytes(b); return re != nil && re.Match(b) }
func (p *Pattern) MatchString(s string) bool { re := p.in(s); return re != nil && re.MatchString(s) }

func (p *Pattern) FindString(s string) string {
	if re := p.in(s); re != nil {
		return re.FindString(s)
	}
	return ""
}

func (p *Pattern) FindStringIndex(s string) []int {
	if re := p.in(s); re != nil {
		return re.FindStringIndex(s)
	}
	return nil
}

func (p *Pattern) FindStringSubmatch(s string) []string {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatch(s)
	}
	return nil
}

func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatchIndex(s)
	}
	return nil
}

func (p *Pattern) FindIndex(b []byte) []int {
	if re := p.inBytes(b); re != nil {
		return re.FindIndex(b)
	}
	return nil
}

func (p *Pattern) FindSubmatch(b []byte) [][]byte {
	if re := p.inBytes(b); re != nil {
		return re.FindSubmatch(b)
	}
	return nil
}

func (p *Pattern) FindSubmatchIndex(b []byte) []int {
	if re := p.inBytes(b); re != nil {
		return re.FindSubmatchIndex(b)
	}
	return nil
}

func (p *Pattern) FindAllString(s string, n int) []string {
	if re := p.in(s); re != nil {
		return re.FindAllString(s, n)
	}
	return nil
}

func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	if re := p.in(s); re != nil {
		return re.FindAllStringIndex(s, n)
	}
	return nil
}

func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	if re := p.in(s); re != nil {
		return re.FindAllStringSubmatch(s, n)
	}
	return nil
}

func (p *Pattern) ReplaceAllString(s, by string) string {
	if re := p.in(s); re != nil {
		return re.ReplaceAllString(s, by)
	}
	return s
}

func (p *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	if re := p.in(s); re != nil {
		return re.ReplaceAllStringFunc(s, by)
	}
	return s
}
