package logs

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Bounds of a story. What finds no room is counted in Story.Dropped.
const (
	maxEvents        = 2000 // of all kinds
	maxEventsOfKind  = 64
	maxQuoteText     = 1200
	maxComplaints    = 4
	maxDeletions     = 200
	maxTracked       = 2048 // deletions and operations that are followed at a time
	maxNames         = 4096
	maxLives         = 50
	maxGaps          = 10
	maxOrphansCount  = 1 << 18
	maxKillsFollowed = 32
)

// A folder makes a story of occurrences. They come in the order of the files and of the lines in them.
type folder struct {
	events  map[eventKey]*event
	order   []*event
	ofKind  map[Kind]int
	dropped map[Kind]int64

	orphans    orphanage
	lives      lives
	loop       loop
	deletions  deletions
	operations operations
	lastOOM    occurrence
	errors     unrecognized
	// reports are the events of the API.
	reports []report
	// kubelet says that a line of a kubelet was seen, latest is the time of the latest line of one.
	kubelet bool
	latest  time.Time
	// booted is when the machine was started last.
	booted time.Time
}

type eventKey struct {
	kind    Kind
	origin  string
	subject Subject
}

type event struct {
	Event
	first, last, largest Quote
	quoted               int // lines
}

func newFolder() *folder {
	f := &folder{
		events: map[eventKey]*event{}, ofKind: map[Kind]int{}, dropped: map[Kind]int64{},
		orphans:    orphanage{pods: map[podHash]struct{}{}, mounted: map[podHash]struct{}{}},
		loop:       newLoop(),
		operations: operations{open: map[operationID]*operation{}, pods: map[string]int{}},
	}
	f.deletions = newDeletions(f.operations.gone)
	return f
}

// add takes one occurrence; file is the path that quotes name. Nothing of the entry is kept uncloned.
func (f *folder) add(file string, o occurrence) {
	if o.Entry.API != nil {
		if len(f.reports) < maxReported {
			f.reports = append(f.reports, report{file, o})
		} else {
			f.drop(o.Kind)
		}
		return
	}
	if f.sameKill(&o) {
		return
	}
	f.count(file, o)
	if o.Kind == kindSaidOver || o.Kind == kindSaidRepeated { // by nobody on the node
		return
	}
	if o.Kind == kindKernelBoot && o.Time.After(f.booted) {
		f.booted = o.Time
	}
	if !f.ofKubelet(&o) {
		f.lives.outside(file, o)
		if o.Entry.Origin == "kube-controller-manager" && operationOf(o.Entry.Message) == opAttachVolume {
			f.operations.add(file, o, f.drop)
		}
		return
	}
	f.heard(o.Entry)
	if f.lives.add(file, o) {
		f.restarted()
	}
	f.loop.add(file, o)
	f.orphans.add(o)
	f.operations.add(file, o, f.drop)
	f.deletions.add(file, o, f.drop)
}

// seen tells of lines that are not known: that a writer said something else at that time, which may be an error.
func (f *folder) seen(file string, e *entry) {
	f.errors.add(file, e)
	if e.API != nil || ofSidecar(e) {
		return
	}
	if !kubeletOrigin(e.Origin) && (e.Origin != "" || e.Source == "") {
		return
	}
	f.heard(e)
	if f.lives.seen(e) {
		f.restarted()
	}
	f.loop.other(e.Time)
}

// heard notes that a kubelet wrote a line.
func (f *folder) heard(e *entry) {
	f.kubelet = true
	if e.Time.After(f.latest) {
		f.latest = e.Time
	}
}

// restarted forgets what a kubelet keeps in memory only.
func (f *folder) restarted() {
	f.loop = newLoop()
	f.operations.restarted()
	f.deletions.restarted()
}

func (f *folder) drop(k Kind) { f.dropped[k]++ }

// ofKubelet says whether the line was written by a kubelet: not by the kernel, systemd, a runtime or a controller.
func (f *folder) ofKubelet(o *occurrence) bool {
	e := o.Entry
	if kubeletOrigin(e.Origin) {
		return !strings.HasPrefix(string(o.Kind), "podgc-")
	}
	if e.Origin != "" && e.Origin != "unknown" {
		return false
	}
	switch {
	case ofSidecar(e), strings.HasPrefix(string(o.Kind), "kernel-"), strings.HasPrefix(string(o.Kind), "podgc-"):
		return false
	}
	return e.Source != "" || o.Kind == kindKubeletPanic || o.Kind == kindKubeletSignal
}

// ofSidecar says whether a line is of a sidecar of a CSI driver, or of a controller: they log like the kubelet, and have source files that it
// has not.
func ofSidecar(e *entry) bool {
	file, _, _ := strings.Cut(e.Source, ":")
	switch file {
	case "csi_handler.go", "trivial_handler.go", "csi-provisioner.go", "csi-attacher.go", "snapshot_controller.go", "resize_controller.go", "leaderelection.go",
		"node_register.go", "identityserver-default.go", "nodeserver.go", "controllerserver.go", "identityserver.go", "connection.go":
		return true
	}
	return false
}

