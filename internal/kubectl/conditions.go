package kubectl

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/nodename"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

const dateLayout = "Mon, 02 Jan 2006 15:04:05 -0700"

const date = `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`

var (
	// conditionRow is one of a node: Type Status LastHeartbeatTime LastTransitionTime Reason Message.
	conditionRow = pattern.New(`^\s*(Ready|DiskPressure|MemoryPressure|PIDPressure)\s+(True|False|Unknown)\s+(` + date + `)\s+(` + date + `)\s+(\w+)\s+(.*)$`)
	// silentRow is another condition of a node of which the kubelet has stopped to tell.
	silentRow = pattern.New(`^\s*(?:OutOfDisk|DiskPressure|MemoryPressure|PIDPressure)\s+Unknown\s+` + date + `\s+(` + date + `)\s+NodeStatusUnknown\s+(Kubelet stopped posting node status.*)$`)
	// silentUntimed is the condition of a node without times, as somebody has typed it.
	silentUntimed = pattern.New(`^\s*Ready\s+Unknown\s+NodeStatusUnknown\s+(Kubelet stopped posting node status.*)$`)
	// silentBare is the condition of a node of which somebody has copied the first two columns, and bareRow another one of it.
	silentBare = pattern.New(`^\s*Ready\s+\**Unknown\**\s*$`)
	bareRow    = pattern.New(`^\s*(?:OutOfDisk|DiskPressure|MemoryPressure|PIDPressure|NetworkUnavailable)\s+\**(?:True|False|Unknown)\**\s*$`)
	// tainted is what the control plane has put on a node that is not ready, in a description. tested is what tests of a cluster say of one.
	tainted  = pattern.New(`^Taints:\s+(node\.kubernetes\.io/(?:unreachable|not-ready):NoExecute)$`)
	tested   = pattern.New(`Condition Ready of node (\S+) is (?:false|unknown|Unknown) instead of true\. Reason: \w+, message: (.*)$`)
	anyReady = pattern.New(`^\s*Ready\s+(?:True|False|Unknown)\s+` + date)
	// nodeRow is one of "get nodes": NAME STATUS ROLES AGE VERSION. Old ones have no ROLES.
	nodeRow = pattern.New(`^\s*([a-z0-9][\w.-]*)\s+(NotReady)(?:,\S+)?\s+(?:\S+\s+)?(?:\d+[smhdy])+\s+v1\.\d+\.\d+\S*(.*)$`)
	// bareNode is one up to 1.5, NAME STATUS AGE, below its heading.
	bareNode     = pattern.New(`^\s*([a-z0-9][\w.-]*)\s+NotReady(?:,\S+)?\s+(?:\d+[smhdy])+\s*$`)
	bareNodeHead = pattern.New(`^\s*NAME\s+STATUS\s+AGE\s*$`)
	// inSentence is what stands behind a row that somebody has put into a sentence.
	inSentence = pattern.New(`^ (?:[A-Za-z]+ ){2,}`)
	// readyRow is one of a node that is ready.
	readyRow = pattern.New(`^\s*([a-z0-9][\w.-]*)\s+Ready(?:,\S+)?\s+(?:\S+\s+)?(?:\d+[smhdy])+\s+v1\.\d+\.\d+`)
	// notReady is what people quote of such a row: its reason and its message.
	notReady = pattern.New("(?:^|[\\s\"'`|])KubeletNotReady[|\\s]+(\\[?(?:PLEG is not healthy: pleg was last seen active \\d|container runtime is down|runtime network not ready: )[^`|]*)")
	// readyAgain is that of a node that is ready.
	readyAgain = pattern.New("(?:^|[\\s\"'`|])KubeletReady[|\\s]+kubelet is posting ready status")
)

// has says whether the text has a line of a form, as it was when that was asked first.
func (p *page) has(form *pattern.Pattern) bool {
	found, ok := p.forms[form]
	if !ok {
		found = slices.ContainsFunc(p.lines, form.MatchString)
		if p.forms == nil {
			p.forms = map[*pattern.Pattern]bool{}
		}
		p.forms[form] = found
	}
	return found
}

