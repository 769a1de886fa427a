package kubectl

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var (
	yamlStart = pattern.New(`^(\s*)(- )?(?:apiVersion: \S+|kind: (?:Event|Pod|Node|List))\s*$`)
	// eventKey is one of those that an event has, which come first where whoever printed it has put them into another order.
	eventKey  = pattern.New(`^(\s*)(- )?(?:count|eventTime|firstTimestamp|involvedObject|lastTimestamp|message|metadata|reason|reportingComponent|source|type):(?:\s|$)`)
	yamlKey   = pattern.New(`^[\w./"'-]+:(?:\s|$)`)
	jsonStart = pattern.New(`^\s*\{\s*(?:$|"(?:apiVersion|kind|action|verb|metadata|items|lastHeartbeatTime)"\s*:)`)
	// conditionsStart begins a list of conditions.
	conditionsStart = pattern.New(`^\s*(?:"conditions"\s*:\s*)?\[\s*(?:$|\{)`)
)

// maxFailed is how many texts that look like YAML, but are none, are tried: each takes the time of all that follows it.
const maxFailed = 100

// object takes the object of the API, or the list of them, at a line, and returns how many lines it has; 0 is none.
func (p *page) object(i int) int {
	line := p.lines[i]
	switch {
	case strings.Contains(line, "[") && conditionsStart.MatchString(line):
		return p.conditions(i)
	case strings.Contains(line, "{") && jsonStart.MatchString(line):
		return p.json(i)
	case strings.Contains(line, "apiVersion:") || strings.Contains(line, "kind:"):
		return p.yaml(i, yamlStart.FindStringSubmatch(line))
	case strings.Contains(line, ":"):
		if m := eventKey.FindStringSubmatch(line); m != nil && p.eventInYAML(i, m) {
			return p.yaml(i, m)
		}
	}
	return 0
}

// eventInYAML says whether the object of which a line has the first key is an event.
func (p *page) eventInYAML(i int, m []string) bool {
	kind := m[1] + strings.Repeat(" ", len(m[2])) + "kind: Event"
	for n := 1; i+n < len(p.lines) && p.inYAML(i+n, len(m[1])) && n < maxEvent; n++ {
		switch line := p.lines[i+n]; {
		case strings.HasPrefix(line, m[1]+"- "):
			return false
		case strings.TrimRight(line, " \r") == kind:
			return true
		}
	}
	return false
}

// maxEvent is more lines than an event has.
const maxEvent = 100

func (p *page) json(i int) int {
	if n := p.conditions(i); n > 0 {
		return n
	}
	if near := strings.Join(p.lines[i:min(i+60, len(p.lines))], "\n"); !strings.Contains(near, `"apiVersion"`) && !strings.Contains(near, `"kind"`) {
		return 0
	}
	value, n := p.decode(i, 0)
	return p.take(value, i, n)
}

// decode reads a value of JSON that begins in a line, and returns the lines that it takes; 0 where there is none.
func (p *page) decode(i, from int) (value json.RawMessage, lines int) {
	dec := json.NewDecoder(&linesReader{line: p.lines[i][from:] + "\n", rest: p.lines[i+1:]})
	if dec.Decode(&value) != nil {
		return nil, 0
	}
	for at, end := int64(-from), dec.InputOffset(); at < end; lines++ {
		at += int64(len(p.lines[i+lines])) + 1
	}
	return value, lines
}

