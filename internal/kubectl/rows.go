package kubectl

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

const (
	span = `(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|y))+|<unknown>|<invalid>|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z| [+-]\d{4} \w+)`
	age  = `(` + span + `)(?: ago)?(?:\s+\(x(\d+) over (` + span + `)\))?`
	from = `(\{[^}]*\}|[\w.-]+(?:, ?[\w.-]+)?)`
	part = `(?:((?:spec|status)\.\S+|implicitly\S+)\s+)?`
)

// The forms of a line of an event, by the versions of kubectl that print them.
var (
	// describe: Type Reason Age From Message.
	describedRow = pattern.New(`^\s*(Normal|Warning)\s+([A-Z]\w+)\s+` + age + `\s+` + from + `(?:\s+(.*))?$`)
	// describe up to 1.5: FirstSeen LastSeen Count From SubObjectPath Type Reason Message.
	oldDescribedRow = pattern.New(`^\s*(` + span + `)\s+(` + span + `)\s+(\d+)\s+` + from + `\s+` + part + `(Normal|Warning)\s+([A-Z]\w+)\s+(.*)$`)
	// get events since 1.14, and events: [NAMESPACE] LAST SEEN TYPE REASON OBJECT MESSAGE. Of 1.13, the object is its kind alone.
	listedRow = pattern.New(`^\s*(?:([a-z0-9][a-z0-9.-]*)\s+)?` + age + `\s+(Normal|Warning)\s+([A-Z]\w+)\s+(\w[\w.]*/[\w.:-]+|Pod|Node|PersistentVolumeClaim)(?:\s+(.*))?$`)
	// get events -o wide has more: SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME.
	wideTail = pattern.New(`^` + part + from + `\s{2,}(.*?)\s+(` + span + `)\s+(\d+)\s+[\w.-]+\.[0-9a-f]{8,}\s*$`)
	// get events up to 1.13: [NAMESPACE] LAST SEEN FIRST SEEN COUNT NAME KIND SUBOBJECT TYPE REASON SOURCE MESSAGE.
	oldListedRow = pattern.New(`^\s*(?:([a-z0-9][a-z0-9.-]*)\s+)?(` + span + `)\s+(` + span + `)\s+(\d+)\s+([\w.:-]+)\s+([A-Z]\w+)\s+` + part + `(Normal|Warning)\s+([A-Z]\w+)\s+` + from + `\s+(.*)$`)
	// tag is one of HTML at the beginning or the end of a line.
	// cutRow is one of an old table of which somebody has copied the last columns: From Type Reason Message.
	cutRow = pattern.New(`^([a-z][\w.-]*,? [\w.-]+)\t+(Normal|Warning)\t+([A-Z]\w+)\t+(\S.*)$`)
	tag    = pattern.New(`^(?:<\w+>\s*)+|(?:\s*</\w+>)+$`)
	// introduced is what somebody has put before the first row.
	introduced = pattern.New(`^[^"':：]{1,40}[:：]\s*$`)
	// repeatedRow is one as the Kubernetes plugin of Jenkins repeats it.
	repeatedRow = pattern.New(`\[(Warning|Normal)\]\[([a-z0-9-]+)/([\w.-]+)\]\[([A-Z]\w+)\] (\S.*)$`)
	eventName   = pattern.New(`\.[0-9a-f]{8,}$`)
)

