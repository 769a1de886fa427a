package pasted

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// labels are what an export of Loki puts before each line.
var labels = pattern.New(`^[> \t]*\{"[\w.]+": ?"[^"]*"(?:, ?"[\w.]+": ?"[^"]*")*\} +`)

// unwrap writes the records of a log collector as syslog writes lines to a file: they have a time, a program and a message, and often a host.
func unwrap(lines []string) (changed bool) {
	for i, line := range lines {
		if cell := cellOf(line); cell != "" {
			lines[i], changed = cell, true
			continue
		}
		if !strings.HasPrefix(line, `{"`) {
			continue
		}
		if m := labels.FindString(line); m != "" && begins(line[len(m):]) {
			lines[i], changed = line[len(m):], true
			continue
		}
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) != nil {
			if rest, ok := strings.CutPrefix(line, `{"log":"`); ok && begins(rest) { // of docker's, and cut
				rest, _, _ = strings.Cut(rest, `\n"`)
				lines[i], changed = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(rest), true
			}
			continue
		}
		if source, ok := record["_source"].(map[string]any); ok { // of Elasticsearch
			record = source
		}
		value := func(keys ...string) string {
			for _, key := range keys {
				if inner, ok := record[key].(map[string]any); ok {
					record[key] = inner["name"]
				}
				if s, ok := record[key].(string); ok && s != "" && !strings.Contains(s, "\n") {
					return s
				}
			}
			return ""
		}
		at, unit, message := value("ts", "time", "timestamp", "@timestamp"), value("unit", "ident", "program", "process", "syslog_identifier"), value("msg", "message", "log")
		if isoHead.MatchString(at) && unit != "" && !strings.ContainsAny(at+unit, " ") && message != "" {
			lines[i], changed = at+" "+cmp.Or(value("host", "hostname", "node"), "localhost")+" "+strings.TrimSuffix(unit, ".service")+": "+message, true
		}
	}
	return changed
}

// cellOf is the cell of a row of CSV that begins as programs begin a line of a log, "" where there is none.
func cellOf(line string) string {
	if !strings.HasPrefix(line, `"`) || !strings.Contains(line, `","`) {
		return ""
	}
	cells, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(cells, func(cell string) bool {
		return begins(cell) && !isoHead.MatchString(cell) && !strings.Contains(cell, "\n")
	})
	if i < 0 {
		return ""
	}
	return cells[i]
}

// unquoteFields takes the backslashes from a line that somebody has cut out of a field of a log, and that stands alone.
func unquoteFields(lines []string) (changed bool) {
	for i, line := range lines {
		n := strings.Count(line, `\"`)
		if n > 1 && n == strings.Count(line, `"`) && !begins(line) && (i == 0 || strings.TrimSpace(lines[i-1]) == "" || fence.MatchString(lines[i-1])) {
			lines[i], changed = strings.ReplaceAll(line, `\"`, `"`), true
		}
	}
	return changed
}

// placeBehind is a call of a goroutine behind which somebody has put the place that stands on the next line in a dump.
var placeBehind = pattern.New(`^([a-z][\w.~-]*[./][\w./~()*-]*\(.*\))\s{2,}[\w./-]+\.go:\d+$`)

// withoutPlaces takes such places off: a dump is read without them.
func withoutPlaces(lines []string) (changed bool) {
	for i, line := range lines {
		if m := placeBehind.FindStringSubmatch(line); m != nil {
			lines[i], changed = m[1], true
		}
	}
	return changed
}
