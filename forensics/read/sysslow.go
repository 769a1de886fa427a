package read

import (
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

const (
	// slowTool is for how many seconds a program waits for a file system that is slow; a disk that was asleep takes less.
	slowTool = 5
	// slowEntry is the same for each name that a program lists: a server answers some hundred in a second.
	slowEntry = 0.01
)

// A timeReader reads what time(1) or the shell writes below a program that looks at one path.
type timeReader struct {
	to      *systemText
	name    string
	now     pathCall
	limit   float64 // of timeout(1)
	entries int     // that were listed
	timed   bool    // now is noted, but for the time that the processor took
}

var (
	// timed is a command whose duration is that of few calls on a path: `time sudo ls /mnt | wc -l`.
	timed = pattern.New(`(?:^|[\s;&(])(?:\\|\S*/)?time\s+(?:(?:-p\s+)?[({]?\s*(?:sudo\s+(?:-[nE]\s+)*)?(?:timeout\s+(?:-\S+\s+(?:KILL\s+|9\s+|\d+s?\s+)?)*(\d+)s?\s+)?(?:sudo\s+)?(?:/\S*/)?` +
		`(ls|stat|df|cd|test|touch|mountpoint|readlink|mkdir|rmdir)\s+([^|;&<>)}]*))?`)
	recursive = pattern.New(`(?:^|\s)(?:-\w*R|--recursive)`)
	tookTime  = pattern.New(`^(real|user|sys)\s+(?:(\d+)m ?)?(\d+[.,]\d+)s?$|(?:^| )()(?:(\d+):)?(\d+:)?([\d.]+)elapsed `)
)

func (r *timeReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	if m := tookTime.FindStringSubmatch(text); m != nil {
		took := 60*number(m[2]) + number(m[3]) + 3600*number(m[5]) + 60*number(m[6]) + number(m[7])
		if m[1] == "real" || m[1] == "" {
			r.took(took)
		} else if r.timed { // work of the processor is none of the file system
			r.to.errors[len(r.to.errors)-1].seconds -= took
		}
		return
	}
	if m := timed.FindStringSubmatch(text); m != nil {
		r.now, r.entries, r.timed, r.limit = onePath(m[2], m[3]), 0, false, number(m[1])
		return
	}
	words := strings.Fields(text)
	if r.entries += len(words); len(words) == 1 && countOnly.MatchString(words[0]) {
		r.entries += atoi(words[0])
	}
}

// onePath is the call of a program that looks at one absolute path; without the path if there are others.
func onePath(program, arguments string) (c pathCall) {
	for _, word := range strings.Fields(arguments) {
		switch word = strings.Trim(word, `'"`); {
		case strings.HasPrefix(word, "-"):
		case !strings.HasPrefix(word, "/") || strings.ContainsAny(word, "*?$") || c.path != "":
			return pathCall{}
		default:
			c.path, c.call = path.Clean(word), program
		}
	}
	if recursive.MatchString(arguments) {
		c.path = ""
	}
	return c
}

// took notes how long the program above took.
func (r *timeReader) took(seconds float64) {
	c := &r.now
	c.seconds, c.pending = seconds, r.limit > 0 && seconds >= r.limit && seconds < r.limit+2
	if c.call == "ls" && seconds < slowEntry*float64(r.entries) {
		c.seconds = 0
	}
	if r.timed = c.path != ""; r.timed {
		r.to.called(r.name, c)
	}
	c.path = ""
}

// A straceReader reads calls that ask for a path, as strace(1) prints them.
type straceReader struct {
	to   *systemText
	name string
	last pathCall // if that has not returned
	// several says that the trace names processes, of which the last call may be cut off. Ended says that it was interrupted.
	several, ended bool
	limited        timeoutReader
}

var (
	straceCall = pattern.New(`^(?:(\[pid +\d+\] |\d+ +)?(?:.*[\s|])?)(?:(f?statfs(?:64)?|[fl]?stat(?:64)?|newfstatat|statx|access|faccessat2?|chdir|readlink|getdents64|open|openat)\((?:AT_FDCWD, "|"|\d+<)(/[^">]*)[">](.*)$|[a-z_0-9]+\(|<\.\.\. \w+ resumed)`)
	// straceBegun is what strace writes behind a path before the call returns.
	straceBegun = pattern.New(`^(?:, ?(?:""|[A-Z][A-Z0-9_|]+|0x[0-9a-f]+|\d+))*,?\s*(?:\^C.*|Killed|Terminated|<(?:unfinished|detached) \.\.\.>|\[?\w[\w.-]*@\w[^#$]*[#$] .*)?(?:\) += \?.*)?$`)
	straceTook  = pattern.New(`\) += (?:\d+|-1 E[A-Z]+ \(.*\)) <(\d+\.\d+)>$`)
)

func (r *straceReader) line(s string, _ int) {
	r.limited.line(r, strings.TrimSpace(s))
	r.ended = r.ended || strings.Contains(s, "^C") || strings.Contains(s, "detached") || strings.Contains(s, "killed by")
	m := straceCall.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return
	}
	r.last, r.several = pathCall{}, m[1] != ""
	c := pathCall{path: path.Clean(m[3]), call: m[2]}
	if m[3] == "" || strings.HasPrefix(m[3], "/proc/") || strings.HasPrefix(m[3], "/dev/") ||
		strings.HasPrefix(m[2], "open") && !strings.Contains(m[4], "O_DIRECTORY") { // a pipe waits for its other end
		return
	}
	if took := straceTook.FindStringSubmatch(m[4]); took != nil {
		c.seconds = number(took[1])
		r.to.called(r.name, &c)
	} else if straceBegun.MatchString(m[4]) {
		r.last = c
	}
}

