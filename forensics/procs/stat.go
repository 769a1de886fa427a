package procs

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// flagKernelThread is PF_KTHREAD of include/linux/sched.h, as field 9 of stat shows it.
const flagKernelThread = 0x00200000

// Stat is what is needed of /proc/PID/stat and /proc/PID/task/TID/stat (proc_pid_stat(5)).
type Stat struct {
	ID    int    // process or thread id
	Comm  string // name of the thread: up to 15 bytes, any bytes; kernel threads have longer ones
	State string // one letter: R, S, D, Z, T, t, X, I, ...
	PPID  int
	Flags uint64 // PF_ constants
	// Threads is the number of threads of the process; 0 for a zombie whose threads are all gone.
	Threads    int
	StartTicks uint64 // since boot
	// Processor is the CPU that the thread ran on last, -1 where the line is too short to say so (before Linux 2.2.8).
	Processor int
}

// Kernel says whether this is a thread of the kernel.
func (s Stat) Kernel() bool { return s.Flags&flagKernelThread != 0 }

// Sleeps says whether the thread waits for something, interruptibly or not.
func (s Stat) Sleeps() bool { return s.State == "S" || s.State == "D" }

// errStat says that a text is not a line of /proc/PID/stat.
var errStat = errors.New("not a stat line")

// The fields of stat that are used, counted as in proc_pid_stat(5).
const (
	fieldState     = 3
	fieldPPID      = 4
	fieldFlags     = 9
	fieldThreads   = 20
	fieldStart     = 22
	fieldProcessor = 39
)

// ParseStat reads the one line of a stat file. The name stands in parentheses and may hold parentheses, spaces and
// newlines itself, so it reaches from the first "(" to the last ")".
func ParseStat(text []byte) (Stat, error) {
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || shut < open {
		return Stat{}, fmt.Errorf("%w: no name in parentheses", errStat)
	}
	id, err := strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	if err != nil || id <= 0 {
		return Stat{}, fmt.Errorf("%w: bad id", errStat)
	}
	s := Stat{ID: id, Comm: string(text[open+1 : shut]), Processor: -1}
	last := 0
	for field, rest := fieldState, text[shut+1:]; field <= fieldProcessor; field++ {
		var word []byte
		if word, rest = nextWord(rest); len(word) == 0 {
			break
		}
		if err := s.set(field, word); err != nil {
			return Stat{}, fmt.Errorf("%w: field %d: %w", errStat, field, err)
		}
		last = field
	}
	if last < fieldStart {
		return Stat{}, fmt.Errorf("%w: ends after field %d", errStat, max(last, 2))
	}
	return s, nil
}

func (s *Stat) set(field int, word []byte) (err error) {
	switch field {
	case fieldState:
		s.State = stateName(word)
	case fieldPPID:
		s.PPID, err = strconv.Atoi(string(word))
	case fieldFlags:
		s.Flags, err = strconv.ParseUint(string(word), 10, 64)
	case fieldThreads:
		s.Threads, err = strconv.Atoi(string(word))
	case fieldStart:
		s.StartTicks, err = strconv.ParseUint(string(word), 10, 64)
	case fieldProcessor:
		s.Processor, err = strconv.Atoi(string(word))
	}
	return err
}

// stateName is string(word) without an allocation for the states that nearly every process is in.
func stateName(word []byte) string {
	switch string(word) {
	case "S":
		return "S"
	case "I":
		return "I"
	case "R":
		return "R"
	case "D":
		return "D"
	}
	return string(word)
}

// nextWord cuts the first word off text. Words are separated by spaces; a newline ends the line.
func nextWord(text []byte) (word, rest []byte) {
	start := 0
	for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	end := start
	for end < len(text) && text[end] != ' ' && text[end] != '\t' && text[end] != '\n' {
		end++
	}
	return text[start:end], text[end:]
}
