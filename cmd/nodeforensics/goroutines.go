package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/report"
)

// goroutineFlags are what the command line of goroutines says.
type goroutineFlags struct {
	printFlags
	diff, stacks           bool
	html, pprof, mountinfo string
	process                string // a number or a name
	timeout                time.Duration
}

func (a *app) goroutinesCommand() *cobra.Command {
	var f goroutineFlags
	cmd := &cobra.Command{
		Use:   "goroutines [FILE…]",
		Short: "Explain goroutine dumps: findings first, then groups of goroutines, blocked ones first",
		Long: `goroutines reads goroutine dumps, says what blocks the kubelet, and groups the
goroutines by stack. - is standard input.

With --pid, it reads the goroutines of a running Go program from its memory. It
does not stop, trace or signal the program, which may be stripped. It needs root
or the same user. Arguments of calls are not read.

It reads every form: debug=2, debug=1, debug=0, SIGABRT, SIGQUIT and panic. The
dump may be part of a journal or of a container's log, compressed, and in
archives or directories. Dumps of other programs
(containerd, CRI-O, Docker, CSI drivers) are grouped, too; findings are about
kubelets only.

A dump has the lengths of paths, but no paths. With --mountinfo, the mounts of
such a length are named. A dump may have any size. Of a dump with more than
5,000 goroutines, examples of each stack and state are kept, and the others are
counted.`,
		Example: `  # Read a dump from the kubelet.
  curl -sk https://127.0.0.1:10250/debug/pprof/goroutine?debug=2 … | nodeforensics goroutines -

  # Find a dump in the journal, and name mounts.
  journalctl -u kubelet | nodeforensics goroutines - --mountinfo /proc/1/mountinfo

  # Read the goroutines of a running program from its memory.
  nodeforensics goroutines --pid kubelet
  nodeforensics goroutines --pid 4711 --output debug2 > dump.txt

  # Compare two dumps of one process.
  nodeforensics goroutines --diff before.txt after.txt

  # Open the goroutines in pprof.
  nodeforensics goroutines dump.txt --pprof out.pb.gz && go tool pprof -http : out.pb.gz`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			sources, err := a.dumpSources(&f, args)
			switch {
			case err != nil:
				return err
			case f.diff && len(sources) != 2:
				return usagef("--diff: want two files, the earlier one first, or one file and --pid")
			case f.format == formatDump:
				return a.printDumps(sources, time.Now().Add(f.timeout))
			}
			return a.goroutines(f, sources)
		},
	}
	fs := cmd.Flags()
	f.register(cmd, goroutineFormats, formatText)
	f.registerJSON(cmd)
	fs.StringVar(&f.html, "html", "", "write an HTML report to `FILE`")
	fs.StringVar(&f.pprof, "pprof", "", "write the goroutines to `FILE` as a profile for go tool pprof")
	fs.StringVar(&f.process, "pid", "", "read the goroutines of a running Go program from its memory: `PID`, or its name if only one process has it")
	fs.BoolVar(&f.diff, "diff", false, "compare two dumps of one process: which groups grew and which shrank; findings are about the second dump")
	fs.BoolVar(&f.stacks, "stacks", false, "print the stack of every group; by default, only of blocked groups")
	fs.StringVar(&f.mountinfo, "mountinfo", "", "`FILE` with the mount table of the node (/proc/PID/mountinfo), to name mounts by the lengths of their paths")
	return a.bounded(cmd, &f.timeout, usualTimeout)
}

// dumpSources are the files and, last, the process.
func (a *app) dumpSources(f *goroutineFlags, names []string) ([]read.File, error) {
	list := a.inputs(names)
	if f.process != "" {
		pid, err := findProcess(f.process)
		if err != nil {
			return nil, fmt.Errorf("--pid: %w", err)
		}
		list = append(list, read.File{Name: fmt.Sprintf("memory of process %d", pid), Stream: true, Open: func() (read.Content, error) { return openMemory(pid) }})
	}
	if len(list) == 0 {
		return nil, usagef("want a file with a goroutine dump, or --pid")
	}
	return list, nil
}

