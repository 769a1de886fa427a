package logs

import "strings"

func podGCCount(e *entry, o *occurrence) bool {
	if o.Number = number(e.Get("numPods")); o.Number == 0 {
		_, n, _ := strings.Cut(e.Message, "arbage collecting ")
		o.Number = number(n)
	}
	return true
}

// podGCName reads the old spellings: `PodGC is force deleting Pod: ns:name`, `… Pod ns/name …`.
func podGCName(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	if o.PodName != "" {
		return true
	}
	_, rest, _ := strings.Cut(e.Message, " Pod")
	name, after, _ := strings.Cut(strings.TrimLeft(rest, ": "), " ")
	name = strings.Replace(name, ":", "/", 1) // up to 1.19, when the orphans had no namespace either
	if strings.Contains(name, "/") || strings.HasPrefix(after, "assigned to the Node ") || after == "succeeded" {
		o.PodName = cut(name, maxName)
	}
	return o.PodName != ""
}

// podGCOrphan reads the node too: node= (a name, or an object since 1.28), or `assigned to the Node N.`.
func podGCOrphan(e *entry, o *occurrence) bool {
	o.Server = e.Get("node")
	if strings.HasPrefix(o.Server, "{") {
		o.Server = between(o.Server, `"name":"`, `"`)
	}
	if o.Server == "" {
		o.Server = strings.TrimSuffix(word(e.Message, "assigned to the Node ", " "), ".")
	}
	o.Server = cut(o.Server, maxName)
	return podGCName(e, o)
}
