package read

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A savedStack is the kernel stack of one thread.
type savedStack struct {
	procs.Thread
	// hung says that the kernel had reported the thread as a hung task: it is judged with that message.
	hung bool
	// sampled says that it is of a list of all threads in state D, of which some are there for a moment only.
	sampled bool
	// killed says that the text shows a SIGKILL to it before.
	killed bool
}

// A stackReader reads kernel stacks: /proc/PID/stack, those that sysrq-w and sysrq-t write, those of hung tasks, and bt of crash(8).
type stackReader struct {
	to    *systemText
	name  string
	ofLog bool // only stacks of which the kernel's log names the task

	now  savedStack
	open bool // now has a heading whose stack may follow
	at   int  // the line of the heading
	// above is the last line that is of no stack, at the line aboveAt.
	above   string
	aboveAt int
	// hung is the hung task that was reported last, by its pid, for how many seconds.
	hung struct{ pid, seconds, line int }
	// killed are the processes that somebody has sent SIGKILL, above.
	killed map[int]bool
	// wchan is the thread whose wait the command above shows.
	wchan procs.Thread
}

var (
	wchanFile  = pattern.New(`/proc/(\d+)(?:/task/(\d+))?/wchan(?::([a-z_][\w.]*)|\s*(?:[;&|].*)?)$`)
	kernelName = pattern.New(`^[a-z_][\w.]*_[\w.]*$`)
)

// sigkill is a command that kills processes.
var sigkill = pattern.New(`\bkill +(?:-9|-KILL|-SIGKILL|-s +(?:9|KILL|SIGKILL)) +(\d+(?: +\d+)*)`)

// thaws is a command that thaws a file system: those that waited for that go on.
var thaws = pattern.New(`[#$>] (?:sudo |nsenter .*)?(?:fsfreeze (?:-u|--unfreeze)|xfs_freeze -u|dmsetup resume)\s`)

var (
	// What stands before a message of the kernel.
	kernelHead = pattern.New(`^(?:<\d+>)?(?:kern +:\w+ *: )?(?:[^\[\]]{0,80}?\bkernel: ?)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?|\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: \d{4})?\] ?)?`)

	frame      = pattern.New(`^\s*(?:\[<[0-9a-f]+>\]\s*)?(\? )?([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?:\s+\[[\w ]+\])?$`)
	address    = pattern.New(`^\s*\[<[0-9a-f]+>\] 0x[0-9a-f]+$`)
	crashFrame = pattern.New(`^\s*#\d+ \[[0-9a-f]+\] (\w[\w.]*) at [0-9a-f]+`)
	callTrace  = pattern.New(`^\s*[Cc]all [Tt]race:`)

	// "task:umount state:D stack: 0 pid: 123 ppid: 1 flags:…", "umount  D ffff88… 0 123 1 0x00000080", "umount D 0 123 1 0x80"
	newTask  = pattern.New(`^\s*task:(\S.*?)\s+state:(\w)\s+stack:\s*\d+\s+pid:\s*(\d+)`)
	oldTask  = pattern.New(`^(\S.{0,15}?)\s+([DRSTtZIX])\s+(?:running task\s+|[0-9a-f]{8,16}\s+)?\d+\s+(\d+)\s+\d+\s+0x[0-9a-f]+$`)
	hungTask = pattern.New(`INFO: task (.+):(\d+) blocked (?:in I/O wait )?for more than (\d+) seconds`)
	// What else the kernel writes above a trace.
	otherTrace = pattern.New(`^\s*(?:BUG: |WARNING: |watchdog: |rcu: |RIP: |Oops|general protection|Hardware name: |CPU: \d+ PID: |Sending NMI|NMI backtrace|\S+ invoked oom-killer|\S+: page allocation)`)

	stackFile   = pattern.New(`/proc/(\d+|self)(?:/task/(\d+|\*))?/stack\b:?`)
	taskDir     = pattern.New(`/proc/(\d+)/task/(\d+)\b`)
	threadWord  = pattern.New(`(?i)^\W*(?:tid|thread|task|lwp)\b`)
	crashPID    = pattern.New(`^\s*PID: (\d+)\s+TASK: \S+\s+CPU: \d+\s+COMMAND: "(.*)"`)
	pidWord     = pattern.New(`(?i)\b(?:pid|tid|lwp|process|thread|task)\b[:=# ]*(\d{1,7})\b(?:[\s:,(\[-]+([A-Za-z][\w./:-]*)[)\]]?)?\W*$`)
	threadFacts = pattern.New(`\bstate=([A-Za-z])(?: \([a-z ]+\))? wchan=(\S+)(?: syscall=(\d+(?: 0x[0-9a-f]+)+))?`)
	pidName     = pattern.New(`^\W*(\d{2,7})[\s:,(\[-]+([A-Za-z][\w./:-]*)[)\]]?\W*$`)
	namePID     = pattern.New(`^\W*([A-Za-z][\w./:-]*)[\s:,(\[-]+(\d{2,7})[)\]]?\W*$`)
)

