package goroutines

import (
	"bytes"
	"strconv"
	"strings"
)

// parseHeader reads a line such as
//
//	goroutine 1 gp=0xc0000061c0 m=7 mp=0xc000600008 [syscall, 12 minutes, locked to thread]:
//
// as goroutineheader of the runtime's traceback.go prints it. gp tells whether
// the line has gp=, which only a dying program prints. reason is empty if all went well.
func parseHeader(b []byte, g *Goroutine, names *interner) (gp bool, reason string) {
	id, rest, ok := parseInt(b[len("goroutine "):])
	if !ok {
		return false, "bad number"
	}
	g.ID = id
	open := bytes.IndexByte(rest, '[')
	if open < 1 || rest[open-1] != ' ' {
		return false, "no state"
	}
	between := rest[:open]
	gp = bytes.HasPrefix(between, []byte(" gp="))
	if !gp && len(between) > 1 {
		return false, "unexpected text before the state"
	}
	end := bytes.LastIndexByte(rest, ']')
	if end < open {
		return gp, "state is truncated"
	}
	parseStatus(rest[open+1:end], g, names)
	return gp, ""
}

// parseStatus reads what stands between the brackets: the state, then options behind commas.
func parseStatus(b []byte, g *Goroutine, names *interner) {
	if i := bytes.Index(b, []byte(" labels:{")); i >= 0 {
		g.Labels = parseLabels(string(b[i+len(" labels:"):]))
		b = b[:i]
	}
	state, options, _ := bytes.Cut(b, []byte(", "))
	g.State = names.text(bytes.TrimSuffix(state, []byte(" (scan)")))
	for len(options) > 0 {
		var option []byte
		option, options, _ = bytes.Cut(options, []byte(", "))
		if n, unit, ok := parseInt(option); ok && string(unit) == " minutes" {
			g.WaitMinutes = int(n)
		} else if string(option) == "locked to thread" {
			g.LockedToThread = true
		}
	}
}

// parseLabels reads {"key": "value", "key":"value"}, quoted as by strconv.Quote.
// Labels behind one that is malformed are lost.
func parseLabels(s string) map[string]string {
	s = strings.TrimPrefix(s, "{")
	labels := make(map[string]string)
	for {
		key, rest, ok := cutQuoted(s)
		if !ok {
			break
		}
		value, rest, ok := cutQuoted(strings.TrimPrefix(rest, ":"))
		if !ok {
			break
		}
		labels[key] = value
		s = strings.TrimPrefix(rest, ",")
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// cutQuoted reads a quoted string behind spaces.
func cutQuoted(s string) (text, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", s, false
	}
	text, err = strconv.Unquote(quoted)
	return text, s[len(quoted):], err == nil
}
