package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/reach"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
)

// notExaminedName is the file with the nodes that have no report, in the directory of the reports.
const notExaminedName = "not-examined.json"

// notExamined says why there is no report of a node.
type notExamined struct {
	Node   string          `json:"node"`
	Reason string          `json:"reason"`
	Tried  []reach.Attempt `json:"tried"`
}

// missing is the file of those nodes, which "fleet" reads.
type missing struct {
	Schema      string        `json:"schema"`
	NotExamined []notExamined `json:"not_examined"`
}

// A round examines many nodes.
type round struct {
	*app
	f     *nodeFlags
	dir   string
	known *reach.Pods
	names *maskedNodes // nil: names of nodes are not masked
	total int
	disk  chan struct{} // so many reports are read and written at a time: their evidence is in memory

	mu      sync.Mutex
	stored  map[string]bool // files of the directory, by their paths
	done    int
	failed  []notExamined
	broken  error // the directory cannot be written
	stopped context.CancelFunc
}

// examineAll examines the nodes of a cluster, and stores each report when it arrives.
func (a *app) examineAll(f *nodeFlags) error {
	ctx, cancel := a.untilInterrupted(365 * 24 * time.Hour)
	defer cancel()
	f.Binary = f.binaries()
	if a.verbose {
		f.Say = func(text string) { a.note("%s", printable(text)) }
	}
	r := &round{app: a, f: f, dir: absolute(f.output.dir), disk: make(chan struct{}, 2), stopped: cancel}
	if !f.output.toDir() {
		r.dir = absolute("nodeforensics-nodes")
	}
	if err := r.openDir(); err != nil {
		return fmt.Errorf("--output-dir %s: %w", r.dir, err)
	}
	if err := r.maskNames(); err != nil {
		return err
	}
	nodes, err := r.nodeNames(ctx)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return errors.New("no node is selected")
	}
	left := sorting.Delete(slices.Clone(nodes), r.isStored)
	if n := len(nodes) - len(left); n > 0 {
		a.note("%d of %s already in %s: not examined again", n, text.Plural(len(nodes), "node"), r.dir)
	}
	r.total = len(left)
	if len(left) > 0 {
		r.known = f.DaemonSetPods(ctx)
		r.names.learnPods(r.known, f.Namespace)
		r.work(ctx, left)
	}
	return r.finish(ctx, nodes)
}

// openDir makes the directory, and finds what is in it. Both are done by children: it may be on a dead mount.
func (r *round) openDir() error {
	if _, err := r.writeFiles(nil, parcel{Dir: r.dir, Make: true, Replace: true}, nil, time.Time{}); err != nil {
		return err
	}
	content, err := openNamed(r.dir)
	if err != nil {
		return err
	}
	dir, ok := content.(*directory)
	if !ok {
		return errors.Join(errors.New("not a directory"), content.Close())
	}
	files, err := dir.Files()
	r.stored = map[string]bool{}
	for _, f := range files {
		r.stored[f.Name] = true
	}
	return err
}

// nodeNames are the nodes to examine, each once.
func (r *round) nodeNames(ctx context.Context) (names []string, err error) {
	if r.f.list != "" {
		names, err = listedNames(r.f)
		r.names.learn(names)
		return names, err
	}
	nodes, err := r.f.Nodes(ctx, r.f.selector)
	if err != nil {
		return nil, fmt.Errorf("the list of nodes: %w; --nodes FILE gives one", err)
	}
	for i := range nodes {
		names = append(names, nodes[i].Metadata.Name)
	}
	r.names.learn(names)
	for i := range nodes {
		r.names.mask(&nodes[i])
	}
	return names, r.storeJSON("nodes.json", map[string]any{"kind": "NodeList", "items": nodes}) // what they have in common is told from it at the end
}

// storeJSON writes a file beside the reports.
func (r *round) storeJSON(name string, value any) error {
	file, err := newRendering(name, func(w io.Writer) error { return report.WriteJSON(w, value) })
	if err == nil {
		_, err = r.writeFiles(nil, parcel{Dir: r.dir, Replace: true}, []rendering{file}, time.Time{})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.dir, err)
	}
	return nil
}

