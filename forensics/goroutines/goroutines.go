// Package goroutines reads goroutine dumps of Go programs, in every form the Go
// runtime and net/http/pprof write them (runtime/traceback.go and
// runtime/pprof/pprof.go), and names what each goroutine of
// a kubelet is for. It also reads CPU profiles of the same endpoints.
//
// [Parse] distinguishes the forms by content: text with arguments and states
// (debug=2 of /debug/pprof/goroutine), aggregated text (debug=1), the gzip'd
// protobuf (debug=0), and what a program prints when it dies of SIGABRT,
// SIGQUIT or a panic. Dumps may be part of a log, each line behind a
// journald, syslog, CRI, docker or klog prefix, and other lines may interrupt
// them. What cannot be understood is dropped and reported as a [Problem]; the
// rest is kept.
//
//	dumps, problems, err := Parse(r)
//	for _, g := range GroupBy(dumps[0]) {
//		fmt.Println(g.Count, g.Role.Name, g.MaxWaitMinutes)
//	}
//
// A [Digester] keeps examples of the goroutines of a large dump and counts the others, in memory that does not grow with
// the dump.
package goroutines

import "time"

// Form says how a dump was written.
type Form string

// The forms of a dump.
const (
	// FormDebug2 is the text of /debug/pprof/goroutine?debug=2 and of
	// runtime.Stack: one block a goroutine, with state and arguments.
	FormDebug2 Form = "debug2"
	// formDebug1 is the text of debug=1: identical stacks aggregated, with
	// neither state, nor arguments, nor creator.
	formDebug1 Form = "debug1"
	// formDebug0 is the protobuf of debug=0: as debug=1, and it tells which
	// frames were inlined.
	formDebug0 Form = "debug0"
	// formCrash is what the runtime prints when the program dies: as debug=2,
	// behind a header such as "SIGABRT: abort".
	formCrash Form = "crash"
)

// Dump is one goroutine dump: what all goroutines of one process did at one moment.
type Dump struct {
	Form Form `json:"form"`
	// Header is the line that announced the dump, such as "SIGABRT: abort",
	// the text of a panic, or "goroutine profile: total 94".
	Header     string      `json:"header,omitempty"`
	Goroutines []Goroutine `json:"goroutines"`
	// Truncated says that the start or the end of the dump is missing.
	Truncated bool `json:"truncated,omitempty"`
	// Summed is how many goroutines are not listed one by one but counted in entries without an ID, with a Count. Such an entry has the
	// stack and the state of the examples before it; see [Digester]. 0: all are listed.
	Summed int `json:"summed,omitempty"`
}

// HasStates says whether the form of the dump has each goroutine's state and arguments.
func (d *Dump) HasStates() bool { return d.Form == FormDebug2 || d.Form == formCrash }

// Goroutine is one goroutine, or in the aggregated forms all that shared a stack.
type Goroutine struct {
	// ID is the number of the goroutine; 0 where unknown, as in the
	// aggregated forms, and for the scheduler's own stack ("goroutine 0").
	ID int64 `json:"id,omitempty"`
	// Count is 1, or the number of goroutines aggregated.
	Count int `json:"count"`
	// State is what the runtime prints: "syscall", "chan receive", "sync.Mutex.Lock",
	// "semacquire", ... Absent in the aggregated forms.
	State string `json:"state,omitempty"`
	// WaitMinutes is the time in State as the runtime prints it, rounded
	// down. 0: under a minute or unknown. It can be some 2 minutes too much:
	// see [Goroutine.WaitAtLeast].
	WaitMinutes    int  `json:"wait_minutes,omitempty"`
	LockedToThread bool `json:"locked_to_thread,omitempty"`
	// Frames are the calls, innermost first.
	Frames []Frame `json:"frames"`
	// CreatedBy is the go statement that started it. Absent for the main
	// goroutine, in the aggregated forms, and where the dump was cut.
	CreatedBy *Frame `json:"created_by,omitempty"`
	// CreatorID is the goroutine that ran the go statement (Go 1.21 and later); 0: unknown.
	CreatorID int64 `json:"creator_id,omitempty"`
	// Elided is the number of frames that are missing in the middle: the
	// runtime prints the 50 innermost and the 50 outermost. Releases before
	// Go 1.21 print the 100 innermost and do not say how many are missing
	// (1 then), or nothing at all if some of the 100 were the runtime's own.
	Elided int `json:"elided,omitempty"`
	// Cut says that outer frames are missing because the input lost them.
	Cut bool `json:"cut,omitempty"`
	// Labels are the profiler labels (runtime/pprof.Do).
	Labels map[string]string `json:"labels,omitempty"`
	// Line is the line of the header in the input, from 1; 0 in debug=0.
	Line int `json:"line,omitempty"`
	// Thread is the thread that it is on, by its TID; 0 where it is on none, or the source does not say. Only what was read from memory
	// does.
	Thread int `json:"thread,omitempty"`
	// StackSum is a checksum of its program counter, stack pointer and stack; absent where the stack was not read from memory. A
	// goroutine with the same sum has not run in between.
	StackSum string `json:"stack_sum,omitempty"`
}

// WaitAtLeast is how long g has provably been in its state; 0 if nothing is proven.
//
// The runtime does not note when a goroutine begins to wait. The garbage
// collection that first finds it waiting stamps it with the time at which the
// collection before ended (work.tstart in markroot, mgcmark.go, set by gcMark in
// mgc.go, Go 1.5 and later). A goroutine that has waited for 5 seconds can so be
// printed with "1 minutes", and one without minutes can have waited for long if
// no collection has seen it. The runtime forces a collection every 2 minutes:
// that much is taken off.
func (g Goroutine) WaitAtLeast() time.Duration {
	return max(0, time.Duration(g.WaitMinutes)*time.Minute-forcedGC)
}

// forcedGC is forcegcperiod of the runtime's proc.go.
const forcedGC = 2 * time.Minute

// Frame is one call.
type Frame struct {
	// Func is the symbol as [normalizeFunc] returns it.
	Func string `json:"func"`
	// Args is the text between the last parentheses, for instance
	// "0x106, 0xffffffffffffff9c, {0x63d87030c40?, 0x63}". See [Frame.Words].
	Args string `json:"args,omitempty"`
	// File and Line are the place of the call. File is as the compiler
	// recorded it: never compare its directories across builds.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Offset is the distance of the program counter from the function's start; 0: unknown.
	Offset uint64 `json:"offset,omitempty"`
	// Inlined says that the call was inlined into the next frame; its Args are "...". So they are where they are not known, as in what
	// was read from memory; such a call has an Offset.
	Inlined bool `json:"inlined,omitempty"`
}

// Problem is a part of the input that was dropped or is doubtful.
type Problem struct {
	// Line is the line in the input, from 1; 0 for the input as a whole.
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}
