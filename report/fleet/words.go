package fleet

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// predicates say of a thing with a name what its check has found. Other checks say it by their titles.
var predicates = map[string]string{
	"mount-hung":                 "has not responded",
	"thread-blocked":             "has blocked threads",
	"mount-slow":                 "responds slowly",
	"mount-stale":                "is stale",
	"mount-disconnected":         "has lost its server",
	"mount-io-error":             "answers with I/O errors",
	"mount-frozen":               "is frozen",
	"mount-detached":             "is unmounted lazily and still in use",
	"unmount-busy":               "cannot be unmounted: it is in use",
	"fuse-server-dead":           "has no process that serves it",
	"kernel-server-unresponsive": "does not respond, by the kernel log",
	"csi-driver-missing":         "is not registered",
	"csi-operation-stuck":        "does not respond",
	"runtime-unresponsive":       "does not respond",
	"kubelet-not-running":        "is not running, or it is stopped",
	"kubelet-restarting":         "ended and was started again",
}

// title names a cause as the worst of its checks found it on most nodes.
func title(c *Cause) string {
	check := c.Identity.Check
	if len(c.Checks) > 0 {
		check = c.Checks[0]
	}
	name, trouble := thing(c), c.Identity.Trouble
	switch predicate := predicates[check]; {
	case predicate != "" && name != "":
		return headline.Fit(name + " " + predicate)
	case trouble == "" && check == "":
		return "Root cause of an unknown check"
	case trouble == "":
		trouble = check
	}
	if name != "" {
		trouble += " (" + name + ")"
	}
	return headline.Fit(trouble)
}

// thing is what a cause is about; "" where nothing is known.
func thing(c *Cause) string {
	id := c.Identity
	switch {
	case len(c.Names) > 1:
		return fmt.Sprintf("%s (%d mounts)", id.ID, len(c.Names))
	case id.ID == "":
		return ""
	}
	switch id.Kind {
	case forensics.KindCSIDriver:
		return "CSI driver " + id.ID
	case forensics.KindKubelet:
		return "kubelet " + id.ID
	case forensics.KindGoroutine:
		return id.ID[strings.LastIndexByte(id.ID, '/')+1:]
	case forensics.KindRuntime:
		if id.ID == "runtime" {
			return "container runtime"
		}
	case "server", "node":
		return string(id.Kind) + " " + id.ID
	}
	return cmp.Or(id.Name, id.ID)
}

// doubt says why the nodes of a cause may have several.
func doubt(c *Cause) string {
	switch id := c.Identity; {
	case len(c.Nodes) < 2 || id.Shared && id.ID != "":
		return ""
	case id.ID == "" && id.Trouble == "":
		return "Reports of an earlier version do not identify the cause: it may be another one on each node."
	case id.ID == "":
		return "The same trouble on each node: the reports name nothing that the nodes share."
	case id.Kind == kindFileSystem:
		return "Each node may have its own: the reports name no server that these file systems share."
	}
	return ""
}

// kindFileSystem is the kind of file systems. Those without a server are local.
const kindFileSystem forensics.Kind = "file-system"

// nodesOf is "14 nodes"; of what may be as many causes, it says that.
func nodesOf(c *Cause) string {
	s := text.Plural(len(c.Nodes), "node")
	if c.Doubt != "" {
		return "the same kind on " + s
	}
	return s
}

// extent is "14 nodes, since 2026-11-20 10:02:00 UTC, first worker-7".
func extent(c *Cause) string {
	s := nodesOf(c)
	if len(c.Nodes) == 1 {
		s = c.Nodes[0].Node
	}
	if c.Since != nil {
		s += ", since " + text.Moment(*c.Since)
		if len(c.Nodes) > 1 {
			s += ", first " + c.FirstNode
		}
	}
	return s
}

// words is "kernel 5.15.0-1051: 14 of 14 sick, 2 of 86 well".
func (t Trait) words(side string) string {
	return fmt.Sprintf("%s %s: %d of %d %s, %d of %d well", t.Name, t.Value, t.Sick, t.SickAll, side, t.Well, t.WellAll)
}

// verdict is the first line of all: how many nodes are how.
func verdict(s *Summary) string {
	parts := []string{}
	for _, p := range []struct {
		n    int
		word string
	}{{s.Sick, sick}, {s.Well, well}, {s.Unclear, unclear}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	line := examined(s) + ": " + strings.Join(parts, ", ")
	if len(s.Nodes) == 0 {
		line = "No report was read"
	}
	for _, m := range gaps(s) {
		line += "; " + m
	}
	if n := countMissing(s, func(m *Missing) bool { return m.Part }); n > 0 {
		line += fmt.Sprintf("; %d only in part", n)
	}
	return line
}

// examined is "100 nodes", or "99 of 100 nodes examined".
func examined(s *Summary) string {
	if n := len(s.Nodes); n > 0 && n < s.NodesKnown {
		return fmt.Sprintf("%d of %s examined", n, text.Plural(s.NodesKnown, "node"))
	}
	return text.Plural(len(s.Nodes), "node")
}

// gaps are what there is no report of.
func gaps(s *Summary) (list []string) {
	if n := s.NodesKnown - len(s.Nodes); n > 0 {
		list = append(list, fmt.Sprintf("%d not examined", n))
	}
	if n := countMissing(s, func(m *Missing) bool { return m.Node == "" && !m.Part }); n > 0 {
		list = append(list, text.Plural(n, "file")+" not read")
	}
	return list
}

func countMissing(s *Summary, is func(*Missing) bool) (n int) {
	for i := range s.NotExamined {
		n += boolInt(is(&s.NotExamined[i]))
	}
	return n
}
