package pasted

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// plain undoes what stands before or behind each line of a text: ends of lines of Windows, blanks that fill a terminal's width, an
// indentation of all lines, bars of a quote, numbers of lines, and an empty line below each.
func plain(lines []string) (changed bool) {
	changed = trimEnds(lines)
	changed = withoutPrefix(lines) || changed
	changed = withoutNumbers(lines) || changed
	return singleSpaced(lines) || changed
}

// edit puts each line through a function. Neither it nor full is inlined, for the size of the program.
//
//go:noinline
func edit(lines []string, f func(string) string) (changed bool) {
	for i, line := range lines {
		if text := f(line); text != line {
			lines[i], changed = text, true
		}
	}
	return changed
}

// full are the lines that are not empty.
//
//go:noinline
func full(lines []string) (list []string) {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			list = append(list, line)
		}
	}
	return list
}

// trimEnds takes off the ends of lines of Windows, and blanks where most lines end with some: otherwise they may be where a terminal has
// wrapped a line.
func trimEnds(lines []string) (changed bool) {
	changed = edit(lines, func(s string) string { return strings.TrimRight(s, "\r") })
	padded, all := 0, full(lines)
	for _, line := range all {
		if last := line[len(line)-1]; last == ' ' || last == '\t' {
			padded++
		}
	}
	if padded > 1 && 3*padded >= 2*len(all) {
		changed = edit(lines, func(s string) string { return strings.TrimRight(s, " \t") }) || changed
	}
	return changed
}

// bars are what people and programs put before each line of what they quote, and tables do not have.
var bars = []string{"> ", "| ", "│ ", "┃ ", "// ", "; "}

// withoutPrefix takes off what all lines begin with: blanks, or a bar.
func withoutPrefix(lines []string) (changed bool) {
	all := full(lines)
	if len(all) == 0 {
		return false
	}
	blanks := all[0][:len(all[0])-len(strings.TrimLeft(all[0], " \t"))]
	for _, line := range all {
		for !strings.HasPrefix(line, blanks) {
			blanks = blanks[:len(blanks)-1]
		}
	}
	if blanks != "" {
		changed = edit(lines, func(s string) string { return strings.TrimPrefix(s, blanks) })
		all = full(lines)
	}
	for _, bar := range bars {
		comment := bar == "// " || bar == "; " // of source code, or a setting
		if (len(all) > 1 || !comment) && !slices.ContainsFunc(all, func(s string) bool {
			return !strings.HasPrefix(s+" ", bar) || strings.HasSuffix(s, strings.TrimSpace(bar)) && len(s) > len(bar)
		}) {
			return edit(lines, func(s string) string { return strings.TrimPrefix(strings.TrimPrefix(s, strings.TrimSpace(bar)), " ") }) || changed
		}
	}
	return changed
}

// numbered is a line behind its number, as of "cat -n", "less -N" and "grep -n".
var numbered = pattern.New(`^ *(\d{1,7})(\t|: ?| \| |  ?)(.*)$`)

// withoutNumbers takes off the numbers of lines, which rise from line to line: by one each, or those of lines of a log that were picked.
func withoutNumbers(lines []string) bool {
	const fewest = 4
	before, byOne, marked, heads, n := 0, true, true, 0, 0
	for _, line := range full(lines) {
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		number, _ := strconv.Atoi(m[1])
		if number <= before || isClock(m[2], m[3]) {
			return false
		}
		byOne = byOne && number == before+1
		marked = marked && strings.TrimSpace(m[2]) != "" || m[2] == "\t"
		if begins(strings.TrimSpace(m[3])) {
			heads++
		}
		before = number
		n++
	}
	if n == 0 || heads < n && (!marked || !byOne && n < fewest) && (!byOne || n < fewest) {
		return false
	}
	return edit(lines, func(s string) string {
		if m := numbered.FindStringSubmatch(s); m != nil {
			return m[3]
		}
		return s
	})
}

// isClock says whether a number is the hour of a time.
func isClock(mark, rest string) bool {
	return mark == ":" && len(rest) > 1 && rest[0] >= '0' && rest[0] <= '5' && rest[1] >= '0' && rest[1] <= '9'
}

// singleSpaced takes out the empty line below each line, if all but the last have one: they are at the end then.
func singleSpaced(lines []string) bool {
	const fewest = 6
	kept := make([]string, 0, len(lines))
	for i, line := range lines {
		empty := strings.TrimSpace(line) == ""
		if i%2 == 0 {
			kept = append(kept, line)
		} else if !empty {
			return false
		}
	}
	if len(full(kept)) < fewest || 2*len(full(kept)) < len(kept) {
		return false
	}
	clear(lines[copy(lines, kept):])
	return true
}