func (r *stackReader) line(s string, number int) {
	if !r.ofLog && strings.Contains(s, "kill ") {
		r.end()
		r.killed = killedBy(s, r.killed)
	}
	if !r.ofLog && thaws.MatchString(s) {
		r.end()
		for i := range r.to.stacks {
			if wait := &r.to.stacks[i].Wait; wait.Kind == procs.WaitFrozen {
				wait.Kind = procs.WaitUnknown
			}
		}
	}
	if r.ofWait(s, number) {
		return
	}
	if !r.mayBe(s) {
		if s != "" {
			r.above, r.aboveAt = s, number
		}
		return
	}
	if m := stackFile.FindStringIndex(s); m != nil && !r.ofLog && strings.HasPrefix(s, "/proc/") && strings.Contains(s, "+0x") { // as grep writes it
		if head := s[:m[1]]; head != r.above || !r.open {
			r.end()
			r.above, r.aboveAt = head, number
		}
		s = s[m[1]:]
	}
	text := s
	if strings.Contains(s, "[") || strings.Contains(s, "kernel:") || strings.HasPrefix(s, "<") {
		text = s[len(kernelHead.FindString(s)):]
	}
	switch m := frame.FindStringSubmatch(text); {
	case m != nil && r.open:
		if m[1] == "" { // "? " marks what the unwinder is not sure of
			r.now.Stack = append(r.now.Stack, m[2])
		}
		return
	case m != nil:
		if strings.HasPrefix(strings.TrimSpace(text), "[<") && !r.ofLog {
			r.fileHeading(number)
			r.now.Stack = append(r.now.Stack, m[2])
		}
		return
	case address.MatchString(text):
		r.end()
		return
	}
	if m := crashFrame.FindStringSubmatch(text); m != nil && !r.ofLog {
		if !r.open {
			r.fileHeading(number)
		}
		r.now.Stack = append(r.now.Stack, m[1])
		return
	}
	r.heading(text, number)
}

// ofWait reads what "cat /proc/PID/wchan" prints, on the next line, or behind a colon where grep has printed it.
func (r *stackReader) ofWait(s string, number int) bool {
	at := r.wchan
	r.wchan = procs.Thread{}
	if m := wchanFile.FindStringSubmatch(s); m != nil && !r.ofLog {
		at = procs.Thread{PID: atoi(m[1]), TID: cmp.Or(atoi(m[2]), atoi(m[1]))}
		if r.wchan = at; m[3] == "" {
			return false
		}
		s = m[3]
	}
	if at.PID == 0 || !kernelName.MatchString(s) {
		return false
	}
	r.begin(savedStack{Thread: at}, number)
	r.now.WChan, r.now.Stack = s, append(r.now.Stack, s)
	r.end()
	r.wchan = procs.Thread{}
	return true
}

// mayBe says whether a line can be of a stack, or the heading of one in the kernel's log.
func (r *stackReader) mayBe(s string) bool {
	return r.open || strings.Contains(s, "+0x") || strings.Contains(s, "task") || strings.Contains(s, " at ffff") || strings.Contains(s, " 0x0") || strings.Contains(s, " 0x8") // flags of a task; those of the kernel's own begin with 8
}

func (r *stackReader) heading(text string, number int) {
	switch {
	case callTrace.MatchString(text):
		if r.open && len(r.now.Stack) == 0 && number-r.at < 12 {
			return
		}
		r.end()
	case r.kernelHeading(text, number), strings.TrimSpace(text) == "" && r.open && len(r.now.Stack) == 0:
	case r.open && r.ofLog && len(r.now.Stack) == 0 && number-r.at < 12: // of the heading
	case r.open && (strings.Contains(text, "<TASK>") || strings.Contains(text, "</TASK>") || strings.Contains(text, "Not tainted") || strings.Contains(text, "Tainted:") ||
		strings.Contains(text, "hung_task_timeout_secs") || strings.HasPrefix(text, " ffff") || strings.HasPrefix(text, "RIP: 0033") || strings.HasPrefix(text, "Workqueue: ")):
	default:
		r.end()
		if text != "" {
			r.above, r.aboveAt = text, number
		}
	}
}

