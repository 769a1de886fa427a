package kubectl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/logline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// Lines returns a text with each event in it, and each condition of a node that matters, replaced by a line of JSON, and with the objects
// of the API, which come as JSON one after the other, replaced by empty lines. Other lines stay where they are. It is nil, nil if there
// is nothing of it. Saved is what ages count from; zero where that is unknown, and then events of tables have no time. Shown are the objects
// that descriptions, tables and events show in part, as JSON, too.
func Lines(text []byte, saved time.Time) (lines, objects, shown []byte) {
	if !mayHold(string(text)) {
		return nil, nil, nil
	}
	p := &page{lines: strings.Split(string(text), "\n"), now: saved}
	for i, line := range p.lines {
		p.lines[i] = withoutBars(line)
	}
	p.measure()
	var quotation logline.Quotation
	for i := 0; i < len(p.lines); {
		if quotation.Has(p.lines[i]) {
			i++
			continue
		}
		n := p.object(i)
		if n == 0 {
			n = p.yamlCondition(i)
		}
		if n == 0 {
			n = p.certificate(i)
		}
		if n == 0 {
			n = p.record(i)
		}
		if n == 0 {
			n = p.fragment(i)
		}
		if n == 0 {
			n = p.state(i)
		}
		if n == 0 {
			n = p.event(i)
		}
		if n == 0 && p.isReady(i) {
			n = 1
		}
		if n == 0 {
			n = p.alone(i)
		}
		if n == 0 {
			p.context(p.lines[i])
			p.tableRow(i)
			n = 1
		}
		i += n
	}
	p.overRecords()
	p.listedAgain()
	p.stuck()
	p.startedOften()
	p.complete()
	shown = p.shown()
	if len(p.events) == 0 && len(p.objects) == 0 && shown == nil {
		return nil, nil, nil
	}
	for _, e := range p.events {
		p.lines[e.line] = strings.TrimSuffix(string(e.Line()), "\n")
	}
	if p.aged && !p.now.IsZero() { // until then the page shows what there is
		p.lines = append(p.lines, strings.TrimSuffix(string(Event{Type: "Normal", Count: 1, First: p.now, Last: p.now}.Line()), "\n"), "")
	}
	return []byte(strings.Join(p.lines, "\n")), p.objects, shown
}

// withoutBars takes the bars out of a row of a table as Markdown and k9s draw it.
func withoutBars(line string) string {
	row := strings.TrimSpace(line)
	for _, bar := range []string{"|", "│"} {
		if inner, ok := strings.CutPrefix(row, bar); ok && strings.HasSuffix(inner, bar) && strings.Count(inner, bar) > 2 {
			cells := strings.Split(strings.TrimSuffix(inner, bar), bar)
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			return strings.Join(cells, "   ")
		}
	}
	return line
}

// mayHold says quickly of most texts that there is nothing of it.
func mayHold(text string) bool {
	for _, word := range []string{"Warning", "Normal", "NotReady", "NodeStatusUnknown", ":NoExecute", "apiVersion", "LastTransitionTime", "Pressure", "Terminating", "<invalid>", "notAfter=", "Not After", "eason: ", "low on resource: ", "ContainerError", "had condition: ", "nodes are available: ", "unmounted volumes=", "ist of unmounted volumes", "System OOM encountered", "pull policy of Never", "status is now: Node", "Error: context deadline", "active (running) since ", "NRestarts=", "Space Available: 0", " twi-", "/proc/mounts", "/proc/self/mount", "mount | ", "findmnt ", "mount -t ", "timeout "} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return strings.Contains(text, " Ready") && (strings.Contains(text, ownRequest) || strings.Contains(text, pleg) || strings.Contains(text, " kubelet["))
}

// page is a text that is looked at.
type page struct {
	lines   []string
	now     time.Time
	width   int // of the terminal, where it has wrapped lines; 0 otherwise
	events  []found
	objects []byte
	aged    bool // an age was read
	// described is what the description that is being read is about.
	described described
	sections  []described
	rows      []described // of tables of objects
	namespace string      // of the command line
	node      string      // of the command line
	leased    string      // the node whose lease the kubelet could not renew, by its log
	listed    string      // the kind of object that the command line lists
	hosts     []string    // whose kubelets have written lines, two at most
	unit      string      // the service whose status is shown
	// nodeRows are the nodes of which tables have rows, bare is the first line of klog without a host: both read once, when they are asked for.
	nodeRows map[string]bool
	notReady bool // one of these is not
	bare     int
	failed   int        // texts that were no YAML
	well     []string   // resources that conditions say the node has enough of
	date     *time.Time // what date(1) printed; nil until somebody wants to know
}