// end takes the last call, if nothing shows that it has returned.
func (r *straceReader) end() {
	r.limited.returned(r)
	if r.last.path != "" && (r.ended || !r.several) {
		r.last.pending = true
		r.to.called(r.name, &r.last)
	}
}

// A timeoutReader reads whether timeout(1) has ended a program that looked at one path, by the status that the shell has printed below it.
type timeoutReader struct {
	now     pathCall // with the limit in seconds
	killed  bool     // it sends SIGKILL, and the shell prints the status of that
	status  bool     // that of the program is printed
	outputs []string // the lines below the command
}

var (
	limited = pattern.New(`(?:^|[\s;&(])timeout\s+((?:-\S+\s+(?:KILL\s+|9\s+|\d+s?\s+)?)*)(\d+)s?\s+(?:sudo\s+)?(?:/\S*/)?(ls|stat|df|test|touch|mountpoint|readlink)\s+([^|;&<>)}]*?)(?:\s\d)?((?:[|;&<>)}].*)?)$`)
	// andStatus is behind a command, and prints its status; a pipe has that of its last command.
	andStatus = pattern.New(`^(?:>\s*\S+|2?>&\d|\s|&>\S+)*(?:;|\|\|)\s*echo\b[^|&]*\$\?`)
	// asksStatus is a command that prints the status of the one before.
	asksStatus  = pattern.New(`^(?:\S*(?: \S+)? ?[#$>] )?echo\b[^|&]*\$\?`)
	printedCode = pattern.New(`^(?:[A-Za-z][A-Za-z_ ]{0,20}[:=]? ?|\W{0,3})(\d{1,3})$`)
	byShell     = pattern.New(`(?:^|\s)(?:Killed|Terminated)\b`)
)

func (r *timeoutReader) line(calls *straceReader, text string) {
	switch m := limited.FindStringSubmatch(text); {
	case m != nil:
		r.returned(calls)
		*r = timeoutReader{now: onePath(m[3], m[4]), status: andStatus.MatchString(m[5]), killed: strings.Contains(m[1], "-k") || strings.Contains(m[1], "-s")}
		if r.now.seconds = number(m[2]); m[5] != "" && !r.status {
			r.now.path = ""
		}
	case r.now.path == "":
	case !r.status && len(r.outputs) == 0 && asksStatus.MatchString(text):
		r.status = true
	case text == "" || strings.HasPrefix(text, "```") || prompt.MatchString(text):
		r.returned(calls)
	case !byShell.MatchString(text):
		r.outputs = append(r.outputs, text)
	}
}

// returned notes whether the program has ended by itself. What a program prints of a directory may look like a status: of one that timeout has
// ended there is nothing else.
func (r *timeoutReader) returned(calls *straceReader) {
	c := r.now
	if c.path != "" && r.status && len(r.outputs) > 0 {
		m := printedCode.FindStringSubmatch(r.outputs[0])
		c.pending = len(r.outputs) == 1 && m != nil && (m[1] == "124" || m[1] == "137" && r.killed) && c.seconds >= slowTool
		if !c.pending {
			c.seconds = 0
		}
		calls.to.called(calls.name, &c)
	}
	*r = timeoutReader{}
}

// called notes a call that may have taken long.
func (x *systemText) called(name string, c *pathCall) {
	if len(x.errors) < mostSaved {
		x.errors = append(x.errors, *c)
		x.saw(forensics.SourceHealth, name)
	}
}

// wellLater says whether a call did not fail nor take long, or whether one on the same path was measured later.
func (x *systemText) wellLater(i int) bool {
	c := x.errors[i]
	if c.errno != "" {
		return false
	}
	for _, other := range x.errors[i+1:] {
		if other.path == c.path {
			return true
		}
	}
	return !c.pending && c.seconds < slowTool
}

func number(s string) float64 {
	f, _ := strconv.ParseFloat(strings.NewReplacer(",", ".", ":", "").Replace(s), 64)
	return f
}