// listedNames are those of --nodes.
func listedNames(f *nodeFlags) (names []string, err error) {
	in, err := openInput(f.list)
	if err != nil {
		return nil, fmt.Errorf("--nodes: %w", err)
	}
	defer func() { _ = in.Close() }()
	lines := bufio.NewScanner(io.LimitReader(in, 16<<20))
	seen := map[string]bool{}
	for lines.Scan() {
		name := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "node/")
		if name == "" || strings.HasPrefix(name, "#") || seen[name] {
			continue
		}
		if err := f.Check(name); err != nil {
			return nil, usagef("--nodes: %v", err)
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, lines.Err()
}

// file is the name of a file about a node.
func (r *round) file(node, format string) string { return r.names.of(node) + "." + format }

func (r *round) isStored(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored[filepath.Join(r.dir, r.file(node, formatJSON))]
}

// work examines nodes, as many at a time as --parallel says.
func (r *round) work(ctx context.Context, nodes []string) {
	queue := make(chan string)
	var workers sync.WaitGroup
	for range min(r.f.parallel, len(nodes)) {
		workers.Go(func() {
			for node := range queue {
				r.one(ctx, node)
			}
		})
	}
	for _, node := range nodes {
		select {
		case queue <- node:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
}

// one examines a node, once more if that fails, and stores its report.
func (r *round) one(ctx context.Context, node string) {
	var got *fetched
	var err error
	for try := range 2 {
		if try > 0 {
			select { // what is overloaded gets a moment
			case <-time.After(2 * time.Second):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			if got == nil {
				return // not begun: it is listed as such at the end
			}
			break
		}
		got, err = r.attempt(ctx, node)
		if err == nil {
			return
		}
	}
	failed := notExamined{Node: node, Reason: firstLine(err.Error()), Tried: []reach.Attempt{}}
	if got != nil && got.err != nil {
		var whys []string
		for _, t := range got.Tried {
			if t.Why != reach.NotGiven {
				failed.Tried = append(failed.Tried, t)
				whys = append(whys, t.Way+": "+firstLine(t.Why))
			}
		}
		failed.Reason = cmp.Or(strings.Join(whys, "; "), failed.Reason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, failed)
	r.done++
	r.say(node, "not examined: "+failed.Reason)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (r *round) attempt(ctx context.Context, node string) (*fetched, error) {
	limited, cancel := context.WithTimeout(ctx, r.f.wait)
	defer cancel()
	got, err := r.fetch(limited, r.f, node, r.known)
	switch {
	case err != nil:
		r.giveUpOn(err)
		return nil, err
	case got.err != nil:
		return got, got.err
	}
	r.disk <- struct{}{}
	defer func() { <-r.disk }()
	rep, err := r.unpackReport(got.packed, r.names.of(node))
	if err != nil {
		return got, fmt.Errorf("its report cannot be read: %w", err)
	}
	if err := r.f.checkKey(&rep); err != nil {
		return got, err
	}
	if err := r.store(node, rep); err != nil {
		r.giveUpOn(err)
		return got, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored[filepath.Join(r.dir, r.file(node, formatJSON))] = true
	r.done++
	r.say(node, headlineOf(&rep))
	return got, nil
}

// store writes the page and the JSON of a node, both or none.
func (r *round) store(node string, rep report.Report) error {
	var files []rendering
	for _, format := range fileFormats {
		file, err := newRendering(r.file(node, format), func(w io.Writer) error { return render(w, rep, format) })
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err := r.writeFiles(nil, parcel{Dir: r.dir, Replace: true}, files, time.Time{})
	return err
}

// giveUpOn ends the round: what cannot be stored need not be examined.
func (r *round) giveUpOn(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
	r.stopped()
}

// headlineOf is the worst problem of a node in a line.
func headlineOf(r *report.Report) string {
	if len(r.Diagnoses) == 0 {
		return "no problem found"
	}
	line := strings.ToUpper(string(r.Diagnoses[0].Severity)) + " " + r.Diagnoses[0].Title
	if n := len(r.Diagnoses) - 1; n > 0 {
		line += fmt.Sprintf(" (and %d more)", n)
	}
	return line
}

// say prints one line for a node.
func (r *round) say(node, what string) {
	if name := r.names.of(node); name != node {
		node += " (" + name + ")" // which the reports do not tell
	}
	r.note("%s", printable(fmt.Sprintf("[%d/%d] %s: %s", r.done, r.total, node, what)))
}

// finish writes the list of nodes without a report, and says how many there are.
func (r *round) finish(ctx context.Context, nodes []string) error {
	if r.broken != nil {
		return fmt.Errorf("%s: %w", r.dir, r.broken)
	}
	why := map[string]bool{}
	for _, f := range r.failed {
		why[f.Node] = true
	}
	stored := 0
	for _, node := range nodes {
		if r.isStored(node) {
			stored++
		} else if !why[node] {
			r.failed = append(r.failed, notExamined{Node: node, Reason: "interrupted before it was examined", Tried: []reach.Attempt{}})
		}
	}
	sorting.Stable(r.failed, func(a, b notExamined) int { return cmp.Compare(a.Node, b.Node) })
	if err := r.storeJSON(notExaminedName, missing{"nodeforensics.not-examined/v1", r.names.maskFailed(r.failed)}); err != nil {
		return err
	}
	if len(r.failed) > 0 || ctx.Err() != nil {
		r.status.Store(exitFailed)
	}
	r.note("%d of %s examined; reports in %s", stored, text.Plural(len(nodes), "node"), r.dir)
	if stored == 0 {
		for _, f := range r.failed[:min(len(r.failed), maxFailedShown)] {
			r.note("not examined: %s", printable(f.Node+": "+f.Reason))
		}
		return nil
	}
	out := fleetOutput{dir: r.dir, toDir: func() bool { return true }}
	return r.fleet(out, []string{r.dir}, nil, time.Now().Add(usualTimeout))
}

// maxFailedShown is how many nodes without a report are named where there is no summary of reports.
const maxFailedShown = 20
