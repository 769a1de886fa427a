package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

func (a *app) fleetCommand() *cobra.Command {
	var out fleetOutput
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "fleet DIR|FILE…",
		Short: "Summarize the reports of many nodes: causes, the nodes that have them, what these have in common",
		Long: `fleet reads the JSON reports of many nodes and says what they say together:

  - the causes, worst first, each with the nodes that have it and since when
  - what sick nodes have in common and well ones have not (kernel, kubelet,
    runtime, OS image, images of CSI drivers; with a list of the nodes also zone
    and instance type)
  - nodes that were not examined, and why

A cause is joined by what it is: a server, a driver, a limit. It is never joined
by its headline. If a node has several reports, the newest counts.

It reads .json files of directories, also compressed, files that have several
reports, and archives (tar, zip). A file that is no report costs only itself.
- is standard input. It reads kubectl get nodes -o json, too.

It writes nodeforensics-fleet-TIME.html and .json to --output-dir, and prints a
summary. With --output it prints that format, and writes files only if
--output-dir is given, too. The page links to the page of each node that lies
beside its JSON.`,
		Example: `  # Summarize all reports of a directory.
  nodeforensics fleet reports/

  # Compare sick and well nodes also by zone and instance type.
  kubectl get nodes -o json > nodes.json
  nodeforensics fleet reports/ nodes.json --output-dir reports

  # List the nodes of each cause.
  nodeforensics fleet reports/ -o json | jq -r '.causes[] | .title, "  " + .nodes[].node'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			return a.fleet(out, args, nil, time.Now().Add(timeout))
		},
	}
	out.register(cmd)
	return a.bounded(cmd, &timeout, usualTimeout)
}

// fleetFormats are what fleet can print.
var fleetFormats = []string{formatText, formatJSON, formatYAML, formatHTML}

// fleetOutput says where a summary goes.
type fleetOutput struct {
	printFlags
	dir   string
	toDir func() bool // the directory was given
}

func (o *fleetOutput) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	o.printFlags.register(cmd, fleetFormats, "text, and write the files")
	fs.StringVar(&o.dir, "output-dir", ".", "write the files to `DIR`, which is created if it does not exist; with --output, files are written only if this flag is given")
	fs.StringVar(&o.dir, "out", ".", "the same as --output-dir")
	_ = fs.MarkHidden("out")
	_ = cmd.MarkFlagDirname("output-dir")
	o.toDir = func() bool { return fs.Changed("output-dir") || fs.Changed("out") }
}

func (o *fleetOutput) wantsFiles() bool { return o.format == "" || o.toDir() }

// fleet summarizes the reports in files and directories, and nodes that are known to have none.
func (a *app) fleet(out fleetOutput, names []string, missing []fleet.Missing, deadline time.Time) error {
	in := fleetInput{app: a, dir: absolute(out.dir)}
	for _, m := range missing {
		in.reader.NotExamined(m.Node, m.File, m.Reason)
	}
	in.read(names, share(deadline, 3, 4))
	a.working("joining the reports")
	s := in.reader.Summary()
	if len(s.Nodes) == 0 {
		a.complain("no report was read")
	}
	return a.writeFleet(out, s, deadline)
}

// writeFleet has the files written, and prints the text or the format that was asked for.
func (a *app) writeFleet(out fleetOutput, s fleet.Summary, deadline time.Time) error {
	var written []string
	if out.wantsFiles() && len(s.Nodes) > 0 {
		base := "nodeforensics-fleet-" + "unknown-time"
		if s.To != nil {
			base = "nodeforensics-fleet-" + s.To.Format("20060102T150405Z")
		}
		var files []rendering
		for _, format := range fileFormats {
			a.working("writing the %s", strings.ToUpper(format))
			file, err := newRendering(base+"."+format, func(w io.Writer) error { return renderFleet(w, s, format) })
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		var err error
		if written, err = a.writeFiles(a.interrupts(), parcel{Dir: out.dir, Make: true}, files, deadline); err != nil {
			a.complain("--output-dir %s: %v", out.dir, err)
		}
	}
	if out.format == "" || out.format == formatText {
		var b bytes.Buffer
		if err := fleet.Text(&b, s, a.textOptions(written)); err != nil {
			return err
		}
		return writeStdout(a.out.file, b.Bytes(), deadline)
	}
	for _, name := range written {
		a.note("wrote %s", printable(name))
	}
	return streamStdout(a.out.file, func(w io.Writer) error { return renderFleet(w, s, out.format) }, deadline)
}

func renderFleet(w io.Writer, s fleet.Summary, format string) error {
	if format == formatHTML {
		return fleet.HTML(w, s)
	}
	return data(w, format, func(w io.Writer) error { return fleet.JSON(w, s) })
}

// fleetInput reads files into a summary.
type fleetInput struct {
	*app
	reader fleet.Reader
	dir    string // from which pages are linked
	ctx    context.Context
	queue  chan fleetFile
	mu     sync.Mutex
	late   int // files that were not read in time
}

// A fleetFile is one of the files to read.
type fleetFile struct {
	read.File
	named bool
	page  func() string // the path of its page; "" if there is none
}

// isFleetFile says which files of a directory are read. A page beside them is linked.
var isFleetFile = pattern.New(`\.json(\.gz|\.zst|\.xz|\.bz2)?$`)

// isArchive says which files are opened as archives.
var isArchive = pattern.New(`\.(tar|zip|tgz|txz|tbz2|tar\.(gz|zst|xz|bz2))$`)

func (in *fleetInput) read(names []string, deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	in.ctx, in.queue = ctx, make(chan fleetFile)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		readers.Go(func() {
			for f := range in.queue {
				in.file(f)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i, f := range in.inputs(names) {
			in.input(f, names[i])
		}
		close(in.queue)
		readers.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select { // what is being read ends by itself
		case <-done:
		case <-time.After(time.Second):
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.late > 0 || ctx.Err() != nil {
		in.complain("--timeout: %s not read; the summary has what was read", text.Plural(in.late, "file"))
	}
}

// input queues a file of the command line, or the files that are in it.
func (in *fleetInput) input(f read.File, name string) {
	if isArchive.MatchString(name) {
		failed := read.Each(in.ctx, []read.File{f}, func(_ context.Context, member read.File) { in.file(fleetFile{member, false, nil}) })
		for _, result := range failed {
			in.fail(result.Name, result.Err, true)
		}
		return
	}
	content, err := f.Open()
	if err != nil {
		in.fail(name, err, true)
		return
	}
	dir, ok := content.(interface{ Files() ([]read.File, error) })
	if !ok {
		f.Open = func() (read.Content, error) { return content, nil }
		in.queue <- fleetFile{f, true, func() string { return in.pageBeside(name, content) }}
		return
	}
	files, err := dir.Files()
	_ = content.Close()
	if err != nil {
		in.fail(name, err, true)
	}
	have := map[string]bool{}
	for _, member := range files {
		have[member.Name] = true
	}
	for _, member := range files {
		if !isFleetFile.MatchString(member.Name) {
			continue
		}
		path := member.Name
		if way, err := filepath.Rel(absolute(name), path); err == nil {
			member.Name = filepath.Join(name, way) // as the directory was called
		}
		in.queue <- fleetFile{member, false, func() string {
			if page := pageOf(path); have[page] {
				return in.link(page)
			}
			return ""
		}}
	}
}

// pageOf is what the page of a report is called.
func pageOf(name string) string { return isFleetFile.ReplaceAllString(name, "") + ".html" }

// link is the way from the summary's page to a file.
func (in *fleetInput) link(page string) string {
	way, err := filepath.Rel(in.dir, absolute(page))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(way)
}

// pageBeside is the page beside a file of the command line, if that is on a disk of this machine: another one may not answer.
func (in *fleetInput) pageBeside(name string, content read.Content) string {
	if !isFleetFile.MatchString(name) || !isLocalFile(content) || !isRegularFile(pageOf(name)) {
		return ""
	}
	return in.link(pageOf(name))
}

func (in *fleetInput) file(f fleetFile) {
	if in.ctx.Err() != nil {
		in.tooLate(f.Name)
		return
	}
	content, err := f.Open()
	if err != nil {
		in.fail(f.Name, err, f.named)
		return
	}
	defer func() { _ = content.Close() }()
	page := ""
	if f.page != nil {
		page = f.page()
	}
	switch err := in.reader.Read(f.Name, page, untilDone{in.ctx, content}); {
	case errors.Is(err, context.DeadlineExceeded):
		in.mu.Lock()
		in.late++
		in.mu.Unlock()
	case err != nil && f.named:
		in.complainOf(f.Name, err)
	}
}

func (in *fleetInput) tooLate(name string) {
	in.mu.Lock()
	in.late++
	in.mu.Unlock()
	in.reader.NotExamined("", name, "not read: timed out")
}

// fail is about a file that cannot be opened.
func (in *fleetInput) fail(name string, err error, named bool) {
	in.reader.NotExamined("", name, cmp.Or(err.Error(), "cannot be opened"))
	if named {
		in.complainOf(name, err)
	}
}

// complainOf says what is wrong with a file of the command line.
func (in *fleetInput) complainOf(name string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.complain("%s: %v", name, err)
}

// untilDone ends with its context.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
