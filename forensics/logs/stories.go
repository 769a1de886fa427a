package logs

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/nodeforensics/nodeforensics/internal/nodename"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Reader reads logs that were saved, of one node or of several, and tells one story of each node, in the order of time. The
// zero value will do.
//
// A node is known by the host in the prefix of a line (syslog, journal), by [Source.Node], by what a kubelet calls itself, by
// the path of the log, and as an unnamed one where two kubelets wrote at the same time. What names none belongs to the only
// node that there is.
type Reader struct {
	Options Options

	logs    []*addedLog
	room    int   // stashSize, less in tests
	pages   pages // of what is stashed
	stashed int   // how much of them was filled when the logs were added
	packed  *flate.Writer
	reader  *reader
	teller  teller
	names   nameCache
}

const (
	// stashSize bounds what is kept of logs that are best read once, in bytes, compressed to a tenth.
	stashSize = 40 << 20
	// lastWords is how long what was kept may be told when the time is up.
	lastWords = 3 * time.Second
	// glanceSize is how much of a log is looked at beforehand, in bytes; behind so many lines, only those that may name a node.
	glanceSize, glanceLines = 64 << 10, 100
)

// An addedLog is one that is to be told.
type addedLog struct {
	src Source
	identities
	dates   dates
	state   logState
	file    File  // once it was read
	kept    *kept // where it is stashed
	stashed int   // how much is kept of it, or would be

	node  int         // of lines that name none; -1 is not known
	byPID map[int]int // of lines of kubelets that name none
}

type logState uint8

const (
	logToRead logState = iota
	logStashed
	logDone
)

// Add takes a log. One that can be opened once, or at much expense, is read now.
func (r *Reader) Add(ctx context.Context, src Source) {
	if r.reader == nil {
		r.room = cmp.Or(r.room, stashSize)
		r.reader = newReader(r.Options, nil, nil)
		r.teller.nodes, r.names = map[int]*nodeStory{}, nameCache{}
	}
	l := &addedLog{src: src}
	r.logs = append(r.logs, l)
	if src.Once || src.Far {
		r.stash(ctx, l)
	} else {
		r.glance(ctx, l)
	}
}

// stash reads a log and keeps what it says. If there is no room, it is read again later; one that cannot is told at once,
// after all that was kept.
func (r *Reader) stash(ctx context.Context, l *addedLog) {
	l.state = logStashed
	k := r.newKept()
	r.reader.tell = func(_ string, f *found) {
		l.note(f.entry, f.known, r.names)
		l.dates.note(f.entry, &f.shape)
	}
	r.reader.keep, r.reader.kept = k, func() {
		switch {
		case r.pages.size <= r.room || k.full:
		case l.src.Once:
			k.end()
			l.kept = k.kept
			r.reader.keep, r.reader.kept, r.reader.tell = nil, nil, r.teller.tell
			r.tellStashed(ctx)
			r.teller.log = l
		default:
			r.pages.drop(k.from)
			k.full, l.state = true, logToRead
		}
	}
	l.file = r.reader.file(ctx, l.src)
	if r.reader.keep, r.reader.kept = nil, nil; l.state != logDone {
		k.end()
		l.stashed = k.written
		if k.of != nil {
			l.dates.noteSettled(k.of)
			l.dates.span(l.file)
		}
	}
	if l.state == logStashed {
		l.kept = k.kept
	}
}

// newKept writes a log behind those that are kept.
func (r *Reader) newKept() *keptWriter {
	k := &keptWriter{kept: &kept{pages: &r.pages, from: r.pages.size, err: context.Canceled}}
	if r.packed == nil {
		r.packed, _ = flate.NewWriter(k, flate.BestSpeed) // the level is known
	} else {
		r.packed.Reset(k)
	}
	k.packed = r.packed
	return k
}

// stashAgain reads those of the first logs again, in one go, that are far and for which there was no room, and returns how many logs it
// has seen to. They come in the order of time, which may be any in their archive: to open each at its turn would mean to read all that
// stands before it each time.
func (r *Reader) stashAgain(ctx context.Context, logs []*addedLog) int {
	r.pages.drop(r.stashed) // those before were told
	n, size := 0, 0
	batch := map[*addedLog]bool{}
	for ; n < len(logs); n++ {
		l := logs[n]
		if l.state == logStashed {
			continue
		}
		if size += l.stashed; !l.src.Far || size > r.room {
			break
		}
		batch[l] = true
	}
	for _, l := range r.logs { // in the order of the archive
		if !batch[l] {
			continue
		}
		k := r.newKept()
		r.reader.keep, r.reader.tell = k, func(string, *found) {}
		l.file = r.reader.file(ctx, l.src)
		k.end()
		l.kept, l.state = k.kept, logStashed
	}
	r.reader.keep = nil
	r.reader.tell = r.teller.tell
	return n
}

// tellStashed tells what was kept, in the order of time.
func (r *Reader) tellStashed(ctx context.Context) {
	var logs []*addedLog
	for _, l := range r.logs {
		if l.state == logStashed {
			logs = append(logs, l)
		}
	}
	inOrder(logs)
	r.teller.settle(logs)
	r.date(logs)
	inOrder(logs)
	r.tellKept(ctx, logs)
	r.pages.drop(0)
}