// sameKill says whether the line is another one about the OOM kill before, and hands it what the one before knew.
func (f *folder) sameKill(o *occurrence) bool {
	if o.Kind != kindKernelOOM && o.Kind != kindKernelOOMCgroup {
		return false
	}
	before := f.lastOOM
	near := before.Kind != "" && distance(before.Time, o.Time) <= 10*time.Second
	f.lastOOM = occurrence{Kind: o.Kind, Time: o.Time, Subject: o.Subject}
	if o.Process == "" { // says which cgroup, and the next line which process, unless the text ends before
		o.Kind = kindKernelOOMInvoked
		return false
	}
	if near && before.Process == o.Process {
		same := *o
		same.Subject = before.Subject
		if ev := f.events[keyOf(same)]; ev != nil {
			ev.Number, ev.Max = max(ev.Number, o.Number), max(ev.Max, o.Number)
		}
		return true
	}
	if near && before.Process == "" && o.PodUID == "" {
		o.PodUID, o.Path = before.PodUID, before.Path
		f.lastOOM.Subject = o.Subject
	}
	return false
}

// distance is how far two times are apart; 0 when one is unknown.
func distance(a, b time.Time) time.Duration {
	if a.IsZero() || b.IsZero() {
		return 0
	}
	return a.Sub(b).Abs()
}

// count adds the occurrence to its event.
func (f *folder) count(file string, o occurrence) {
	k := keyOf(o)
	ev, full := f.events[k], false
	if ev == nil {
		if f.ofKind[o.Kind] >= maxEventsOfKind-1 || len(f.order) >= maxEvents {
			k.subject, full = Subject{}, true // the last one of a kind takes all others
			ev = f.events[k]
			if ev == nil && len(f.order) >= maxEvents+maxEventsOfKind {
				f.dropped[o.Kind]++
				return
			}
		}
	}
	if ev == nil {
		ev = &event{Event: Event{Kind: o.Kind, Origin: k.origin, Subject: k.subject}}
		f.events[k] = ev
		f.order = append(f.order, ev)
		f.ofKind[o.Kind]++
	}
	ev.add(file, o, full || book.messages[o.Kind].summed)
}

func (ev *event) add(file string, o occurrence, anonymous bool) {
	ev.Count += o.Entry.times()
	if anonymous {
		ev.Subject = Subject{}
	} else {
		ev.Subject = o.Subject
	}
	ev.Number = o.Number
	isFirst := ev.quoted == 0
	ev.quoted++
	isLargest := isFirst || o.Number > ev.Max
	if isLargest {
		ev.Max = o.Number
	}
	if !o.Time.IsZero() {
		t := o.Time
		if first := o.Entry.since(); ev.First == nil || first.Before(*ev.First) {
			ev.First = &first
		}
		if ev.Last == nil || t.After(*ev.Last) {
			ev.Last = &t
		}
	}
	q := quote(file, o.Entry)
	if isFirst {
		ev.first = q
	}
	if isLargest {
		ev.largest = q
	}
	ev.last = q
}

// keyOf is what makes two occurrences the same event: the kind, the writer, and the subject without its cause.
func keyOf(o occurrence) eventKey {
	k := eventKey{kind: o.Kind, origin: o.Entry.Origin}
	if book.messages[o.Kind].summed {
		k.origin = strings.Clone(k.origin)
		return k
	}
	k.subject = o.Subject
	if !book.messages[o.Kind].byReason {
		k.subject.Reason = ""
	}
	if o.Kind == KindRuntimeCallFailed {
		k.subject = Subject{Reason: firstWord(o.Reason), Code: o.Code}
	}
	if strings.HasPrefix(string(o.Kind), "volume") || o.UniqueName != "" {
		k.subject.Path = ""
	}
	k.origin = strings.Clone(k.origin)
	return k
}

// quote keeps a line, as it is written but made valid and cut.
func quote(file string, e *entry) Quote {
	q := Quote{File: file, Line: e.Line, Text: quoteText(e.Raw)}
	if q.Text == "" {
		q.Text = quoteText(e.Message)
	}
	if !e.Time.IsZero() {
		t := e.Time
		q.Time = &t
	} else {
		q.Uptime = e.Uptime.Seconds()
	}
	return q
}

func quoteText(s string) string {
	return strings.Clone(valid(strings.TrimRight(s, "\r\n\x00"), maxQuoteText))
}

func (ev *event) finish() Event {
	e := ev.Event
	e.Quotes = []Quote{ev.first}
	if ev.quoted > 1 {
		if ev.largest != ev.first && ev.largest != ev.last {
			e.Quotes = append(e.Quotes, ev.largest)
		}
		e.Quotes = append(e.Quotes, ev.last)
	}
	return e
}

// story is what came of it.
func (f *folder) story(files []File) Story {
	f.reported()
	if f.kubelet && !f.latest.IsZero() && f.booted.After(f.latest) { // its kubelet has not written yet
		f.restarted()
	}
	s := Story{
		Files: files, Events: make([]Event, 0, len(f.order)), Lives: f.lives.list(), Orphans: f.orphans.result(),
		Operations: f.operations.list(), Deletions: []Deletion{}, UnrecognizedErrors: f.errors.list(),
	}
	if s.Files == nil {
		s.Files = []File{}
	}
	for _, ev := range f.order {
		s.Events = append(s.Events, ev.finish())
	}
	sorting.Stable(s.Events, func(a, b Event) int { return compareTimes(a.First, b.First) })
	if f.kubelet {
		s.Loop = f.loop.result()
	}
	s.Deletions = f.deletions.list(f)
	for k, n := range f.lives.dropped {
		f.dropped[k] += n
	}
	if len(f.dropped) > 0 {
		s.Dropped = maps.Clone(f.dropped)
	}
	return s
}

// compareTimes orders by time; what has none comes first.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(a.UnixNano(), b.UnixNano())
}