// condition makes an event of a condition of a node that is in trouble.
func (p *page) condition(line string) (Event, bool) {
	if m := nodeRow.FindStringSubmatch(line); m != nil && !inSentence.MatchString(m[3]) {
		return NotReady(m[1], "False", "", nil), true
	}
	m := conditionRow.FindStringSubmatch(line)
	if m == nil {
		if m := bareNode.FindStringSubmatch(line); m != nil && p.has(bareNodeHead) {
			return NotReady(m[1], "False", "", nil), true
		}
		if m := notReady.FindStringSubmatch(line); m != nil && len(line) <= maxRow {
			return NotReady("", "False", m[1], nil), true
		}
		return Event{}, false
	}
	since, err := time.Parse(dateLayout, m[4])
	if err != nil {
		return Event{}, false
	}
	beat, _ := time.Parse(dateLayout, m[3])
	return inTrouble(p.described.name, m[1], m[2], m[5], m[6], since.UTC(), beat.UTC())
}

// silent makes the event of a node whose kubelet has stopped posting its status of another condition, once, where the table is cut above Ready.
func (p *page) silent(line string) (Event, bool) {
	name, message, cut := p.described.name, "", false // whether the condition Ready must be missing
	var since *time.Time
	if m := silentUntimed.FindStringSubmatch(line); m != nil {
		message = m[1]
	} else if silentBare.MatchString(line) && p.has(bareRow) {
		message = "Ready is Unknown"
	} else if m := tested.FindStringSubmatch(line); m != nil {
		name, message = m[1], m[2]
	} else if m := tainted.FindStringSubmatch(strings.TrimRight(line, " \t\r")); m != nil {
		message, cut = "the node has the taint "+m[1], true
	} else if m := silentRow.FindStringSubmatch(line); m != nil && !slices.ContainsFunc(p.events, func(f found) bool { return f.Reason == "NodeNotReady" && f.Name == name }) {
		if t, err := time.Parse(dateLayout, m[1]); err == nil {
			t = t.UTC()
			since, message, cut = &t, m[2], true
		}
	}
	if message == "" || cut && p.has(anyReady) {
		return Event{}, false
	}
	return NotReady(name, "Unknown", message, since), true
}

// ready takes back what a quoted condition said before, once one without a time says that the node is ready.
func (p *page) ready(line string) {
	if len(line) <= maxRow && !conditionRow.MatchString(line) && readyAgain.MatchString(line) {
		p.events = sorting.Delete(p.events, func(f found) bool { return f.Reason == "NodeNotReady" && f.Name == "" && f.First.IsZero() })
	}
}

// ownRequest is in the error of a kubelet that cannot renew the lease of its node.
const ownRequest = "/kube-node-lease/leases/"

// readyNow is a node and its state, in a table or in a sentence.
var readyNow = pattern.New("(?:^|[\\s\"'`(*])([a-z0-9][a-z0-9.-]*)[\"'`*]?\\s+(?:(?:is|was|as|has|been|became|shows|now|back|again|to|in|status|state)\\s+){0,4}[\"'`*]?Ready\\b")

// readyOnce is a word of a sentence about a node that was ready, or is not for certain.
var readyOnce = pattern.New(`\b(?:was|were|until|before|not|never|should|would|if|when|once)\b`)

// isReady makes an event of a line that says the node to be ready whose kubelet could not reach the API server, by the lines above, and of a
// row of the only node whose kubelet has written the lines above.
func (p *page) isReady(i int) bool {
	line := p.lines[i]
	if _, lease, ok := strings.Cut(line, ownRequest); ok {
		p.leased = lease[:max(strings.IndexAny(lease, `?:"\ `), 0)]
		return false
	}
	if m := kubeletLine.FindStringSubmatch(line); m != nil && !slices.Contains(p.hosts, m[1]) && len(p.hosts) < 2 {
		p.hosts = append(p.hosts, m[1])
	}
	if m := readyRow.FindStringSubmatch(line); m != nil && (len(p.hosts) == 1 && nodename.Same(m[1], p.hosts[0]) || len(p.hosts) == 0 && p.onlyNode(i)) {
		p.isWell(m[1], i)
		return true
	}
	if p.leased == "" || len(line) > maxRow || !strings.Contains(line, "Ready") || unready.MatchString(line) {
		return false
	}
	for _, m := range readyNow.FindAllStringSubmatch(line, -1) {
		if m[1] == p.leased {
			p.isWell(m[1], i)
			return true
		}
	}
	return false
}

