// Package toml reads the strings of configuration files of container runtimes (toml.io/en/v1.0.0).
package toml

import (
	"strconv"
	"strings"
)

// Values are strings, and arrays of strings, each under the dotted name of its table and key, without quotes
// ("plugins.io.containerd.grpc.v1.cri.containerd.snapshotter").
type Values map[string][]string

// Parse reads the strings of a TOML file. Everything else is passed over, as are lines that are no TOML: a runtime that
// would refuse the file may have been started with another.
func Parse(text string) Values {
	values := Values{}
	table, multi := "", ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if multi != "" { // inside of a string of several lines
			if strings.Contains(line, multi) {
				multi = ""
			}
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			table = tableName(line)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		for _, quote := range []string{`"""`, `'''`} {
			if strings.HasPrefix(value, quote) && !strings.Contains(value[3:], quote) {
				multi = quote
			}
		}
		for strings.HasPrefix(value, "[") && !strings.Contains(value, "]") && i+1 < len(lines) {
			i++
			if more := strings.TrimSpace(lines[i]); !strings.HasPrefix(more, "#") {
				value += " " + more
			}
		}
		if list := stringsOf(value); list != nil {
			values[fullName(table, key)] = list
		}
	}
	return values
}

func tableName(line string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(line, "["), "]")
	return unquoteKey(name)
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