// printDumps copies what the sources have.
func (a *app) printDumps(sources []read.File, deadline time.Time) error {
	for _, s := range sources {
		a.working("reading %s", s.Name)
		in, err := s.Open()
		if err != nil {
			a.complain("%s: %v", s.Name, err)
			continue
		}
		err = streamStdout(a.out.file, func(w io.Writer) error { _, err := io.Copy(w, in); return err }, deadline)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) goroutines(f goroutineFlags, sources []read.File) error {
	deadline := time.Now().Add(f.timeout)
	evidence := forensics.NewEvidence()
	evidence.Root = "saved files"
	var before []forensics.Dump
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	opt := read.Options{Only: forensics.SourceGoroutines}
	var results []read.Result
	if f.diff {
		before, results = dumpsOf(ctx, opt, sources[0])
		sources = sources[1:]
	}
	dumps, more := dumpsOf(ctx, opt, sources...)
	evidence.Merge(forensics.Evidence{Dumps: dumps})
	a.tellSkipped(names, append(results, more...))
	if len(evidence.Dumps) == 0 || f.diff && len(before) == 0 {
		return errors.New("no dump could be read")
	}
	evidence.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceRead, Detail: strings.Join(names, ", ")})
	if f.mountinfo != "" {
		if err := a.mountTable(&evidence, f.mountinfo); err != nil {
			return err
		}
	}
	key, err := newRedactKey()
	if err != nil {
		return err
	}
	earlier := forensics.Evidence{Dumps: before}
	ctx, cancel = context.WithDeadline(context.Background(), share(deadline, 3, 4))
	defer cancel()
	a.working("masking secrets")
	_, cutBefore := mask.Until(ctx, &earlier, key, false)
	_, cut := mask.Until(ctx, &evidence, key, false)
	if cut = cmp.Or(cut, cutBefore); cut != nil {
		a.complain("--timeout: %v", cut)
		cancel() // a part of a dump is not judged
	}
	masked := redact.New(key).Args("command lines", append([]string{"nodeforensics", "goroutines"}, names...))
	judged := evidence
	a.working("running the checks")
	analysis, cut := forensics.AnalyzeUntil(ctx, &judged, goroutineChecks(&judged))
	if cut != nil {
		a.complain("--timeout: %v", cut)
	}
	answer := report.NewGoroutines(evidence.Dumps, analysis)
	if f.diff {
		answer.Compare(earlier.Dumps)
	}
	r := report.New(report.Tool{Name: "nodeforensics", Version: programVersion(), Command: masked}, evidence, analysis)
	if err := a.export(f, r); err != nil {
		return err
	}
	return a.printGoroutines(f, r, answer)
}

// dumpsOf reads the dumps of files without holding them in memory.
func dumpsOf(ctx context.Context, opt read.Options, files ...read.File) (dumps []forensics.Dump, results []read.Result) {
	nodes, results := read.Files(ctx, opt, files...)
	for _, e := range nodes {
		dumps = append(dumps, e.Dumps...)
	}
	return dumps, results
}

func (a *app) mountTable(e *forensics.Evidence, name string) error {
	file, err := openInput(name)
	if err != nil {
		return fmt.Errorf("--mountinfo %s: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	part, err := read.Mountinfo(name, file)
	e.Merge(part)
	if err != nil {
		a.complain("--mountinfo %s: %v", name, err)
	}
	return nil
}

// goroutineChecks are those that a dump alone can meet: of the kubelet, of other programs, or of both. What first of all needs threads can say
// something of a cut dump only.
func goroutineChecks(e *forensics.Evidence) []forensics.Check {
	kubelet, _ := e.Saw(forensics.SourceGoroutines)
	others, _ := e.Saw(forensics.SourceOtherGoroutines)
	cut := slices.ContainsFunc(e.Dumps, func(d forensics.Dump) bool { return d.Truncated })
	return sorting.Delete(checks.All(), func(c forensics.Check) bool {
		return !slices.ContainsFunc(c.Needs, func(n forensics.Need) bool {
			return (cut || n[0] != forensics.SourceThreads) && (kubelet && slices.Contains(n, forensics.SourceGoroutines) || others && slices.Contains(n, forensics.SourceOtherGoroutines))
		})
	})
}

// export writes the files that were asked for.
func (a *app) export(f goroutineFlags, r report.Report) error {
	var b bytes.Buffer
	if f.html != "" {
		if err := report.HTML(&b, r); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		if err := a.writeFile(f.html, b.Bytes()); err != nil {
			return fmt.Errorf("--html %s: %w", f.html, err)
		}
	}
	if f.pprof == "" {
		return nil
	}
	var all goroutines.Dump
	for _, d := range r.Evidence.Dumps {
		all.Goroutines = append(all.Goroutines, d.Goroutines...)
	}
	b.Reset()
	if err := goroutines.WriteProfile(&b, all); err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	if err := a.writeFile(f.pprof, b.Bytes()); err != nil {
		return fmt.Errorf("--pprof %s: %w", f.pprof, err)
	}
	return nil
}

// writeFile writes one file that somebody has named, whole or not at all.
func (a *app) writeFile(name string, text []byte) error {
	name = absolute(name)
	file := rendering{filepath.Base(name), int64(len(text)), writing(text)}
	_, err := a.writeFiles(a.interrupts(), parcel{Dir: filepath.Dir(name), Replace: true}, []rendering{file}, time.Time{})
	return err
}

func (a *app) printGoroutines(f goroutineFlags, r report.Report, answer report.Goroutines) error {
	switch f.format {
	case formatHTML:
		return streamStdout(a.out.file, func(w io.Writer) error { return report.HTML(w, r) }, time.Time{})
	case formatJSON, formatYAML:
		return streamStdout(a.out.file, func(w io.Writer) error {
			return data(w, f.format, func(w io.Writer) error { return report.WriteJSON(w, answer) })
		}, time.Time{})
	}
	var b bytes.Buffer
	r.Node.Name = "goroutine dump"
	if err := report.Text(&b, r, a.textOptions(nil)); err != nil {
		return err
	}
	if !a.quiet {
		if err := report.WriteGoroutines(&b, answer, f.stacks || a.verbose); err != nil {
			return err
		}
	}
	return writeStdout(a.out.file, b.Bytes(), time.Time{})
}
