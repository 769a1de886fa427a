// Package pattern has regular expressions that are compiled when they are first used. This program starts copies of itself
// that do one small thing, such as reading one file, and compiling all of its expressions takes longer than that.
package pattern

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Pattern is a [regexp.Regexp] that is compiled when it is first used. Its methods are those of the same names.
type Pattern struct {
	compiled func() *regexp.Regexp
}

// New returns a pattern. In a test binary it is compiled at once, so that none is wrong that no test uses.
func New(expr string) *Pattern {
	p := &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		p.compiled()
	}
	return p
}

func (p *Pattern) Match(b []byte) bool                  { return p.compiled().Match(b) }
func (p *Pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *Pattern) FindString(s string) string           { return p.compiled().FindString(s) }
func (p *Pattern) FindStringIndex(s string) []int       { return p.compiled().FindStringIndex(s) }
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *Pattern) FindIndex(b []byte) []int             { return p.compiled().FindIndex(b) }
func (p *Pattern) FindSubmatch(b []byte) [][]byte       { return p.compiled().FindSubmatch(b) }
func (p *Pattern) FindSubmatchIndex(b []byte) []int     { return p.compiled().FindSubmatchIndex(b) }
func (p *Pattern) ReplaceAllString(s, by string) string { return p.compiled().ReplaceAllString(s, by) }

func (p *Pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }

func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringIndex(s, n)
}

func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

func (p *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, by)
}
