package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/text"
)

func headFacts(r Report) []fact {
	facts := factList{}
	if !r.Evidence.Collected.IsZero() {
		facts.add("Collected", text.Moment(r.Evidence.Collected))
	} else {
		facts.add("Collected", "at an unknown time")
	}
	switch {
	case r.Evidence.Root == "/":
	case strings.HasPrefix(r.Evidence.Root, "/"):
		facts.add("Disk mounted at", r.Evidence.Root)
	default:
		facts.add("Evidence", r.Evidence.Root)
	}
	if k := r.Evidence.Kubelet; k != nil {
		facts.add("Kubelet", k.Version)
	}
	facts.add("Kernel", r.Node.Kernel)
	facts.add("OS", r.Node.OS)
	facts.add("Architecture", r.Node.Arch)
	if r.Node.CPUs > 0 {
		facts.add("CPUs", strconv.Itoa(r.Node.CPUs))
	}
	if r.Node.MemoryBytes > 0 {
		facts.add("Memory", bytesWords(int64(min(r.Node.MemoryBytes, 1<<62))))
	}
	if r.Node.Boot != nil {
		up := text.Moment(*r.Node.Boot)
		if a := age(*r.Node.Boot, r.Evidence.Collected); a != "" {
			up = a
		}
		facts.add("Uptime", up)
	}
	if len(r.Node.Load) > 0 {
		load := ""
		for _, l := range r.Node.Load[:min(len(r.Node.Load), 3)] {
			load += fmt.Sprintf(" %.2f", l)
		}
		facts.add("Load", load[1:])
	}
	return facts
}

// factList leaves out what is unknown.
type factList []fact

func (l *factList) add(name, value string) {
	if value != "" {
		*l = append(*l, fact{cell(name, maxCell), cell(value, maxCell)})
	}
}
