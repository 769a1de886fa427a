package read

import (
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A statusReader reads /proc/PID/status of processes in state D that a SIGKILL waits for.
type statusReader struct {
	processReader
	pid     int
	comm    string
	blocked bool
}

// statusLine is one of the file, or its name.
var statusLine = pattern.New(`/proc/(\d+)(?:/task/\d+)?/status\b(?:$|[^:]|:(Name|State|SigPnd|ShdPnd):\s+(\S+))|^(?:(Name|State|Tgid|Pid|SigPnd|ShdPnd)):\s+(\S+)`)

// sigkillBit is that of SIGKILL in the set of pending signals.
const sigkillBit = 1 << (9 - 1)

func (r *statusReader) line(s string, line int) {
	m := statusLine.FindStringSubmatch(s)
	if m == nil {
		return
	}
	if m[1] != "" {
		r.pid = atoi(m[1])
	}
	switch value := m[3] + m[5]; m[2] + m[4] {
	case "":
	case "Name":
		r.comm, r.blocked = value, false
	case "State":
		r.blocked = value == "D"
	case "Tgid", "Pid":
		r.pid = atoi(value)
	default:
		set, _ := strconv.ParseUint(value, 16, 64)
		switch {
		case set&sigkillBit == 0 || r.pid == 0:
		case r.blocked:
			r.blocked = false
			r.add(processRow{pid: r.pid, state: "D", args: []string{r.comm}, pending: true}, line)
		default:
			r.listed(r.pid)
		}
	}
}

// listed notes a SIGKILL that waits for a process which is listed as blocked above.
func (r *statusReader) listed(pid int) {
	for i := range r.to.rows {
		if row := &r.to.rows[i]; row.pid == pid && row.state[0] == 'D' {
			row.pending = true
		}
	}
}
