package logs

import (
	"strings"
)

// syncLoopPods reads the source: source="api", or `SyncLoop (DELETE, "api"): …`.
func syncLoopPods(e *entry, o *occurrence) bool {
	o.Code, o.Reason = "", e.Get("source")
	if o.Reason == "" {
		o.Reason = cut(between(e.Message, `, "`, `")`), maxName)
	}
	return true
}

func noCause(_ *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	return true
}

func housekeepingEnd(e *entry, o *occurrence) bool {
	o.Number = seconds(e.Get("duration"))
	return true
}

// housekeepingLong reads actual="2.345s" (1.27 on) and seconds=15.9 (before).
func housekeepingLong(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	if o.Number = seconds(e.Get("actual")); o.Number == 0 {
		o.Number = number(e.Get("seconds"))
	}
	return true
}

func syncLoopSync(e *entry, o *occurrence) bool {
	*o = occurrence{Kind: o.Kind, Time: o.Time, Entry: e}
	switch {
	case e.Get("total") != "":
		o.Number = number(e.Get("total"))
	case strings.HasPrefix(e.Message, "SyncLoop (SYNC): "):
		o.Number = number(e.Message[len("SyncLoop (SYNC): "):])
	}
	return true
}

// syncLoopPLEG reads the event: event={"ID":"uid","Type":"ContainerDied","Data":"cid"}, &{ID:uid Type:… Data:cid}, or
// event: &pleg.PodLifecycleEvent{ID:"uid", Type:"ContainerDied", Data:"cid"}.
func syncLoopPLEG(e *entry, o *occurrence) bool {
	event := e.Get("event")
	if event == "" {
		event = e.Message
	}
	const ends = `"}, `
	value := func(key string) string {
		for _, form := range []string{`"` + key + `":"`, key + `:"`, key + ":"} {
			if v := word(event, form, ends); v != "" {
				return cut(v, maxName)
			}
		}
		return ""
	}
	o.Code, o.Reason, o.Container = "", value("Type"), value("Data")
	if id := value("ID"); isUID(id) {
		o.PodUID = id
	}
	return true
}

func plegFinished(e *entry, o *occurrence) bool {
	if id := e.Get("podID"); isUID(id) {
		o.PodUID = id
	}
	o.Number = number(e.Get("exitCode"))
	return true
}

// plegIgnored reads `PLEG: Ignoring events for pod NAME/NAMESPACE: …`: the name comes first.
func plegIgnored(e *entry, o *occurrence) bool {
	if e.Fields != nil {
		return true
	}
	pod := word(e.Message, "for pod ", ": ")
	if name, namespace, ok := strings.Cut(pod, "/"); ok {
		o.PodName = cut(namespace+"/"+name, maxName)
	}
	return true
}

// syncLoopSkipped reads the reasons. An aggregate stands in brackets, and PLEG's part holds durations that change with
// every line.
func syncLoopSkipped(e *entry, o *occurrence) bool {
	text := e.Get("err")
	if text == "" {
		_, text, _ = strings.Cut(e.Message, " - ")
	}
	ago := word(text, "last seen active ", " ;,]")
	switch never := strings.HasPrefix(ago, neverActive) || strings.Contains(text, "pleg has yet to be successful"); {
	case never && !strings.Contains(text, "is down"):
		o.Kind = noiseStartPLEG
	case ago != "" && !never:
		o.Kind, o.Number = KindPLEGUnhealthy, seconds(ago)
	}
	if strings.Contains(text, "unable to find data for container /") { // of cAdvisor, by the eviction manager, up to 1.11
		o.Kind = kindStatsFailed
	}
	o.Reason, o.Code = skipReasons(text), grpcCode(text)
	o.PodUID, o.PodName = "", ""
	return true
}

// neverActive begins the longest duration that Go has, which is how long ago the zero time is: up to 1.14 the kubelet says this of a PLEG
// that has not relisted yet.
const neverActive = "2562047h"

// plegReason reads the reason of a skipped synchronization alone, as people quote it.
func plegReason(e *entry, o *occurrence) bool {
	ago := word(e.Message, "last seen active ", " ;,]")
	o.Number = seconds(ago)
	o.Reason = skipReasons(e.Message)
	return !strings.HasPrefix(ago, neverActive)
}

// skipReasons are the reasons of a skipped synchronization, joined by "; ", without what changes from line to line.
func skipReasons(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	parts := strings.Split(text, ", ")
	for i, p := range parts {
		if before, _, ok := strings.Cut(p, ": pleg was last seen active"); ok {
			parts[i] = before
		}
	}
	return cut(strings.Join(parts, "; "), maxReason)
}

// recordedNode reads the name behind "for node ".
func recordedNode(e *entry, o *occurrence) bool {
	_, o.Node, _ = cutLast(e.Message, ' ')
	return o.Node != ""
}

// unresponsiveNode reads `Node N is unresponsive as of T. Adding it to the Taint queue.`
func unresponsiveNode(e *entry, o *occurrence) bool {
	o.Node = word(e.Message, "Node ", " ")
	return o.Node != ""
}

// nodeNotReady reads condition={"type":"Ready",…,"message":"…"}.
func nodeNotReady(e *entry, o *occurrence) bool {
	condition := e.Get("condition")
	if condition == "" {
		condition = e.Message
	}
	text := between(condition, `"message":"`, `"`)
	if text == "" {
		text = word(condition, "Message:", "}")
	}
	if ago := word(text, "last seen active ", " ;,]"); ago != "" {
		o.Number = seconds(ago)
	}
	o.Reason, o.Code = skipReasons(text), ""
	return true
}

// nodeReady passes over the other events of a node.
func nodeReady(e *entry, _ *occurrence) bool {
	return e.Get("event") == "NodeReady" || e.Get("reason") == "NodeReady"
}
