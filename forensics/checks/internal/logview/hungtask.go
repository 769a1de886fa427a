package logview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// hungTask finds the kernel's hung-task message about one of these threads: it names threads by their id.
func hungTask(p *forensics.Pass, tids ...int) (logs.Event, bool) {
	for _, e := range Events(p, logs.KindKernelHungTask) {
		if id := taskID(e.Process); id != 0 && slices.Contains(tids, id) {
			return e, true
		}
	}
	return logs.Event{}, false
}

// taskID is the number in "name (4711)"; 0 if there is none.
func taskID(process string) int {
	i := strings.LastIndexByte(process, '(')
	if i < 0 {
		return 0
	}
	id, err := strconv.Atoi(strings.TrimSuffix(process[i+1:], ")"))
	if err != nil {
		return 0
	}
	return id
}

// WithHungTask adds the kernel's hung-task message about a thread to a finding about it.
func WithHungTask(p *forensics.Pass, f forensics.Finding, threads ...procs.Thread) forensics.Finding {
	var tids []int
	for _, t := range threads {
		tids = append(tids, t.TID)
	}
	e, ok := hungTask(p, tids...)
	if !ok {
		return f
	}
	began := e.First
	if began != nil && e.Number > 0 {
		t := began.Add(-time.Duration(e.Number) * time.Second)
		began = &t
	}
	f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("The kernel reported this thread as a hung task %s, first at %s.", findings.Times(e.Count), Moment(e.First)))
	f.Refs = append(f.Refs, EventRefs(e)...)
	f.Since = Earliest(f.Since, began)
	return f
}
