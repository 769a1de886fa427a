package logs

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A StartStage is how far the start of a kubelet has come (cmd/kubelet/app/server.go, pkg/kubelet/kubelet.go).
type StartStage string

// The stages of a start in their order, each by the line that ends it.
const (
	StartVersion          StartStage = "version"
	StartCAdvisor         StartStage = "cadvisor"
	StartContainerManager StartStage = "container-manager"
	StartRuntime          StartStage = "runtime"
	StartServer           StartStage = "server"
	StartVolumeManager    StartStage = "volume-manager"
	StartSyncLoop         StartStage = "syncloop"
	StartRegistered       StartStage = "registered"
)

var startStages = []StartStage{
	StartVersion, StartCAdvisor, StartContainerManager, StartRuntime, StartServer, StartVolumeManager, StartSyncLoop,
	StartRegistered,
}

// lives follows the runs of the kubelet.
type lives struct {
	all     []*life
	endings []ending
	dropped map[Kind]int64
}

type life struct {
	Life
	started, last time.Time
	// begun says that the log shows how it began.
	begun bool
	lines int64
}

// An ending is a line that says why a kubelet ended.
type ending struct {
	end   End
	time  time.Time
	said  time.Time // when the life had last written: a stack trace has no times
	after int       // index of the life that was the last one when it was read
	pid   int       // of the process that ended; 0 when unknown
	quote Quote
}

// current is the life that writes now, nil before the first.
func (l *lives) current() *life {
	if len(l.all) == 0 {
		return nil
	}
	return l.all[len(l.all)-1]
}

// seen notes a line of a kubelet and says whether it is another one that wrote it than before.
func (l *lives) seen(e *entry) (restarted bool) {
	cur := l.current()
	switch {
	case cur == nil:
		l.begin(e)
	case e.PID > 1 && cur.PID == 1 && cur.Version == "" && cur.Stage == "": // the only process of a container has written that, and was no kubelet
		cur.PID = e.PID
	case e.PID == 1 && cur.PID > 1 && e.Source != "kubelet.go" && e.Source != "server.go":
		return false
	case e.PID != 0 && cur.PID != 0 && e.PID != cur.PID:
		l.begin(e)
		restarted = true
	}
	cur = l.current()
	cur.lines++
	if cur.PID == 0 {
		cur.PID = e.PID
	}
	if e.Time.After(cur.last) {
		cur.last = e.Time
	}
	return restarted
}

func (l *lives) begin(e *entry) {
	n := &life{Life: Life{PID: e.PID}, last: e.Time}
	if len(l.all) > 0 { // another one wrote before: this is its beginning, as far as it was selected
		n.started, n.begun = e.Time, true
	}
	l.all = append(l.all, n)
	if len(l.all) > maxLives { // the oldest go
		l.all = slices.Delete(l.all, 0, 1)
		if l.dropped == nil {
			l.dropped = map[Kind]int64{}
		}
		l.dropped[kindKubeletVersion]++
		for i := range l.endings {
			l.endings[i].after--
		}
		l.endings = sorting.Delete(l.endings, func(e ending) bool { return e.after < 0 })
	}
}

// add takes a known line of a kubelet and says whether a new life began.
func (l *lives) add(file string, o occurrence) (restarted bool) {
	if o.Kind == kindKubeletVersion {
		restarted = l.version(o)
	}
	if l.seen(o.Entry) {
		restarted = true
	}
	cur := l.current()
	cur.Verbosity = max(cur.Verbosity, o.level)
	switch o.Kind {
	case kindKubeletVersion:
		cur.Version = o.Reason
		cur.reach(StartVersion)
		if !cur.begun {
			cur.started, cur.begun = o.Time, true
		}
	case kindKubeletStage:
		cur.reach(StartStage(o.Reason))
	case kindKubeletVerbosity:
		cur.Verbosity = max(cur.Verbosity, min(int(o.Number), 10))
	case kindSyncLoopStarted:
		cur.reach(StartSyncLoop)
		if !cur.begun { // somebody has cut off the lines before, of the same second mostly
			cur.started, cur.begun = o.Time, true
		}
	case kindKubeletFatal:
		l.ends(EndFatal, file, o)
	case kindKubeletPanic:
		if !l.dumpsAfterFatal(o) {
			l.ends(EndPanic, file, o)
		}
	case kindKubeletSignal:
		l.ends(EndSignal, file, o)
	}
	if o.Entry.Severity == 'F' && o.Kind != kindKubeletFatal {
		l.ends(EndFatal, file, o)
	}
	return restarted
}

// version begins a run where the PID alone does not show it: in a container the PID is always the same. The flags are
// written just before the version.
func (l *lives) version(o occurrence) bool {
	cur := l.current()
	if cur == nil || o.Entry.PID != 0 && cur.PID != 0 && o.Entry.PID != cur.PID {
		return false // seen does it
	}
	if cur.Version == "" && cur.Stage == "" && cur.lines < 1000 && distance(cur.last, o.Time) < 10*time.Second {
		return false
	}
	l.begin(o.Entry)
	return true
}

