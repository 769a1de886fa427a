package procs

import (
	"runtime"
	"strconv"
	"strings"
)

// Syscall is the content of /proc/PID/task/TID/syscall.
type Syscall struct {
	Number int    `json:"number"`
	Name   string `json:"name,omitempty"` // "" where the table of this architecture does not know it
	// Args are the six arguments as hexadecimal numbers ("0x63d87030c40"): JSON numbers cannot hold them.
	Args []string `json:"args"`
}

// syscallArgs is the number of arguments that /proc/PID/task/TID/syscall shows, used or not.
const syscallArgs = 6

// ParseSyscall reads /proc/PID/task/TID/syscall (proc_pid_syscall(5)):
//
//	262 0xffffffffffffff9c 0x63d87030c40 0x63d865286b8 0x0 0x0 0x0 0x63d86fdf1e8 0x40e50e
//
// which is number, six arguments, stack pointer and program counter. It is false for "running" and for "-1 sp pc": a
// thread that is blocked outside of any system call, for example by a page fault.
//
// The name is that of the architecture of this program. A 32-bit process, recognised by its stack pointer, has
// another table: its calls get no name.
func ParseSyscall(text string) (Syscall, bool) {
	words := strings.Fields(text)
	if len(words) != 1+syscallArgs && len(words) != 1+syscallArgs+2 {
		return Syscall{}, false
	}
	number, err := strconv.Atoi(words[0])
	if err != nil || number < 0 {
		return Syscall{}, false
	}
	for _, word := range words[1:] {
		if _, ok := parseWord(word); !ok {
			return Syscall{}, false
		}
	}
	s := Syscall{Number: number, Args: words[1 : 1+syscallArgs : 1+syscallArgs]}
	if len(words) > 1+syscallArgs {
		if sp, _ := parseWord(words[1+syscallArgs]); sp>>32 == 0 {
			return s, true
		}
	}
	if call, ok := lookupCall(runtime.GOARCH, number); ok {
		s.Name = call.Name
	}
	return s, true
}

// Values are the arguments as numbers.
func (s *Syscall) Values() []uint64 {
	values := make([]uint64, len(s.Args))
	for i, arg := range s.Args {
		values[i], _ = parseWord(arg)
	}
	return values
}

// Kinds says what the arguments are, with one letter for each that matters: "d" is the descriptor of the directory that the
// next path is relative to, "p" a path, "q" what is a path if it is absolute (the source of a mount) and matters less than
// the others, "f" a descriptor, "." anything else. It is "" for calls that name no file, and for unknown ones.
func (s *Syscall) Kinds() string {
	call, ok := lookupCall(runtime.GOARCH, s.Number)
	if !ok {
		return ""
	}
	return strings.TrimRight(call.Args, ".")
}

// parseWord reads a number as the kernel prints it with "0x%lx".
func parseWord(word string) (uint64, bool) {
	digits, ok := strings.CutPrefix(word, "0x")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}

// A systemCall says what the arguments of a system call are.
type systemCall struct {
	Name string
	Args string // see [Syscall.Kinds]
}

// lookupCall returns the system call of a number on an architecture ("amd64" or "arm64", as GOARCH). It knows the
// calls that name files, and those that threads of a kubelet are usually seen in; it is false for all others.
func lookupCall(arch string, number int) (systemCall, bool) {
	var call systemCall
	var ok bool
	switch arch {
	case "amd64":
		call, ok = callsAMD64[number]
	case "arm64":
		call, ok = callsARM64[number]
	}
	if !ok && number >= firstSharedCall {
		call, ok = callsShared[number]
	}
	return call, ok && (arch == "amd64" || arch == "arm64")
}