// event takes the event at a line, and returns how many lines it has; 0 is none.
func (p *page) event(i int) int {
	joined, n := strings.TrimRight(p.lines[i], " \t\r"), 1
	for p.width > 0 && i+n < len(p.lines) && len([]rune(p.lines[i+n-1])) == p.width && !p.begins(p.lines[i+n]) {
		joined = p.lines[i]
		for k := range n {
			joined = strings.TrimSuffix(joined, "\r") + p.lines[i+k+1]
		}
		n++
	}
	e, ok := p.row(joined)
	kind := ""
	if !ok {
		kind = "Ready"
		if e, ok = p.condition(joined); ok {
			if m := conditionRow.FindStringSubmatch(joined); m != nil {
				kind = m[1]
			}
		} else if e, ok = p.silent(joined); !ok {
			p.ready(joined)
			p.wellAgain(joined)
			return 0
		}
	}
	for ; i+n < len(p.lines) && n < maxLines && p.continues(p.lines[i+n], e.Message); n++ {
		e.Message += "\n" + strings.TrimSpace(p.lines[i+n])
	}
	e.Message = strings.TrimSpace(e.Message)
	p.events = append(p.events, found{e, i, len(p.sections) - 1, kind})
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

// maxLines is how many lines a message has at most.
const maxLines = 16

// begins says whether a line is one of an event or a table, and so does not go on with the line above it.
func (p *page) begins(line string) bool {
	if strings.TrimSpace(line) == "" || heading.MatchString(line) {
		return true
	}
	_, ok := p.row(line)
	return ok
}

var (
	heading = pattern.New(`^\s*(?:Type\s+Reason|FirstSeen|LAST SEEN|NAMESPACE|NAME|----|[A-Z][\w -]*:\s|[$#>] )`)
	// outputs are how the later lines of a message of mount begin.
	outputs = pattern.New(`^(?:Mounting (?:command|arguments)|Unmounting (?:command|arguments)|Output|mount(?:\.\w+)?|umount(?:\.\w+)?|Error|Warning|stderr|stdout): ?`)
)

// continues says whether a line goes on with a message, which mount's output does over several lines.
func (p *page) continues(line, message string) bool {
	switch text := strings.TrimSpace(line); {
	case text == "" || p.begins(line) && !outputs.MatchString(text):
		return false
	case outputs.MatchString(text):
		return true
	}
	return strings.Contains(message, "\nOutput:") && !strings.HasSuffix(strings.TrimSpace(line), ":")
}

// row reads the line of an event in any form.
func (p *page) row(line string) (Event, bool) {
	if !strings.Contains(line, "Warning") && !strings.Contains(line, "Normal") {
		return Event{}, false
	}
	line = tag.ReplaceAllString(strings.Trim(line, " \t\r*`|"), "")
	if i := strings.Index(line, "Warning  "); i > 0 && introduced.MatchString(line[:i]) {
		line = line[i:]
	}
	if m := describedRow.FindStringSubmatch(line); m != nil {
		e := Event{Type: m[1], Reason: m[2], Message: m[7], Count: number(m[4])}
		if whole := m[6] + " " + m[7]; m[6][0] >= 'A' && m[6][0] <= 'Z' && strings.Contains(line, whole) {
			e.Message = whole // somebody has cut out who reported it, whose name has no capital
		} else {
			e.Component, e.Host = reporter(m[6])
		}
		e.First, e.Last = p.times(m[5], m[3])
		return e, true
	}
	if m := listedRow.FindStringSubmatch(line); m != nil {
		e := Event{Namespace: m[1], Type: m[5], Reason: m[6], Message: m[8], Count: number(m[3])}
		first := m[4]
		if w := wideTail.FindStringSubmatch(m[8]); w != nil {
			e.Container, e.Message, e.Count = ContainerOf(w[1]), w[3], number(w[5])
			e.Component, e.Host = reporter(w[2])
			first = w[4]
		}
		e.Kind, e.Name, _ = strings.Cut(m[7], "/")
		e.Kind = kindOf(e.Kind)
		e.First, e.Last = p.times(first, m[2])
		return e, true
	}
	if m := oldDescribedRow.FindStringSubmatch(line); m != nil {
		e := Event{Count: number(m[3]), Container: ContainerOf(m[5]), Type: m[6], Reason: m[7], Message: m[8]}
		e.Component, e.Host = reporter(m[4])
		e.First, e.Last = p.times(m[1], m[2])
		return e, true
	}
	if m := oldListedRow.FindStringSubmatch(line); m != nil {
		e := Event{Namespace: m[1], Count: number(m[4]), Name: eventName.ReplaceAllString(m[5], ""), Kind: m[6], Container: ContainerOf(m[7]), Type: m[8], Reason: m[9], Message: m[11]}
		e.Component, e.Host = reporter(m[10])
		e.First, e.Last = p.times(m[2], m[3])
		return e, true
	}
	if m := repeatedRow.FindStringSubmatch(line); m != nil {
		return Event{Type: m[1], Namespace: m[2], Kind: "Pod", Name: m[3], Reason: m[4], Message: m[5], Component: "kubelet", Count: 1}, true
	}
	if m := cutRow.FindStringSubmatch(line); m != nil {
		e := Event{Type: m[2], Reason: m[3], Message: m[4], Count: 1}
		e.Component, e.Host = reporter(m[1])
		return e, true
	}
	return Event{}, false
}

// kinds are what tables call the objects that matter, in lower case.
var kinds = map[string]string{"pod": "Pod", "po": "Pod", "node": "Node", "no": "Node", "pvc": "PersistentVolumeClaim", "pv": "PersistentVolume", "persistentvolumeclaim": "PersistentVolumeClaim", "persistentvolume": "PersistentVolume"}

func kindOf(s string) string {
	if k, ok := kinds[strings.ToLower(s)]; ok {
		return k
	}
	return s
}

// reporter takes "kubelet, node-1", "{kubelet node-1}" or "kubelet" apart.
func reporter(s string) (component, host string) {
	s = strings.Trim(s, "{} ")
	if c, h, ok := strings.Cut(s, ","); ok {
		return c, strings.TrimSpace(h)
	}
	c, h, _ := strings.Cut(s, " ")
	return c, h
}
