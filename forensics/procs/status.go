package procs

import (
	"bytes"
	"strconv"
)

// Status is what is needed of /proc/PID/status and /proc/PID/task/TID/status (proc_pid_status(5)).
type Status struct {
	UID      int    // effective user id, -1 if absent: what decides about access, and what ps shows
	Switches uint64 // voluntary plus involuntary context switches (Linux 2.6.23)
	Counted  bool   // the switches were there
}

var (
	keyUID         = []byte("Uid:")
	keyVoluntary   = []byte("voluntary_ctxt_switches:")
	keyInvoluntary = []byte("nonvoluntary_ctxt_switches:")
)

// ParseStatus reads the lines that it knows and leaves alone all others, among them whatever a name with an escaped
// newline looks like: status shows that as "\n".
func ParseStatus(text []byte) Status {
	s := Status{UID: -1}
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
				s.UID = int(uid)
			}
		case bytes.HasPrefix(line, keyVoluntary):
			s.count(line[len(keyVoluntary):])
		case bytes.HasPrefix(line, keyInvoluntary):
			s.count(line[len(keyInvoluntary):])
		}
	}
	return s
}

func (s *Status) count(value []byte) {
	word, _ := nextWord(value)
	if n, err := strconv.ParseUint(string(word), 10, 64); err == nil {
		s.Switches += n
		s.Counted = true
	}
}
