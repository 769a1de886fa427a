package runtimes

import (
	"strconv"
	"strings"
)

// tomlValues reads what is needed of a TOML file: strings, and arrays of strings, each under the dotted name of its
// table and key, without quotes ("plugins.io.containerd.grpc.v1.cri.containerd.snapshotter"). Everything else is passed
// over, as are lines that are no TOML: a runtime that would refuse the file may have been started with another.
func tomlValues(text string) map[string][]string {
	values := map[string][]string{}
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
			table = tomlTable(line)
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
		if list := tomlStrings(value); list != nil {
			values[tomlName(table, key)] = list
		}
	}
	return values
}

func tomlTable(line string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(line, "["), "]")
	return unquoteKey(name)
}

func tomlName(table, key string) string {
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

// tomlStrings are the strings of a value: one, or those of an array; nil if it is neither.
func tomlStrings(value string) []string {
	if rest, ok := strings.CutPrefix(value, "["); ok {
		list := []string{}
		for {
			rest = strings.TrimLeft(rest, " \t,")
			s, after, ok := tomlString(rest)
			if !ok {
				return list
			}
			list, rest = append(list, s), after
		}
	}
	if s, _, ok := tomlString(value); ok {
		return []string{s}
	}
	return nil
}

// tomlString reads the string that text begins with: "basic", with escapes, or 'literal'.
func tomlString(text string) (s, rest string, ok bool) {
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

// first is the first string of a value, "" if there is none.
func first(values map[string][]string, names ...string) string {
	for _, name := range names {
		if v := values[name]; len(v) > 0 && v[0] != "" {
			return v[0]
		}
	}
	return ""
}