// kernelHeading reads the line of a task in the kernel's log.
func (r *stackReader) kernelHeading(text string, number int) bool {
	if m := hungTask.FindStringSubmatch(text); m != nil {
		r.end()
		r.hung.pid, r.hung.line = atoi(m[2]), number
		r.hung.seconds = atoi(m[3])
		if r.to.hung == nil {
			r.to.hung = map[int]float64{}
		}
		if len(r.to.hung) < mostSaved {
			r.to.hung[r.hung.pid] = max(r.to.hung[r.hung.pid], float64(r.hung.seconds))
		}
		return true
	}
	m := newTask.FindStringSubmatch(text)
	if m == nil {
		if m = oldTask.FindStringSubmatch(text); m == nil {
			if otherTrace.MatchString(text) {
				r.end()
				return true
			}
			return false
		}
	}
	r.end()
	pid := atoi(m[3])
	task := savedStack{Thread: procs.Thread{PID: pid, TID: pid, PIDUnknown: true, Comm: m[1], State: m[2]}, sampled: true}
	if r.hung.pid == pid && number-r.hung.line < 12 {
		seconds := float64(r.hung.seconds)
		task.hung, task.WaitSeconds, task.WaitFrom = true, &seconds, "hung-task"
	}
	r.begin(task, number)
	return true
}

// fileHeading begins a stack of /proc/PID/stack or of crash(8), with what people and programs write above it.
func (r *stackReader) fileHeading(number int) {
	t := procs.Thread{}
	text := r.above
	if number > r.aboveAt+3 {
		text = ""
	}
	if m := threadFacts.FindStringSubmatchIndex(text); m != nil { // "## 11662 kubelet state=S wchan=futex_do_wait syscall=202 0x544d7f8 …"
		t.State, t.WChan = text[m[2]:m[3]], text[m[4]:m[5]]
		if m[6] >= 0 {
			if call, ok := procs.ParseSyscall(text[m[6]:m[7]]); ok {
				t.Syscall = &call
			}
		}
		text = strings.TrimSpace(text[:m[0]])
	}
	if m := crashPID.FindStringSubmatch(text); m != nil {
		t.PID, t.Comm = atoi(m[1]), m[2]
	} else if m := stackFile.FindStringSubmatch(text); m != nil {
		t.PID, t.TID = atoi(m[1]), atoi(m[2])
	} else if m := taskDir.FindStringSubmatch(text); m != nil {
		t.PID, t.TID = atoi(m[1]), atoi(m[2])
	} else if m := pidWord.FindStringSubmatch(text); m != nil {
		t.PID, t.Comm = atoi(m[1]), m[2]
		t.PIDUnknown = threadWord.MatchString(m[0])
	} else if m := pidName.FindStringSubmatch(text); m != nil {
		t.PID, t.Comm = atoi(m[1]), m[2]
	} else if m := namePID.FindStringSubmatch(text); m != nil {
		t.PID, t.Comm = atoi(m[2]), m[1]
	}
	t.TID = cmp.Or(t.TID, t.PID)
	r.begin(savedStack{Thread: t}, number)
}

func (r *stackReader) begin(s savedStack, number int) {
	r.end()
	r.now, r.open, r.at = s, true, number
	r.now.Stack = []string{}
	r.now.Saved = savedAt(r.name, number)
}

// end keeps the stack that was read, if there is one.
func (r *stackReader) end() {
	s := r.now
	r.now, r.open = savedStack{}, false
	if len(s.Stack) == 0 || len(r.to.stacks) >= mostSaved {
		return
	}
	r.to.saw(forensics.SourceThreads, r.name)
	s.killed = r.killed[s.PID] && s.PID != 0
	s.Wait, _ = procs.ThreadWait(s.State, "", "", s.Stack)
	if s.Wait.Kind == procs.WaitUnknown {
		return
	}
	r.to.stacks = append(r.to.stacks, s)
}

// killedBy adds the processes that a command sends SIGKILL.
func killedBy(command string, killed map[int]bool) map[int]bool {
	for _, m := range sigkill.FindAllStringSubmatch(command, -1) {
		if killed == nil {
			killed = map[int]bool{}
		}
		for pid := range strings.FieldsSeq(m[1]) {
			killed[atoi(pid)] = true
		}
	}
	return killed
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
