package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A producer reads one source and hands out its lines in chunks, in order, to be scanned at the same time.
type producer struct {
	r      *reader
	src    Source
	chunks chan<- *chunk

	parser      *lineParser
	matcher     *matcher
	compression string
	changed     string
	maxRecords  int64 // of a journal, whose records have no numbers; 0 for lines
	skipped     int64
	// yearFound and zoneFound say that messages have told them; others, that those were in other logs.
	yearFound, zoneFound, others bool
	// latest and zone are what messages of the log tell, saved is when it was saved at the latest.
	latest, saved time.Time
	zone          *time.Location
	export        bool // of a journal
}

// run reads to the end. It may be stuck in a read for ever; nobody waits for it then.
func (p *producer) run(ctx context.Context) error {
	in, err := p.src.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	p.parser = &lineParser{latest: p.r.opt.Now, zone: p.r.opt.Zone, boot: p.r.opt.Boot, origin: p.src.Origin, unit: p.src.Unit}
	if p.parser.origin == "mixed" || p.parser.origin == "unknown" {
		p.parser.origin = ""
	}
	if m, ok := in.(modTimer); ok && !m.ModTime().IsZero() {
		p.parser.latest = m.ModTime()
	}
	if l, ok := in.(limiter); ok {
		p.maxRecords = l.MaxRecords()
	}
	counted := &counter{in: in}
	if s, ok := in.(seeker); ok && !p.r.opt.Since.IsZero() {
		p.skipped = p.skip(s)
	}
	text, closeText, err := p.decompress(counted)
	if err == nil {
		defer closeText()
		if p.src.Copy != nil {
			if out := p.src.Copy(); out != nil {
				defer func() { _ = out.Close() }()
				text = io.TeeReader(text, out)
			}
		}
		err = p.split(ctx, text)
	}
	if c, ok := in.(changer); ok && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
		p.changed = c.Changed(p.skipped + counted.n)
	}
	return err
}

type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
	return n, err
}

// decompress tells by the first bytes whether the log is compressed.
func (p *producer) decompress(in io.Reader) (text io.Reader, done func(), err error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	unpacked, err := compressed.Open(buffered)
	switch {
	case err != nil:
		return nil, nil, err
	case unpacked == nil:
		head, _ := buffered.Peek(20 << 10)
		p.export = isJournalExport(head)
		return journalLines(buffered), func() {}, nil
	}
	p.compression = unpacked.Format
	if t := unpacked.Written; !t.IsZero() && t.Before(p.parser.latest) { // of what was compressed
		p.parser.latest = t
	}
	return journalLines(bufio.NewReaderSize(unpacked, 64<<10)), func() { _ = unpacked.Close() }, nil
}

// split reads the text in chunks of whole lines.
func (p *producer) split(ctx context.Context, in io.Reader) error {
	var carry []byte
	for {
		buf, err := p.r.buffer(ctx)
		if err != nil {
			return err
		}
		buf, err = fill(append(buf, carry...), in)
		if p.matcher == nil {
			if p.parser.origin == "" {
				p.parser.origin = writtenBy(buf)
			}
			p.matcher = p.r.matcher(p.parser.origin, buf)
			p.parser.crashed = crashedOther(buf) || crashedShown(buf)
			p.parser.look(buf, err != nil)
			p.settle(buf)
		}
		c := &chunk{text: buf, parser: p.parser, matcher: p.matcher, done: make(chan struct{}), unnumbered: p.skipped > 0 || p.maxRecords > 0}
		carry = carry[:0]
		if err == nil {
			cut := p.boundary(buf)
			c.text, carry = buf[:cut], append(carry, buf[cut:]...)
		}
		c.bytes = int64(len(c.text))
		if err == nil && buf[len(c.text)-1] != '\n' { // one line fills it all
			c.cut = 1
			var lost int64
			lost, carry, err = discard(in, carry)
			c.bytes += lost
		}
		if err := p.hand(ctx, c); err != nil {
			return err
		}
		if err != nil && len(carry) == 0 {
			return unlessEOF(err)
		}
	}
}

// settle finds the year and the zone in the beginning of the log, or else in other logs.
func (p *producer) settle(text []byte) {
	p.saved = p.parser.latest
	if p.latest, p.zone = p.parser.mentioned(text); !p.latest.IsZero() {
		p.zoneFound = p.parser.inZone(p.latest, p.zone)
		p.yearFound = p.parser.notAfter(p.latest)
		return
	}
	p.fromOthers()
}

