package read

import (
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A statusReader reads /proc/PID/status of processes in state D: those that a SIGKILL waits for, and those of containers that do not start.
type statusReader struct {
	processReader
	pid     int
	tid     int // 0 where the file is that of the process
	comm    string
	blocked bool
	head    bool // the file is shown from its beginning
}

// statusLine is one of the file, or its name.
var statusLine = pattern.New(`/proc/(\d+)(?:/task/(\d+))?/status\b(?:$|[^:]|:(Name|State|SigPnd|ShdPnd):\s+(\S+))|^(?:(Name|State|Tgid|Pid|SigPnd|ShdPnd)):\s+(\S+)`)

// sigkillBit is that of SIGKILL in the set of pending signals.
const sigkillBit = 1 << (9 - 1)

func (r *statusReader) line(s string, line int) {
	m := statusLine.FindStringSubmatch(s)
	if m == nil {
		return
	}
	if m[1] != "" {
		r.pid, r.tid = atoi(m[1]), atoi(m[2])
	}
	switch value := m[4] + m[6]; m[3] + m[5] {
	case "":
	case "Name":
		r.comm, r.blocked, r.head = value, false, true
	case "State":
		r.blocked = value == "D"
	case "Tgid", "Pid":
		if r.tid == 0 {
			r.pid = atoi(value)
		}
		if r.head && r.blocked && r.tid == 0 {
			r.shownAgain(r.pid)
		}
		if row := (processRow{pid: r.pid, tid: r.tid, state: "D", args: []string{r.comm}, old: true}); r.head && r.blocked && row.createsContainer() && !r.listed(r.pid) {
			r.add(row, line)
		}
		r.head = false
	default:
		set, _ := strconv.ParseUint(value, 16, 64)
		switch {
		case set&sigkillBit == 0 || r.pid == 0:
		case r.blocked:
			r.blocked = false
			if !r.listed(r.pid) || r.tid == 0 {
				r.add(processRow{pid: r.pid, tid: r.tid, state: "D", args: []string{r.comm}, pending: true}, line)
			}
		default:
			r.listed(r.pid)
		}
	}
}

// shownAgain notes that a process which is listed as blocked above is still so.
func (r *statusReader) shownAgain(pid int) {
	for i := range r.to.rows {
		if row := &r.to.rows[i]; row.pid == pid && row.state[0] == 'D' {
			row.again = true
		}
	}
}

// listed notes a SIGKILL that waits for a process which is listed as blocked above, and says whether one is.
func (r *statusReader) listed(pid int) (is bool) {
	for i := range r.to.rows {
		if row := &r.to.rows[i]; row.pid == pid && row.state[0] == 'D' {
			row.pending, is = true, true
		}
	}
	return is
}