// conditions takes the conditions of a node without the node around them, as "jq .status.conditions" prints them: only nodes have heartbeats.
func (p *page) conditions(i int) int {
	if near := strings.Join(p.lines[i:min(i+6, len(p.lines))], "\n"); p.failed >= maxFailed || !strings.Contains(near, `"lastHeartbeatTime"`) {
		return 0
	}
	value, n := p.decode(i, strings.IndexAny(p.lines[i], "[{"))
	var list []struct {
		Heartbeat string `json:"lastHeartbeatTime"`
		Type      string `json:"type"`
	}
	if n > 0 && value[0] == '{' {
		value = slices.Concat(json.RawMessage("["), value, json.RawMessage("]"))
	}
	if n == 0 || json.Unmarshal(value, &list) != nil || len(list) == 0 || list[0].Heartbeat == "" || list[0].Type == "" {
		p.failed++
		return 0
	}
	return p.take(slices.Concat([]byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"`+p.node+`"},"status":{"conditions":`), value, []byte("}}")), i, n)
}

// linesReader reads lines as far as they are asked for.
type linesReader struct {
	line string // what is left of it, with its end
	rest []string
}

func (r *linesReader) Read(b []byte) (int, error) {
	if r.line == "" {
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
		r.line, r.rest = r.rest[0]+"\n", r.rest[1:]
	}
	n := copy(b, r.line)
	r.line = r.line[n:]
	return n, nil
}

// yaml takes what begins in a line with a key, of which m has the indentation and the mark of a list.
func (p *page) yaml(i int, m []string) int {
	if m == nil || p.failed >= maxFailed {
		return 0
	}
	indent := len(m[1])
	n := 1
	for i+n < len(p.lines) && p.inYAML(i+n, indent) {
		n++
	}
	var b strings.Builder
	for _, line := range p.lines[i : i+n] {
		b.WriteString(strings.TrimPrefix(line, m[1]) + "\n")
	}
	value, err := yaml.YAMLToJSON([]byte(b.String()))
	if err != nil {
		p.failed++
		return 0
	}
	if m[2] != "" { // the members of a list whose head is missing
		value = []byte(`{"kind":"List","apiVersion":"v1","items":` + string(value) + `}`)
	}
	return p.take(value, i, n)
}

// conditionYAML is how kubectl begins a condition of a node: its keys are in their order, and no other object has a heartbeat.
var conditionYAML = pattern.New(`^(\s*)- lastHeartbeatTime: `)

// maxCondition is how many lines a condition has at most: long messages are folded.
const maxCondition = 24

// yamlCondition takes the condition of a node at a line, of a document without its head, and returns how many lines it has; 0 is none.
func (p *page) yamlCondition(i int) int {
	m := conditionYAML.FindStringSubmatch(p.lines[i])
	if m == nil {
		return 0
	}
	n := 1
	for i+n < len(p.lines) && n < maxCondition && strings.HasPrefix(p.lines[i+n], m[1]+"  ") {
		n++
	}
	var list []struct {
		Type, Status, Reason, Message string
		LastHeartbeatTime             moment
		LastTransitionTime            moment
	}
	text, err := yaml.YAMLToJSON([]byte(aligned(p.lines[i : i+n])))
	if err != nil || json.Unmarshal(text, &list) != nil || len(list) != 1 || list[0].LastTransitionTime.IsZero() {
		return 0
	}
	c := list[0]
	since := c.LastTransitionTime.Time
	e, bad := inTrouble(p.described.name, c.Type, c.Status, c.Reason, c.Message, since, c.LastHeartbeatTime.Time)
	switch {
	case bad:
	case c.Type == "Ready" && len(p.events) > 0: // which ends what an earlier one says
		e = NotReady(p.described.name, c.Status, c.Message, &since)
		e.Type, e.Reason = "Normal", "NodeReady"
	default:
		return 0
	}
	p.events = append(p.events, found{e, i, -1, ""})
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

// conditionKey is a key of a condition.
var conditionKey = pattern.New(`^\s+(?:last\w+Time|message|reason|status|type): `)

// aligned is a member of a list with its keys below one another: people lose blanks of the first line.
func aligned(lines []string) string {
	var b strings.Builder
	for n, line := range lines {
		switch text := strings.TrimSpace(line); {
		case n == 0:
			b.WriteString(text)
		case conditionKey.MatchString(line):
			b.WriteString("\n  " + text)
		default: // of a folded message
			b.WriteString("\n    " + text)
		}
	}
	return b.String()
}

// inYAML says whether a line is part of a document whose first line has an indentation.
func (p *page) inYAML(i, indent int) bool {
	line := p.lines[i]
	text := strings.TrimLeft(line, " ")
	switch blanks := len(line) - len(text); {
	case text == "":
		return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i+1], strings.Repeat(" ", indent+1))
	case strings.HasPrefix(text, "---") && blanks == indent:
		return false
	case blanks > indent:
		return true
	default:
		return blanks == indent && (strings.HasPrefix(text, "- ") || yamlKey.MatchString(text))
	}
}

// take keeps an object of the API and empties its lines.
func (p *page) take(value []byte, i, n int) int {
	var watched struct { // what a watch of the API sends, as eventrouter writes it
		Verb  string          `json:"verb"`
		Event json.RawMessage `json:"event"`
	}
	if json.Unmarshal(value, &watched) == nil && watched.Verb != "" && watched.Event != nil {
		value = withKind(watched.Event)
	}
	var says struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(value, &says) != nil || says.Kind == "" || !known(says.Kind) {
		return 0
	}
	p.objects = append(append(p.objects, value...), '\n')
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

// withKind is an event of the API with its kind, which objects in lists have not.
func withKind(event json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(event, &fields) != nil || fields["involvedObject"] == nil {
		return event
	}
	fields["kind"] = json.RawMessage(`"Event"`)
	whole, _ := json.Marshal(fields)
	return whole
}

// known leaves out what is a configuration file, and not what kubectl has printed.
func known(kind string) bool {
	switch strings.TrimSuffix(kind, "List") {
	case "Event", "Pod", "Node", "PersistentVolumeClaim", "PersistentVolume", "":
		return true
	}
	return false
}