// tellKept tells logs that were kept. Each begins to be unpacked while the one before it is told.
func (r *Reader) tellKept(ctx context.Context, logs []*addedLog) {
	begin := func(l *addedLog) *reading {
		src := l.src
		src.kept = l.kept
		return r.reader.begin(ctx, src)
	}
	var next *reading
	for i, l := range logs {
		now := next
		if now == nil {
			now = begin(l)
		}
		if i+1 < len(logs) {
			next = begin(logs[i+1])
		}
		r.teller.log, l.state = l, logDone
		before := l.file
		l.file = r.reader.rest(now)
		if l.kept.of == nil {
			l.file.Status, l.file.Detail = before.Status, before.Detail
		}
		l.kept = nil
	}
}

// inOrder puts the oldest log first, if all have times.
func inOrder(logs []*addedLog) {
	if !slices.ContainsFunc(logs, func(l *addedLog) bool { return l.first.IsZero() }) {
		sorting.Stable(logs, func(a, b *addedLog) int { return a.first.Compare(b.first) })
	}
}

// glance looks at the beginning of a log, for its first time and the nodes that it names.
func (r *Reader) glance(ctx context.Context, l *addedLog) {
	in, err := l.src.Open(ctx)
	if err != nil { // it may have taken its time to fail
		l.src.Open = func(context.Context) (io.ReadCloser, error) { return nil, err }
		return
	}
	defer func() { _ = in.Close() }()
	opt := r.reader.opt
	p := producer{parser: &lineParser{latest: opt.Now, zone: opt.Zone, boot: opt.Boot, origin: l.src.Origin, unit: l.src.Unit}}
	if m, ok := in.(modTimer); ok && !m.ModTime().IsZero() {
		p.parser.latest = m.ModTime()
	}
	text, done, err := p.decompress(in)
	if err != nil {
		return
	}
	defer done()
	buf, err := fill(make([]byte, 0, glanceSize), text)
	if p.parser.origin == "" {
		p.parser.origin = writtenBy(buf)
	}
	whole := err != nil
	p.parser.look(buf, whole)
	p.settle(buf)
	l.dates.noteSettled(&p)
	if !whole { // the last line is cut
		buf = buf[:bytes.LastIndexByte(buf, '\n')+1]
	}
	lines := 0
	for line := range bytes.Lines(buf) {
		if lines++; lines > glanceLines && !mayNameNode(unsafe.String(unsafe.SliceData(line), len(line))) {
			continue
		}
		e, s := p.parser.parse(string(line))
		_, known := classify(&e)
		l.note(&e, known, r.names)
		l.dates.note(&e, &s)
	}
	switch {
	case !l.dates.yearKnown:
	case !whole:
		l.dates.noteTail(&p, tail(&p, in))
	case lines > glanceLines:
		l.dates.noteTail(&p, buf[max(len(buf)-tailSize, 0):])
	}
}

// Stories tells what was added, one story of each node. The nodes are those that other files name. What names no node has a
// story without a name, if there are several nodes.
func (r *Reader) Stories(ctx context.Context, nodes ...string) []Story {
	if r.reader == nil {
		return nil
	}
	defer r.reader.close()
	logs := sorting.Delete(slices.Clone(r.logs), func(l *addedLog) bool { return l.state == logDone })
	inOrder(logs)
	for _, name := range nodes {
		r.teller.names.find(name)
	}
	r.teller.settle(logs)
	r.date(logs)
	inOrder(logs)
	r.reader.tell = r.teller.tell
	r.stashed = r.pages.size
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what was kept is told when the time is up, too
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })()
	ready := 0 // as many logs were seen to
	for i := 0; i < len(logs); i++ {
		l := logs[i]
		if i >= ready && l.state == logToRead {
			ready = i + r.stashAgain(ctx, logs[i:])
		}
		if l.state == logStashed {
			last := i
			for last+1 < len(logs) && logs[last+1].state == logStashed {
				last++
			}
			r.tellKept(whole, logs[i:last+1])
			i = last
			continue
		}
		r.teller.log, l.state = l, logDone
		l.file = r.reader.file(ctx, l.src)
	}
	return r.teller.stories(r.logs)
}

// A teller tells the stories of several nodes at the same time.
type teller struct {
	names nodeNames
	only  int                // the only node; -1 if there are several or none
	nodes map[int]*nodeStory // by the node, -1 for lines that name none
	log   *addedLog          // that is told now
}

// A nodeStory is the story of one node so far.
type nodeStory struct {
	*folder
	logs        []*addedLog
	first, last time.Time
}

