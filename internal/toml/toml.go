// Package toml reads the strings of configuration files of container runtimes (toml.io/en/v1.0.0).
package toml

import (
	"fmt"
	"strconv"
	"strings"
)

// Values are strings, and arrays of strings, each under the dotted name of its table and key, without quotes
// ("plugins.io.containerd.grpc.v1.cri.containerd.snapshotter").
type Values map[string][]string

// Parse reads the strings of a TOML file. Everything else is ignored. The error names the first line that is no TOML: a
// runtime would refuse the file, and may have been started with another. The values of the other lines are returned, too.
func Parse(text string) (Values, error) {
	p := parser{lines: strings.Split(text, "\n"), values: Values{}}
	for p.next() {
		p.statement()
	}
	return p.values, p.err
}

type parser struct {
	lines  []string
	at     int    // of the line after the one that is read
	line   string // without white space around it
	table  string
	values Values
	err    error
}

func (p *parser) next() bool {
	if p.at == len(p.lines) {
		return false
	}
	p.line = strings.TrimSpace(p.lines[p.at])
	p.at++
	return true
}

// refuse notes what is wrong with a line, if it is the first.
func (p *parser) refuse(line int, what string) {
	if p.err == nil {
		p.err = fmt.Errorf("line %d: %s", line, what)
	}
}

func (p *parser) statement() {
	switch {
	case p.line == "" || p.line[0] == '#':
	case p.line[0] == '[':
		name, _, ok := strings.Cut(strings.TrimLeft(p.line, "["), "]")
		if !ok {
			p.refuse(p.at, "unterminated table")
		}
		p.table = unquoteKey(name)
	default:
		key, value, ok := strings.Cut(p.line, "=")
		if value = strings.TrimSpace(value); !ok || strings.TrimSpace(key) == "" || !beginsValue(value) {
			p.refuse(p.at, "neither a table nor a key with a value")
		}
		if ok {
			p.value(fullName(p.table, key), value)
		}
	}
}

// value reads the value of a key, which may go on over the lines that follow.
func (p *parser) value(name, value string) {
	began := p.at
	for _, quote := range []string{`"""`, `'''`} {
		if !strings.HasPrefix(value, quote) || strings.Contains(value[3:], quote) {
			continue
		}
		ended := false
		for !ended && p.next() {
			ended = strings.Contains(p.line, quote)
		}
		if !ended {
			p.refuse(began, "unterminated string")
		}
	}
	if value != "" && (value[0] == '[' || value[0] == '{') {
		value = p.bracketed(value)
	}
	list := stringsOf(value)
	if list != nil {
		p.values[name] = list
	} else if value != "" && (value[0] == '"' || value[0] == '\'') {
		p.refuse(began, "unterminated string")
	}
}

// bracketed is an array or an inline table to its end.
func (p *parser) bracketed(value string) string {
	began, parts := p.at, []string{withoutComment(value)}
	for open := depth(parts[0]); open > 0; {
		if !p.next() {
			p.refuse(began, "unterminated array or table")
			break
		}
		more := withoutComment(p.line)
		parts, open = append(parts, more), open+depth(more)
	}
	return strings.Join(parts, " ")
}

// beginsValue says whether a text begins like a value: a string, a number or a date, true or false, inf or nan, an array, an
// inline table.
func beginsValue(text string) bool {
	return text != "" && strings.ContainsRune(`"'+-0123456789tfin[{`, rune(text[0]))
}

// depth is how many brackets of a text are open at its end, but for those in strings.
func depth(text string) (open int) {
	for text != "" {
		if _, rest, ok := cutString(text); ok {
			text = rest
			continue
		}
		switch text[0] {
		case '[', '{':
			open++
		case ']', '}':
			open--
		}
		text = text[1:]
	}
	return open
}

// withoutComment cuts the comment at the end of a line.
func withoutComment(line string) string {
	for rest := line; rest != ""; {
		if _, after, ok := cutString(rest); ok {
			rest = after
			continue
		}
		if rest[0] == '#' {
			return line[:len(line)-len(rest)]
		}
		rest = rest[1:]
	}
	return line
}

func fullName(table, key string) string {
	key = unquoteKey(key)
	if table == "" {
		return key
	}
	return table + "." + key
}

func unquoteKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\'' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, name)
}

// stringsOf are the strings of a value: one, or those of an array; nil if it is neither.
func stringsOf(value string) []string {
	if rest, ok := strings.CutPrefix(value, "["); ok {
		list := []string{}
		for {
			rest = strings.TrimLeft(rest, " \t,")
			s, after, ok := cutString(rest)
			if !ok {
				return list
			}
			list, rest = append(list, s), after
		}
	}
	if s, _, ok := cutString(value); ok {
		return []string{s}
	}
	return nil
}

// cutString reads the string that text begins with: "basic", with escapes, or 'literal'.
func cutString(text string) (s, rest string, ok bool) {
	switch {
	case strings.HasPrefix(text, `"`):
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", false
		}
		s, err = strconv.Unquote(quoted)
		return s, text[len(quoted):], err == nil
	case strings.HasPrefix(text, "'"):
		s, rest, ok = strings.Cut(text[1:], "'")
		return s, rest, ok
	}
	return "", "", false
}

// First is the first string of a value, of the first name that has one; "" if none has.
func (v Values) First(names ...string) string {
	for _, name := range names {
		if list := v[name]; len(list) > 0 && list[0] != "" {
			return list[0]
		}
	}
	return ""
}