// fromOthers takes what other logs tell.
func (p *producer) fromOthers() {
	if d := p.src.dating; d != nil {
		p.zoneFound = p.parser.inZone(d.near, d.zone)
		p.yearFound = p.parser.notAfter(d.at)
		p.others = p.yearFound || p.zoneFound
	}
}

// writtenBy tells by its source files, and by the calls of a dump, who wrote a log whose lines name no program: the controller manager
// or a runtime if none is the kubelet's, since both may be one program; "" if it is not seen.
func writtenBy(text []byte) string {
	if bytes.Contains(text, []byte(" kubelet")) || bytes.Contains(text, []byte("k8s.io/kubernetes/")) {
		return ""
	}
	for _, r := range []struct{ call, program string }{
		{"github.com/docker/docker/daemon.", "dockerd"},
		{"github.com/moby/moby/v2/daemon.", "dockerd"},
		{"github.com/cri-o/cri-o/server.", "crio"},
		{"github.com/Mirantis/cri-dockerd/", "cri-dockerd"},
		{"github.com/containerd/containerd/", "containerd"},
		{"github.com/containerd/cri/", "containerd"},
	} {
		if bytes.Contains(text, []byte(r.call)) {
			return r.program
		}
	}
	for _, file := range []string{" controllermanager.go:", " gc_controller.go:", " garbagecollector.go:", " node_lifecycle_controller.go:"} {
		if bytes.Contains(text, []byte(file)) {
			return "kube-controller-manager"
		}
	}
	return ""
}

// crashedOther says whether all that crashed in a log are programs that are no kubelet, by their calls. Those of the kubelet are in
// k8s.io/kubernetes; the libraries of others of k8s.io alone do not tell.
func crashedOther(text []byte) bool {
	other := false
	for {
		i := bytes.Index(text, []byte(" [running]:"))
		if i < 0 {
			return other
		}
		text = text[i:]
		stack := text[:min(len(text), maxCrash)]
		stack, _, _ = bytes.Cut(stack, []byte("\ngoroutine "))
		switch {
		case bytes.Contains(stack, []byte("k8s.io/kubernetes/")):
			if bytes.Contains(stack, []byte("kubelet")) || !otherComponent.Match(stack) {
				return false
			}
			other = true
		case bytes.Contains(stack, []byte("k8s.io/")) || !importedCall.Match(stack):
			return false
		default:
			other = true
		}
		text = text[len(" [running]:"):]
	}
}

// maxCrash bounds the stack of a goroutine.
const maxCrash = 16 << 10

var (
	// otherComponent are packages that are in other programs of Kubernetes only.
	otherComponent = pattern.New(`k8s\.io/kubernetes/(cmd/kube-|pkg/(proxy|scheduler|controlplane|kubeapiserver)/)`)
	// importedCall is a call of a package that is not of Go's own.
	importedCall = pattern.New(`\s(main|[a-z0-9-]+(\.[a-z0-9-]+)+/[^\s()]*)\.[\w(]`)
)

// crashedShown says whether what crashed in a text is a container of which somebody shows the log, or a program of which the stack begins at
// its main and is none that holds a kubelet.
func crashedShown(text []byte) bool {
	at := bytes.Index(text, []byte("\npanic: "))
	if at < 0 {
		at = bytes.Index(text, []byte("\nfatal error: "))
	}
	if at < 0 {
		if !bytes.HasPrefix(text, []byte("panic: ")) && !bytes.HasPrefix(text, []byte("fatal error: ")) {
			return false
		}
		at = 0
	}
	if showsLogs(text[:at]) {
		return true
	}
	stack := text[at:]
	if !bytes.Contains(stack, []byte("\nmain.main()")) && !bytes.Contains(stack, []byte("\nmain.main(...)")) {
		return false
	}
	for _, part := range []string{"kubelet", "k8s.io/kubernetes/", "k3s", "rke2", "k0s", "kubelite"} {
		if bytes.Contains(stack, []byte(part)) {
			return false
		}
	}
	return true
}