// found is an event at a line; described is the index of what was described there, -1 where that is nothing. One that stands for a
// condition of a node has its name.
type found struct {
	Event
	line, described int
	condition       string
}

// measure finds the width at which a terminal has wrapped lines: that of the longest, if several have it. And when a description of a
// node was made, which its heartbeat tells better than the time of the file.
func (p *page) measure() {
	width, full := 0, 0
	for _, line := range p.lines {
		switch n := len([]rune(line)); {
		case n > width:
			width, full = n, 1
		case n == width:
			full++
		}
	}
	if width >= 60 && width <= 260 && full > 1 {
		p.width = width
	}
	var beat time.Time
	for _, line := range p.lines {
		if m := conditionRow.FindStringSubmatch(line); m != nil && strings.HasPrefix(strings.TrimSpace(line), "Ready") {
			if t, err := time.Parse(dateLayout, m[3]); err == nil && t.After(beat) && m[2] != "Unknown" {
				beat = t.UTC()
			}
		}
	}
	if !beat.IsZero() && (p.now.IsZero() || beat.Before(p.now)) { // the kubelet reports every five minutes at least
		p.now = beat
	}
}

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
	eventName  = pattern.New(`\.[0-9a-f]{8,}$`)
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
		if e, ok = condition(joined, p.described.name); ok {
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

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// times are the times of two ages, in their order.
func (p *page) times(a, b string) (first, last time.Time) {
	first, last = p.when(a), p.when(b)
	switch {
	case last.IsZero():
		last = first
	case first.IsZero():
		first = last
	}
	if first.After(last) {
		first, last = last, first
	}
	return first, last
}

// when is the time of an age, or of a time.
func (p *page) when(s string) time.Time {
	switch {
	case s == "<invalid>": // a moment ahead, since two clocks differ
		p.aged = true
		return p.now
	case s == "" || s[0] == '<':
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -0700 MST", "2006-01-02 15:04:05Z"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	p.aged = true
	if p.now.IsZero() {
		return time.Time{}
	}
	return p.now.Add(-length(s)).UTC()
}

// length reads what kubectl writes of a duration: "3m10s", "5d4h", "2y101d".
func length(s string) time.Duration {
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "y": 365 * 24 * time.Hour}
	var d time.Duration
	for _, m := range quantity.FindAllStringSubmatch(s, -1) {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil && f < 1e6 {
			d += time.Duration(f * float64(units[m[2]]))
		}
	}
	return d
}

var quantity = pattern.New(`(\d+(?:\.\d+)?)(ms|s|m|h|d|y)`)

var (
	field    = pattern.New(`^(\s{0,8})(Name|Namespace|Node|Roles|Taints|StorageClass|Access Modes|Reclaim Policy|Containers|Node-Selectors|Finalizers|Used By|Mounted By):\s*(\S*)`)
	command  = pattern.New(`(?:kubectl|oc|k)\b.*\b(?:events?|ev|po|pods?|pvc)\b.*\s(?:-n|--namespace)[ =]([a-z0-9][a-z0-9.-]*)`)
	command2 = pattern.New(`(?:kubectl|oc|k)\b.*\s(?:-n|--namespace)[ =]([a-z0-9][a-z0-9.-]*).*\b(?:events?|ev|po|pods?|pvc)\b`)
	getNode  = pattern.New(`(?:kubectl|oc|k) get (?:nodes?|no)[ /]([a-z0-9][a-z0-9.-]*)\b`)
	// describeOf is a command of whose answer only some lines are shown, perhaps not the name.
	describeOf = pattern.New(`(?:kubectl|oc|k)\b.*\bdescribe (po|pods?|pvc|persistentvolumeclaims?|pv|persistentvolumes?|no|nodes?)[ /]([a-z0-9][a-z0-9.-]*)\b.*\|`)
	assignedTo = pattern.New(`^Successfully assigned (?:([\w.-]+)/)?([\w.-]+) to ([\w.-]+)`)
)

// context learns from a line that is no event what the events near it are about.
func (p *page) context(line string) {
	for _, c := range []*pattern.Pattern{command, command2} {
		if m := c.FindStringSubmatch(line); m != nil {
			p.namespace = m[1]
		}
	}
	if m := getNode.FindStringSubmatch(line); m != nil {
		p.node = m[1]
	}
	p.gone(line)
	if m := describeOf.FindStringSubmatch(line); m != nil {
		p.described = described{kind: kindOf(strings.TrimSuffix(m[1], "s")), namespace: p.namespace, name: m[2], fields: map[string][]string{}}
		p.sections = append(p.sections, p.described)
		return
	}
	if n := len(p.sections); n > 0 {
		p.described.field(line)
		p.sections[n-1] = p.described
	}
	m := field.FindStringSubmatch(line)
	if m == nil {
		return
	}
	if m[2] == "Name" {
		if m[1] == "" || len(p.sections) == 0 {
			p.described = described{name: m[3], indent: m[1], fields: map[string][]string{}}
			p.sections = append(p.sections, p.described)
		}
		return
	}
	if len(p.sections) == 0 {
		return
	}
	d := &p.described
	switch m[2] {
	case "Namespace":
		d.namespace = m[3]
	case "Node":
		d.node, _, _ = strings.Cut(m[3], "/")
		d.kind = "Pod"
	case "Containers", "Node-Selectors":
		d.kind = "Pod"
	case "Roles":
		d.kind = "Node"
	case "Taints":
		d.kind = "Node"
	case "Reclaim Policy":
		d.kind = "PersistentVolume"
	case "Finalizers": // which is before Access Modes, where people end
		switch {
		case d.kind != "":
		case strings.Contains(m[3], "kubernetes.io/pvc-protection"):
			d.kind = "PersistentVolumeClaim"
		case strings.Contains(m[3], "kubernetes.io/pv-protection"):
			d.kind = "PersistentVolume"
		}
	case "StorageClass", "Access Modes", "Used By", "Mounted By":
		if d.kind != "PersistentVolume" {
			d.kind = "PersistentVolumeClaim"
		}
	}
	p.sections[len(p.sections)-1] = *d
}

// complete says of events what the lines around them tell: which object they are about, and on which node it is.
func (p *page) complete() {
	for i := range p.events {
		e := &p.events[i]
		if e.Name == "" && e.described >= 0 {
			d := p.sections[e.described]
			e.Kind, e.Namespace, e.Name = d.kind, d.namespace, d.name
			if d.kind == "" && d.namespace != "" {
				e.Kind = "Pod"
			}
			if e.Host == "" {
				e.Host = d.node
			}
		}
		if e.Namespace == "" && e.Kind == "Pod" {
			e.Namespace = p.namespace
		}
	}
	// Events of an object without a name are about the pod that one of them names.
	var pod described
	for _, e := range p.events {
		if m := assignedTo.FindStringSubmatch(e.Message); m != nil && e.Name == "" && pod.name == "" {
			pod = described{kind: "Pod", namespace: m[1], name: m[2], node: m[3]}
		}
	}
	nodes := map[string]string{}
	for i := range p.events {
		e := &p.events[i]
		if e.Name == "" && ofPod(e.Reason) {
			e.Kind, e.Namespace, e.Name = "Pod", pod.namespace, pod.name
		}
		switch m := assignedTo.FindStringSubmatch(e.Message); {
		case m != nil:
			nodes[e.Name] = m[3]
		case e.Kind == "Pod" && e.Component == "kubelet" && e.Host != "":
			nodes[e.Name] = e.Host
		}
	}
	for i := range p.events {
		e := &p.events[i]
		if e.Host == "" && e.Kind == "Pod" {
			e.Host = nodes[e.Name]
		}
		if e.Host == "" && e.Kind == "Node" {
			e.Host = e.Name
		}
	}
}

// ofPod leaves out the events that are about nodes.
func ofPod(reason string) bool {
	return !strings.HasPrefix(reason, "Node") && !strings.HasPrefix(reason, "ImageGC") && !slices.Contains([]string{
		"EvictionThresholdMet", "FreeDiskSpaceFailed", "InvalidDiskCapacity", "SystemOOM", "ContainerGCFailed", "Rebooted", "Starting",
	}, reason)
}