// reach notes a stage, if it is beyond the last one. The start of a life that began before the log is not known.
func (c *life) reach(stage StartStage) {
	if slices.Index(startStages, stage) > slices.Index(startStages, c.Stage) {
		c.Stage = stage
	}
}

// An End is why a run of a kubelet ended.
type End string

// The ends. If the log shows two of them for one run, the later one in this list says more.
const (
	EndRunning  End = "running" // it is the last life, and nothing says that it ended
	EndUnknown  End = "unknown" // another kubelet writes after it, and nothing says why
	EndSignal   End = "signal"  // by a signal, or by systemd
	EndFatal    End = "fatal"   // by an error of its own
	EndPanic    End = "panic"
	EndWatchdog End = "watchdog" // by systemd's watchdog
	EndOOM      End = "oom"      // by the kernel, out of memory
)

var endRank = []End{EndUnknown, EndSignal, EndFatal, EndPanic, EndWatchdog, EndOOM}

// maxEndings bounds the lines that are kept; a crash writes a few.
const maxEndings = 4 * maxLives

func (l *lives) ends(end End, file string, o occurrence) {
	e := ending{end: end, time: o.Time, after: len(l.all) - 1, quote: quote(file, o.Entry)}
	if cur := l.current(); cur != nil {
		e.said = cur.last
	}
	if len(l.endings) >= maxEndings {
		l.endings = slices.Delete(l.endings, 0, 1)
	}
	l.endings = append(l.endings, e)
}

// dumpsAfterFatal says that a line is the head of the stacks that klog prints after a fatal error (klog.go, stacks), or the Go runtime after
// a signal: it is no panic.
func (l *lives) dumpsAfterFatal(o occurrence) bool {
	if len(l.endings) == 0 || !strings.HasPrefix(o.Entry.Message, "goroutine ") {
		return false
	}
	last := l.endings[len(l.endings)-1]
	return (last.end == EndFatal || last.end == EndSignal) && last.after == len(l.all)-1
}

// outside reads the messages of systemd and the kernel about a kubelet.
func (l *lives) outside(file string, o occurrence) {
	switch o.Kind {
	case kindKubeletExited:
		l.ends(exitMeans(o.Code), file, o)
	case kindKubeletStopping:
		l.ends(EndSignal, file, o)
	case kindKubeletWatchdog:
		if len(l.all) == 0 { // the journal of systemd alone
			l.all = append(l.all, &life{})
		}
		l.ends(EndWatchdog, file, o)
	case kindKernelOOM, kindKernelOOMCgroup:
		if name, pid, _ := strings.Cut(o.Process, " ("); kubeletOrigin(name) {
			l.ends(EndOOM, file, o)
			l.endings[len(l.endings)-1].pid = int(number(pid))
		}
	}
}

// exitMeans reads systemd's "9/KILL", "2/INVALIDARGUMENT", "255/EXCEPTION", "1/FAILURE". Go's runtime exits with 2
// after a panic.
func exitMeans(status string) End {
	code, name, _ := strings.Cut(status, "/")
	switch {
	case name != "" && signalNames[name]:
		return EndSignal
	case code == "0":
		return EndSignal
	case code == "2":
		return EndPanic
	case code == "":
		return EndUnknown
	}
	return EndFatal
}

var signalNames = map[string]bool{
	"KILL": true, "TERM": true, "INT": true, "ABRT": true, "SEGV": true, "BUS": true, "QUIT": true, "HUP": true,
	"PIPE": true, "ILL": true, "FPE": true, "TRAP": true, "XCPU": true, "SYS": true,
}

// list returns the runs, with their endings.
func (l *lives) list() []Life {
	out := make([]Life, 0, len(l.all))
	for i, c := range l.all {
		v := c.Life
		if c.begun && !c.started.IsZero() {
			v.Started = &c.started
		}
		if !c.last.IsZero() {
			v.Last = &c.last
		}
		v.End = EndUnknown
		if i == len(l.all)-1 {
			v.End = EndRunning
		}
		for _, e := range l.endings {
			if l.lifeOf(e) == i && (i < len(l.all)-1 || !e.before(c.last)) && rank(e.end) > rank(v.End) {
				q := e.quote
				v.End, v.EndQuote = e.end, &q
			}
		}
		out = append(out, v)
	}
	return out
}

// before says whether the kubelet went on for long after a line that seemed to be its end.
func (e *ending) before(last time.Time) bool {
	said := e.time
	if said.IsZero() && e.pid == 0 {
		said = e.said
	}
	return !said.IsZero() && last.Sub(said) > 90*time.Second
}

func rank(end End) int { return slices.Index(endRank, end) }

// lifeOf is the index of the life that an ending ends: by its PID; by time, since other logs are read later; or by order.
func (l *lives) lifeOf(e ending) int {
	if e.pid > 1 {
		for i := len(l.all) - 1; i >= 0; i-- {
			if l.all[i].PID == e.pid {
				return i
			}
		}
	}
	if e.time.IsZero() {
		return e.after
	}
	at := 0
	for i, c := range l.all {
		if !c.started.IsZero() && !c.started.After(e.time) {
			at = i
		}
	}
	return at
}
