package kubectl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var messageKey = pattern.New(`^\s*"?[Mm]essage"?:\s+['"]?(\S.*?)['"]?,?\s*$`)

// ofFragment is how many lines of an event stand before or behind its message, and reporters are those whose events are read.
const ofFragment = 14

var reporters = []string{"kubelet", "attachdetach-controller", "default-scheduler"}

// fragment takes the message of one event of which somebody has copied a few keys, from YAML or from "kubectl describe event". Where another
// message is near, it is not clear which keys are whose.
func (p *page) fragment(i int) int {
	m := messageKey.FindStringSubmatch(p.lines[i])
	if m == nil || len(p.lines[i]) > maxRow {
		return 0
	}
	e := Event{Type: "Warning", Message: m[1], Count: 1}
	for _, step := range []int{-1, 1} {
		for at := i + step; at >= 0 && at < len(p.lines) && step*(at-i) <= ofFragment && strings.TrimSpace(p.lines[at]) != ""; at += step {
			if messageKey.MatchString(p.lines[at]) {
				return 0
			}
			if key, value, ok := strings.Cut(p.lines[at], ": "); ok && len(key) < 40 {
				e.set(strings.ToLower(strings.NewReplacer(" ", "", `"`, "").Replace(key)), strings.Trim(value, ` "',`))
			}
		}
	}
	if status := map[string]string{"KubeletNotReady": "False", "NodeStatusUnknown": "Unknown"}[e.Reason]; e.Type == "Ready" && status != "" && !e.Last.IsZero() { // a condition of a node
		p.events = append(p.events, found{NotReady(p.node, status, e.Message, &e.Last), i, -1, "Ready"})
		p.lines[i] = ""
		return 1
	}
	if e.Type == "PodScheduled" && e.Reason == "Unschedulable" { // a condition of a pod
		e.Type, e.Reason, e.Component, e.Kind = "Warning", "FailedScheduling", "default-scheduler", "Pod"
	}
	if e.Component == "kernel-monitor" && e.Reason == "OOMKilling" { // of node-problem-detector, which repeats a line of the kernel
		e.Component, e.First = "kernel", e.Last
		p.events = append(p.events, found{e, i, -1, ""})
		return 1
	}
	if !slices.Contains(reporters, e.Component) || !strings.HasPrefix(e.Reason, "Failed") || e.Type != "Warning" {
		return 0
	}
	if e.First.IsZero() || e.First.After(e.Last) {
		e.First = e.Last
	}
	p.events = append(p.events, found{e, i, -1, ""})
	p.lines[i] = ""
	return 1
}

// set takes over the value of a key.
func (e *Event) set(key, value string) {
	var at moment
	switch key {
	case "reason":
		e.Reason = value
	case "component", "reportingcomponent":
		e.Component = value
	case "host":
		e.Host = value
	case "type":
		e.Type = value
	case "count":
		e.Count, _ = strconv.ParseInt(value, 10, 64)
		e.Count = max(e.Count, 1)
	case "firsttimestamp":
		_ = at.UnmarshalJSON([]byte(value)) // zero where it is none
		e.First = at.Time
	case "lasttimestamp", "lasttransitiontime":
		_ = at.UnmarshalJSON([]byte(value))
		e.Last = at.Time
	}
}

// aloneMessages are what messages of events begin with that no program logs in these words, and the reasons of the events.
var aloneMessages = []struct{ start, has, reason string }{
	{"Unable to attach or mount volumes: unmounted volumes=", "", "FailedMount"},
	{"Unable to mount volumes for pod \"", "", "FailedMount"},
	{"The node was low on resource: ", "", "Evicted"},
	{"The node had condition: [", "", "Evicted"},
	{"System OOM encountered, victim process: ", "", "SystemOOM"},
	{"Container image \"", " is not present with pull policy of Never", "ErrImageNeverPull"},
	{"Error: context deadline exceeded", "", "Failed"},
	{"0/", " nodes are available: ", "FailedScheduling"},
	{"Node ", " status is now: Node", ""}, // the last word
}

// hasPressure is the message of a condition of a node, as somebody repeats it.
var hasPressure = pattern.New(`(?:^|[\s"'` + "`" + `,:(])kubelet has disk pressure\b`)

// alone takes the message of an event that somebody has quoted alone.
func (p *page) alone(i int) int {
	line := strings.TrimSpace(p.lines[i])
	if len(line) <= maxRow && hasPressure.MatchString(line) && !unready.MatchString(line) && len(p.events) == 0 {
		p.events = append(p.events, found{Event{Type: "Warning", Reason: "KubeletHasDiskPressure", Message: "kubelet has disk pressure", Kind: "Node", Name: p.described.name, Host: p.described.name, Component: "kubelet", Count: 1}, i, -1, "DiskPressure"})
		p.lines[i] = ""
		return 1
	}
	for _, m := range aloneMessages {
		if !strings.HasPrefix(line, m.start) || !strings.Contains(line, m.has) || len(line) > maxRow {
			continue
		}
		e := Event{Type: "Warning", Reason: m.reason, Message: line, Component: "kubelet", Count: 1}
		if m.reason == "" {
			var name string
			name, e.Reason, _ = strings.Cut(strings.TrimPrefix(line, m.start), m.has[:len(m.has)-len("Node")])
			if strings.ContainsAny(name+e.Reason, " \t") || e.Reason == "NodeReady" {
				return 0
			}
			e.Kind, e.Name, e.Host = "Node", name, name
		}
		p.events = append(p.events, found{e, i, -1, ""})
		p.lines[i] = ""
		return 1
	}
	return 0
}
