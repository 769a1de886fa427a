package procs

import (
	"bytes"
	"strconv"
)

// status is what this package needs of /proc/PID/status and /proc/PID/task/TID/status (proc_pid_status(5)).
type status struct {
	uid      int    // effective user id, -1 if absent: what decides about access, and what ps shows
	switches uint64 // voluntary plus involuntary context switches (Linux 2.6.23)
	counted  bool   // the switches were there
}

var (
	keyUID         = []byte("Uid:")
	keyVoluntary   = []byte("voluntary_ctxt_switches:")
	keyInvoluntary = []byte("nonvoluntary_ctxt_switches:")
)

// parseStatus reads the lines that it knows and leaves alone all others, among them whatever a name with an escaped
// newline looks like: status shows that as "\n".
func parseStatus(text []byte) status {
	s := status{uid: -1}
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		switch {
		case bytes.HasPrefix(line, keyUID):
			_, rest := nextWord(line[len(keyUID):])
			effective, _ := nextWord(rest)
			if uid, err := strconv.ParseUint(string(effective), 10, 32); err == nil {
				s.uid = int(uid)
			}
		case bytes.HasPrefix(line, keyVoluntary):
			s.count(line[len(keyVoluntary):])
		case bytes.HasPrefix(line, keyInvoluntary):
			s.count(line[len(keyInvoluntary):])
		}
	}
	return s
}

func (s *status) count(value []byte) {
	word, _ := nextWord(value)
	if n, err := strconv.ParseUint(string(word), 10, 64); err == nil {
		s.switches += n
		s.counted = true
	}
}
