package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/stackdump"
	"github.com/nodeforensics/nodeforensics/report"
)

// goroutinesSchema names the layout of goroutines --json.
const goroutinesSchema = "nodeforensics.goroutines/v1"

// goroutineFlags are what the command line of goroutines says.
type goroutineFlags struct {
	json, diff, stacks     bool
	html, pprof, mountinfo string
	timeout                time.Duration
}

func (a *app) goroutinesCommand() *cobra.Command {
	var f goroutineFlags
	cmd := &cobra.Command{
		Use:   "goroutines FILE…",
		Short: "Explain goroutine dumps: verdicts, then the groups, blocked ones first",
		Long: `goroutines reads goroutine dumps in every form (debug=2, debug=1, debug=0, SIGABRT, SIGQUIT, panic), also from a journal
or a container's log, says what a kubelet is stuck in, and lists the goroutines by their stacks. - is standard input.
Dumps of other programs (containerd, CRI-O, docker, CSI drivers) are grouped, too; the verdicts are about kubelets.

A dump does not hold paths, only their lengths: with --mountinfo the mounts of that length are named. A dump of any
size is read; of many goroutines with one stack 64 are kept and the rest counted.`,
		Example: `  curl -sk https://127.0.0.1:10250/debug/pprof/goroutine?debug=2 … | nodeforensics goroutines -
  journalctl -u kubelet | nodeforensics goroutines - --mountinfo /proc/1/mountinfo
  nodeforensics goroutines --diff before.txt after.txt
  nodeforensics goroutines dump.txt --pprof out.pb.gz && go tool pprof -http : out.pb.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.diff && len(args) != 2 {
				return usagef("--diff needs two files, the earlier one first")
			}
			return a.goroutines(f, args)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.json, "json", false, "print JSON: findings as in a report, then groups")
	fs.StringVar(&f.html, "html", "", "write a report to `FILE`")
	fs.StringVar(&f.pprof, "pprof", "", "write the goroutines to `FILE` as a profile for go tool pprof")
	fs.BoolVar(&f.diff, "diff", false, "compare two dumps of one process: which groups grew, which shrank; the verdicts are about the second")
	fs.BoolVar(&f.stacks, "stacks", false, "print the stack of every group, not only of blocked ones")
	fs.StringVar(&f.mountinfo, "mountinfo", "", "`FILE` with the node's mount table (/proc/PID/mountinfo), to name mounts by the lengths of their paths")
	return a.bounded(cmd, &f.timeout, usualTimeout)
}

// goroutineAnswer is what the command found out.
type goroutineAnswer struct {
	Schema    string                `json:"schema"`
	Findings  []forensics.Finding   `json:"findings"`
	Diagnoses []forensics.Diagnosis `json:"diagnoses"`
	Groups    []stackdump.Group     `json:"groups"`
	// Changes is what --diff found.
	Changes []stackdump.Change `json:"changes,omitempty"`
	// Problems are the parts of the input that were dropped or are doubtful.
	Problems []dumpProblem `json:"problems"`
}

type dumpProblem struct {
	File string `json:"file"`
	stackdump.Problem
}

func (a *app) goroutines(f goroutineFlags, names []string) error {
	evidence := forensics.NewEvidence()
	evidence.Root = "saved files"
	var before []forensics.Dump
	for i, name := range names {
		dumps, err := readDumps(name)
		if err != nil {
			a.complain("%s: %v", name, err)
		}
		if f.diff && i == 0 {
			before = dumps
			continue
		}
		evidence.Merge(forensics.Evidence{Dumps: dumps})
	}
	if len(evidence.Dumps) == 0 || f.diff && len(before) == 0 {
		return errors.New("nothing could be read")
	}
	evidence.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceRead, Detail: strings.Join(names, ", ")})
	if f.mountinfo != "" {
		if err := a.mountTable(&evidence, f.mountinfo); err != nil {
			return err
		}
	}
	analysis := forensics.Analyze(&evidence, goroutineChecks())
	answer := goroutineAnswer{
		Schema: goroutinesSchema, Findings: analysis.Findings, Diagnoses: analysis.Diagnoses,
		Groups: groupsOf(evidence.Dumps), Problems: problemsOf(evidence.Dumps),
	}
	if f.diff {
		answer.Changes = stackdump.Diff(groupsOf(before), answer.Groups)
	}
	command := append([]string{"nodeforensics", "goroutines"}, names...)
	r := report.New(report.Tool{Name: "nodeforensics", Version: programVersion(), Command: command}, evidence, analysis)
	if err := a.export(f, r); err != nil {
		return err
	}
	return a.printGoroutines(f, r, answer)
}

// specimens is how many goroutines of one stack and state are kept; the others are counted.
const specimens = 64

// readDumps reads the dumps of a file without holding it in memory.
func readDumps(name string) ([]forensics.Dump, error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	parsed, problems, err := stackdump.Digest(in, specimens)
	var dumps []forensics.Dump
	for i, d := range parsed {
		dump := forensics.Dump{Source: name, Dump: d, Problems: []stackdump.Problem{}}
		if i == 0 {
			dump.Problems = append(dump.Problems, problems...)
		}
		dumps = append(dumps, dump)
	}
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return dumps, path.Err
	case err == nil && len(dumps) == 0:
		return nil, errors.New("no goroutine dump in it")
	case err == nil && forensics.CutDump(dumps) != "":
		return dumps, fmt.Errorf("%s; what is there of it is judged", forensics.CutDump(dumps))
	}
	return dumps, err
}

func (a *app) mountTable(e *forensics.Evidence, name string) error {
	text, err := readFile(name)
	if err != nil {
		return fmt.Errorf("--mountinfo %s: %w", name, err)
	}
	in := newInput(e)
	if err := in.addMountinfo(name, text); err != nil {
		a.complain("--mountinfo %s: %v", name, err)
	}
	forensics.Redact(e, in.key[:], false)
	return nil
}

// goroutineChecks are those that a dump alone can meet.
func goroutineChecks() []forensics.Check {
	return slices.DeleteFunc(checks.All(), func(c forensics.Check) bool {
		return !slices.ContainsFunc(c.Needs, func(n forensics.Need) bool { return slices.Contains(n, forensics.SourceGoroutines) })
	})
}

// groupsOf groups the goroutines of all dumps together.
func groupsOf(dumps []forensics.Dump) []stackdump.Group {
	var all stackdump.Dump
	for _, d := range dumps {
		all.Goroutines = append(all.Goroutines, d.Goroutines...)
	}
	return stackdump.GroupBy(all)
}

func problemsOf(dumps []forensics.Dump) []dumpProblem {
	problems := []dumpProblem{}
	for _, d := range dumps {
		for _, p := range d.Problems {
			problems = append(problems, dumpProblem{d.Source, p})
		}
	}
	return problems
}

// export writes the files that were asked for.
func (a *app) export(f goroutineFlags, r report.Report) error {
	var b bytes.Buffer
	if f.html != "" {
		if err := report.HTML(&b, r); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		if err := writeFile(f.html, b.Bytes()); err != nil {
			return fmt.Errorf("--html %s: %w", f.html, err)
		}
	}
	if f.pprof == "" {
		return nil
	}
	var all stackdump.Dump
	for _, d := range r.Evidence.Dumps {
		all.Goroutines = append(all.Goroutines, d.Goroutines...)
	}
	b.Reset()
	if err := stackdump.WriteProfile(&b, all); err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	if err := writeFile(f.pprof, b.Bytes()); err != nil {
		return fmt.Errorf("--pprof %s: %w", f.pprof, err)
	}
	return nil
}

// writeFile writes one file, whole or not at all.
func writeFile(name string, text []byte) error {
	name = absolute(name)
	_, err := writeFiles(filepath.Dir(name), false, []rendering{{filepath.Base(name), text}}, time.Time{})
	return err
}

func (a *app) printGoroutines(f goroutineFlags, r report.Report, answer goroutineAnswer) error {
	var b bytes.Buffer
	if f.json {
		if err := report.WriteJSON(&b, answer); err != nil {
			return err
		}
		return writeStdout(a.out.file, b.Bytes(), time.Time{})
	}
	r.Node.Name = "goroutine dump"
	if err := report.Text(&b, r, report.TextOptions{Width: a.out.width(), Color: a.out.color()}); err != nil {
		return err
	}
	if f.diff {
		writeChanges(&b, answer.Changes)
	}
	writeGroups(&b, answer.Groups, f.stacks)
	writeProblems(&b, answer.Problems)
	return writeStdout(a.out.file, b.Bytes(), time.Time{})
}