// settle finds the nodes, and to which of them lines belong that name none.
func (t *teller) settle(logs []*addedLog) {
	for _, l := range logs {
		for _, names := range l.names.nodes {
			at := t.names.find(names[0])
			for _, other := range names[1:] {
				t.names.add(at, other)
			}
		}
	}
	for _, l := range logs {
		l.node = -1
		switch {
		case l.src.Node != "":
			l.node = t.names.find(l.src.Node)
		case l.differ():
			l.byPID = map[int]int{}
			for _, k := range l.kubelets {
				name := k.name
				if name == "" {
					name = fmt.Sprintf("unknown (kubelet %d)", k.pid)
				}
				l.byPID[k.pid] = t.names.named(name)
			}
		case len(l.own) > 0:
			l.node = t.names.find(l.own[0])
			for _, other := range l.own[1:] {
				if t.names.find(other) != l.node {
					l.node = -1
				}
			}
		case len(l.names.nodes) == 1:
			l.node = t.names.find(l.names.nodes[0][0])
		}
	}
	for _, l := range logs {
		if l.node < 0 && l.byPID == nil && len(l.names.nodes) == 0 {
			l.node = t.names.inPath(l.src.Path)
		}
	}
	t.unnamed(logs)
	if t.only = -1; len(t.names.nodes) == 1 {
		t.only = 0
	}
}

// unnamed parts logs of kubelets that name no node, by their times.
func (t *teller) unnamed(logs []*addedLog) {
	var of []*addedLog
	for _, l := range logs {
		if l.node < 0 && l.byPID == nil && len(l.names.nodes) == 0 && len(l.kubelets) > 0 {
			of = append(of, l)
		}
	}
	several := false
	for i, l := range of {
		for _, other := range of[:i] {
			for _, k := range l.kubelets {
				several = several || slices.ContainsFunc(other.kubelets, k.overlap)
			}
		}
	}
	if !several {
		return
	}
	names := map[int]string{} // by the process
	for _, l := range of {
		pid := l.kubelets[len(l.kubelets)-1].pid
		if names[pid] == "" {
			names[pid] = "unknown (" + l.src.Path + ")"
		}
		l.node = t.names.named(names[pid])
	}
}

// tell adds a line to the story of its node.
func (t *teller) tell(path string, f *found) {
	e := f.entry
	at := t.names.of(e)
	if at < 0 {
		at = t.log.node
		if node, ok := t.log.byPID[e.PID]; ok && kubeletOrigin(e.Origin) {
			at = node
		}
	}
	if at < 0 {
		at = t.only
	}
	s := t.nodes[at]
	if s == nil {
		s = &nodeStory{folder: newFolder()}
		t.nodes[at] = s
	}
	if n := len(s.logs); n == 0 || s.logs[n-1] != t.log {
		s.logs = append(s.logs, t.log)
	}
	if !e.Time.IsZero() {
		if s.first.IsZero() || e.Time.Before(s.first) {
			s.first = e.Time
		}
		if e.Time.After(s.last) {
			s.last = e.Time
		}
	}
	if f.known {
		s.add(path, f.occurrence)
	} else {
		s.seen(path, e)
	}
}

// stories are those of the nodes in their order, and the one without a name last. A log of which nobody has a line is with
// those that name no node, or else with the first node.
func (t *teller) stories(logs []*addedLog) []Story {
	if s := t.nodes[-1]; s != nil && len(t.nodes) > 1 && len(s.order)+len(s.lives.all) == 0 { // lines without meaning
		delete(t.nodes, -1)
	}
	var stories []Story
	listed := map[*addedLog]bool{}
	for at := range len(t.names.nodes) + 1 {
		if at == len(t.names.nodes) {
			at = -1
		}
		s := t.nodes[at]
		if s == nil {
			continue
		}
		var files []File
		for _, l := range s.logs {
			files, listed[l] = append(files, l.file), true
		}
		story := s.story(files)
		if !s.first.IsZero() {
			first, last := s.first.UTC(), s.last.UTC()
			story.First, story.Last = &first, &last
		}
		if at >= 0 {
			story.Names = t.names.nodes[at]
			story.Node = story.Names[0]
		}
		stories = append(stories, story)
	}
	if len(stories) == 0 {
		stories = []Story{newFolder().story(nil)}
	}
	rest := &stories[0]
	if last := &stories[len(stories)-1]; last.Node == "" {
		rest = last
	}
	for _, l := range logs {
		if !listed[l] {
			rest.Files = append(rest.Files, l.file)
		}
	}
	if len(stories) == 1 {
		rest.spanFiles()
	}
	return stories
}

// named adds a node under a name that needs not look like one.
func (n *nodeNames) named(name string) int {
	if nodename.Is(name) {
		return n.find(name)
	}
	if at, ok := n.known[name]; ok {
		return at
	}
	if len(n.nodes) >= maxNodes {
		return -1
	}
	if n.known == nil {
		n.known = map[string]int{}
	}
	n.known[name] = len(n.nodes)
	n.nodes = append(n.nodes, []string{name})
	return n.known[name]
}

// inPath is the node whose name is part of a path, -1 if none is.
func (n *nodeNames) inPath(path string) int {
	parts := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == ':' || c == '\\' })
	return slices.IndexFunc(n.nodes, func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return nodename.InFile(part, name) })
		})
	})
}
