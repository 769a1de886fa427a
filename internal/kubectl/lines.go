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
	for _, word := range []string{"Warning", "Normal", "NotReady", "NodeStatusUnknown", ":NoExecute", "apiVersion", "LastTransitionTime", "Pressure", "Terminating", "<invalid>", "notAfter=", "Not After", "eason: ", "low on resource: ", "ContainerError", "exitCode: 128", "which is unexpected", "Unhealthy ", "had condition: ", "nodes are available: ", "unmounted volumes=", "ist of unmounted volumes", "System OOM encountered", "pull policy of Never", "status is now: Node", "Error: context deadline", "active (running) since ", "Active: inactive", "Active: failed", "NRestarts=", "Space Available: ", "OOMKilling", "has disk pressure", " twi-", "/proc/mounts", "/proc/self/mount", "mount | ", "findmnt ", "mount -t ", "timeout "} {
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
	forms     map[*pattern.Pattern]bool
	hosts     []string // whose kubelets have written lines, two at most
	unit      string   // the service whose status is shown
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