// onlyNode says whether no table has a row of another node than that of a line, or all that have one are ready, and the kubelet's own lines,
// which stand above, name none.
func (p *page) onlyNode(i int) bool {
	if p.nodeRows == nil {
		p.nodeRows, p.bare = map[string]bool{}, len(p.lines)
		for n, line := range p.lines {
			for _, row := range []*pattern.Pattern{readyRow, nodeRow} {
				if m := row.FindStringSubmatch(line); m != nil {
					p.nodeRows[m[1]] = true
					p.notReady = p.notReady || row == nodeRow
				}
			}
			if n < p.bare && (bareKubelet.MatchString(line) || strings.Contains(line, pleg)) {
				p.bare = n
			}
		}
	}
	node := readyRow.FindStringSubmatch(p.lines[i])[1]
	return p.bare < i && (len(p.nodeRows) == 1 || !p.notReady) && p.nodeRows[node] && !slices.ContainsFunc(p.events, func(f found) bool { return f.Kind == "Node" && f.Name != "" && f.Name != node })
}

func (p *page) isWell(node string, i int) {
	p.events = append(p.events, found{Event{Type: "Normal", Reason: "NodeReady", Kind: "Node", Name: node, Host: node, Component: "kubelet", Count: 1}, i, -1, ""})
}

// pleg is what people quote of a kubelet without the rest of its line.
const pleg = "PLEG is not healthy: "

// kubeletLine is one of syslog or of the journal: the kubelet of a host.
var kubeletLine = pattern.New(`^\S.*? ([a-z0-9][\w.-]*) kubelet\[\d+\]: `)

// bareKubelet is a line of klog without the host.
var bareKubelet = pattern.New(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (?:kubelet|pod_workers|generic|remote_runtime|kuberuntime\w*|setters|eviction_manager|reconciler\w*|operation_\w+|nestedpendingoperations|pleg)\.go:\d+\] `)

// unready is said of a node that is not ready, or of one that comes and goes.
var unready = pattern.New(`(?i)not\s?ready|\b(?:if|until|when|before|while|not|never|flap\w*)\b`)

// wellAgain takes back what the text said of a node before, once a later row of a table shows it Ready, or a condition has changed since. Of a list
// that is watched ("get nodes -w"), the last row of a node tells.
// A condition that has been as it is for longer is of another node. Events remain: the times of both tell which was later.
func (p *page) wellAgain(line string) {
	node, kind, since := p.described.name, "Ready", time.Time{}
	if m := readyRow.FindStringSubmatch(line); m != nil {
		node = m[1]
	} else if m := conditionRow.FindStringSubmatch(line); m != nil && m[2] != "Unknown" {
		kind = m[1]
		var err error
		if since, err = time.Parse(dateLayout, m[4]); err != nil {
			return
		}
	} else if m := readyNow.FindStringSubmatch(line); m != nil && len(line) <= maxRow && !readyOnce.MatchString(line) {
		node = m[1]
	} else {
		return
	}
	p.events = sorting.Delete(p.events, func(f found) bool {
		return f.condition == kind && f.Name == node && (since.IsZero() || f.First.IsZero() || since.After(f.First))
	})
}

// inTrouble is false for a condition of a node that is well.
func inTrouble(node, kind, status, reason, message string, since, beat time.Time) (Event, bool) {
	switch {
	case kind == "Ready" && status != "True":
		return NotReady(node, status, message, &since), true
	case strings.HasSuffix(kind, "Pressure") && status == "True":
		e := NotReady(node, status, message, &since)
		e.Reason = reason
		if !beat.IsZero() {
			e.Last = beat
		}
		return e, true
	}
	return Event{}, false
}

// NotReady is the event of a node whose condition Ready has a status, False or Unknown, since a time, nil where that is unknown.
//
//go:noinline
func NotReady(node, status, message string, since *time.Time) Event {
	e := Event{Type: "Warning", Reason: "NodeNotReady", Message: message, Kind: "Node", Name: node, Host: node, Component: "kubelet", Count: 1}
	if status == "Unknown" {
		e.Component = "node-controller"
	}
	if since != nil {
		e.First, e.Last = *since, *since
	}
	return e
}