// showsLogs says whether the last command of a text shows what a container has written.
func showsLogs(text []byte) bool {
	for len(text) > 0 {
		at := bytes.LastIndexByte(text, '\n')
		line := text[at+1:]
		for _, client := range []string{"kubectl ", "crictl "} {
			if prompt, args, ok := bytes.Cut(line, []byte(client)); ok && isPromptOf(prompt) {
				return bytes.Contains(args, []byte("logs "))
			}
		}
		if bytes.HasPrefix(line, []byte("$ ")) || bytes.HasPrefix(line, []byte("# ")) {
			return false
		}
		text = text[:max(at, 0)]
	}
	return false
}

// isPromptOf says whether a command may stand behind the beginning of a line. A message of klog, which has the name of a source file, quotes
// what pods make up.
func isPromptOf(begin []byte) bool {
	begin = bytes.TrimSpace(begin)
	return len(begin) == 0 || bytes.IndexByte([]byte("$#>"), begin[len(begin)-1]) >= 0 && !bytes.Contains(begin, []byte(".go:"))
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// buffer waits for one that is free.
func (r *reader) buffer(ctx context.Context) ([]byte, error) {
	select {
	case buf := <-r.free:
		if buf == nil {
			buf = make([]byte, 0, chunkSize)
		}
		return buf[:0], nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill reads until the buffer is full or the text ends.
func fill(buf []byte, in io.Reader) ([]byte, error) {
	for empty := 0; len(buf) < cap(buf); {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
		if n > 0 {
			empty = 0
		} else if empty++; empty > 100 {
			return buf, io.ErrNoProgress
		}
	}
	return buf, nil
}

// discard reads to the end of the line, and returns how much that was and what it read of the next one.
func discard(in io.Reader, next []byte) (lost int64, rest []byte, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return lost + int64(i) + 1, append(next, buf[i+1:n]...), nil
		}
		if lost += int64(n); err != nil {
			return lost, next, err
		}
	}
}

// hand gives a chunk to those who scan, and in order to the one who folds.
func (p *producer) hand(ctx context.Context, c *chunk) error {
	select {
	case p.r.work <- c:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case p.chunks <- c:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// boundary is where a full buffer is cut: before a line that begins a message, so that no message is torn, and at the
// last line end where there is no such line near. It is the whole where no line ends.
func (p *producer) boundary(buf []byte) int {
	last := bytes.LastIndexByte(buf, '\n') + 1
	if last == 0 {
		return len(buf)
	}
	c := chunk{text: buf[:last], parser: p.parser}
	start := c.lineStart(last - 1)
	for n := 0; n < maxJoined && start > 0; n++ {
		before := c.lineStart(start - 1)
		line, above := c.peekAt(start), c.peekAt(before)
		if !above.shape.partial && !p.parser.follows(&line) {
			return start
		}
		start = before
	}
	return last
}

const (
	// skipAbove is the size above which a log is not read from its beginning if that is too old.
	skipAbove = 32 << 20
	// skipMargin is read before the place where the window begins, for lines that are out of order.
	skipMargin = 1 << 20
)

// skip goes to the place in a large log where the window begins, found by halving, and returns how much is left out.
func (p *producer) skip(in seeker) int64 {
	low, high := int64(0), in.Size()
	magic := make([]byte, 10)
	if _, err := in.ReadAt(magic, 0); high < skipAbove || err != nil || isCompressed(magic) {
		return 0
	}
	buf := make([]byte, 64<<10)
	for high-low > skipMargin {
		middle := low + (high-low)/2
		n, err := in.ReadAt(buf, middle)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0
		}
		t := p.firstTime(buf[:n])
		if t.IsZero() {
			return 0
		}
		if t.Before(p.r.opt.Since) {
			low = middle
		} else {
			high = middle
		}
	}
	if low -= skipMargin; low < in.Size()/4 { // numbered lines are worth more than that
		return 0
	}
	n, err := in.ReadAt(buf, low)
	newline := bytes.IndexByte(buf[:n], '\n')
	if err != nil || newline < 0 {
		return 0
	}
	low += int64(newline) + 1
	if _, err := in.Seek(low, io.SeekStart); err != nil {
		return 0
	}
	return low
}

// firstTime is the time of the first whole line that has one, in text that begins anywhere.
func (p *producer) firstTime(text []byte) time.Time {
	c := chunk{text: text, parser: p.parser}
	for at := c.lineEnd(0); at < len(text); at = c.lineEnd(at) {
		e, _ := p.parser.parse(string(text[at:c.lineEnd(at)]))
		if !e.Time.IsZero() {
			return e.Time
		}
	}
	return time.Time{}
}
