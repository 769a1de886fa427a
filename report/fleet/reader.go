package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Reader reads reports, and keeps of each what a [Summary] needs. The zero value is ready for use, by several goroutines at a time.
type Reader struct {
	mu      sync.Mutex
	reports []entry
	at      map[string]int // in reports, by the name of the node
	api     map[string]apiNode
	missing []Missing
	dropped int // of missing
	older   map[string]int
	strings map[string]string
	kept    int // bytes, about
}

// An entry is a report that counts.
type entry struct {
	digest
	file, page string
}

// What is kept at most.
const (
	maxMissing = 20_000   // files and nodes without a report that are listed
	maxKept    = 64 << 20 // bytes of reports and nodes: some 30,000 reports of sick nodes
	perReport  = 600      // bytes of a report without its texts
)

var errFull = fmt.Errorf("too much for one summary: more than %d MB of root causes and names", maxKept>>20)

// weight is about how many bytes a report takes.
func (d *digest) weight() int {
	n := perReport + len(d.name) + len(d.alias) + len(d.cut)
	for name := range d.facts { // whose values are shared
		n += len(name) + 64
	}
	for i := range d.diagnoses {
		g := &d.diagnoses[i]
		n += perReport/2 + len(g.title) + len(g.Check) + len(g.Trouble) + len(g.ID) + len(g.Name) + len(g.fix)
	}
	return n
}

// errSummary says that a file is a summary of this package.
var errSummary = errors.New("a summary of many reports, not a report")

// Read reads a file: a report, several of them one after the other, the nodes of the API server (kubectl get nodes -o json), or the list of
// nodes that could not be examined; compressed or not. Page is the path of the report as HTML, "" if there is none. The error says why the file, or the rest of it, was not used; the
// summary has it, too, unless the file is such a summary itself.
func (r *Reader) Read(file, page string, in io.Reader) error {
	used, err := r.read(file, page, in)
	if err != nil && !errors.Is(err, errSummary) {
		if used > 0 {
			err = fmt.Errorf("after %s: %w", text.Plural(used, "document"), err)
		}
		r.NotExamined("", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// NotExamined adds a node or a file that could not be examined, and why; one of both may be empty.
func (r *Reader) NotExamined(node, file, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missing) == maxMissing {
		r.dropped++
		return
	}
	r.missing = append(r.missing, Missing{Node: upTo(node, maxName), File: file, Reason: upTo(reason, maxReason)})
}

// upTo is at most the first bytes of a text, in memory of its own.
func upTo(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s)
	}
	return cutRune([]byte(s[:n]))
}

// read returns how many documents were used.
func (r *Reader) read(file, page string, in io.Reader) (used int, err error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	packed, err := compressed.Open(buffered)
	if err != nil {
		return 0, err
	}
	s := newScanner(buffered)
	if packed != nil {
		defer func() { _ = packed.Close() }()
		s = newScanner(packed)
	}
	var last *document // is added when it is known whether it is the only one: a page beside the file is that of one report
	defer func() {
		if last != nil {
			if full := r.add(*last, file, page); err == nil {
				err = full
			}
		}
	}()
	for {
		more, err := s.next()
		if err == nil && !more && used == 0 {
			err = errors.New("an empty file")
		}
		if err != nil || !more {
			return used, err
		}
		d, err := s.readDocument()
		if err != nil {
			return used, err
		}
		if used++; last != nil {
			page = ""
			if err := r.add(*last, file, page); err != nil {
				last = nil
				return used - 1, err
			}
		}
		last = &d
	}
}

// add takes over what is wanted of a document.
func (r *Reader) add(d document, file, page string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at, r.api, r.older, r.strings = map[string]int{}, map[string]apiNode{}, map[string]int{}, map[string]string{}
	}
	for _, n := range d.nodes {
		if r.kept += perReport + len(n.name) + len(n.notReady); r.kept > maxKept {
			return errFull
		}
		r.share(n.facts)
		r.api[n.name] = n
	}
	if d.schema == missingSchema {
		r.missing = append(r.missing, d.missing[:min(len(d.missing), maxMissing-len(r.missing))]...)
	}
	if !strings.HasPrefix(d.schema, reportPrefix) {
		return nil
	}
	if r.kept += d.report.weight(); r.kept > maxKept {
		return errFull
	}
	r.share(d.report.facts)
	e := entry{d.report, file, page}
	i, again := r.at[e.name]
	if !again || e.name == "" || strings.Contains(e.name, placeholder) { // two nodes may have one placeholder by chance
		r.at[e.name] = len(r.reports)
		r.reports = append(r.reports, e)
		return nil
	}
	r.older[e.name]++
	if known := r.reports[i]; before(known.collected, e.collected) || !before(e.collected, known.collected) && known.file < e.file {
		r.kept -= known.weight()
		r.reports[i] = e
	}
	return nil
}

// before says whether a is earlier than b; without a time, a report is older than all others.
func before(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	return a.Before(*b)
}

// share keeps equal texts of all nodes only once.
func (r *Reader) share(facts map[string]string) {
	for name, value := range facts {
		known, ok := r.strings[value]
		if !ok {
			r.strings[value] = value
			r.kept += 2*len(value) + 64
			known = value
		}
		facts[name] = known
	}
}
