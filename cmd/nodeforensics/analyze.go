package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) analyzeCommand() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "analyze FILE…",
		Short: "Judge saved evidence, goroutine dumps, mount tables and logs",
		Long: `analyze reads files that were collected elsewhere, tells by their content what they are, judges them together and
writes a report. It knows: evidence and report JSON of nodeforensics, goroutine dumps of a kubelet (every form), a
mount table (/proc/PID/mountinfo), the kubelet's list of pods (/pods), and logs of a kubelet, the kernel or the controller
manager in any form, compressed or not. - is standard input.

A file that cannot be read is named, the others are judged, and the exit status is 1.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			evidence := forensics.NewEvidence()
			evidence.Root = "saved files"
			evidence.Schema = forensics.EvidenceSchema
			read := 0
			var logNames []string
			for _, name := range args {
				if isLog(name) {
					logNames = append(logNames, name)
					continue
				}
				some, err := addFile(&evidence, name)
				if err != nil {
					a.complain("%s: %v", name, err)
				}
				if some {
					read++
				}
			}
			read += a.addLogs(&evidence, logNames)
			if read == 0 {
				return errors.New("nothing could be read")
			}
			key, err := newRedactKey()
			if err != nil {
				return err
			}
			command := append([]string{"nodeforensics", "analyze"}, args...)
			command = redacted(&evidence, key, out.redact == redactStrict, command)
			return a.deliver(out, evidence, command)
		},
	}
	out.register(cmd)
	out.registerRedact(cmd)
	return cmd
}

// maxFile bounds one file that is held in memory as a whole.
const maxFile = 2 << 30

// addFile adds what a file says to the evidence. With an error, some says whether a part of it could be used.
func addFile(e *forensics.Evidence, name string) (some bool, err error) {
	text, err := readFile(name)
	if err != nil {
		return false, err
	}
	switch trimmed := bytes.TrimLeft(text, " \t\r\n\ufeff"); {
	case len(trimmed) == 0:
		return false, errors.New("the file is empty")
	case trimmed[0] == '{':
		return addJSON(e, name, trimmed)
	case looksLikeMountinfo(trimmed):
		return true, addMountinfo(e, name, trimmed)
	case name == "-" && logs.Recognise(trimmed[:min(len(trimmed), logHead)]):
		addLogText(e, name, text)
		return true, nil
	}
	return addDumps(e, name, text)
}

// addDumps takes goroutine dumps.
func addDumps(e *forensics.Evidence, name string, text []byte) (some bool, err error) {
	dumps, err := forensics.ParseDumps(name, bytes.NewReader(text))
	if err != nil {
		return false, fmt.Errorf("not a file that is known here: %w", err)
	}
	source := forensics.Source{
		Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Bytes: int64(len(text)),
	}
	if cut := forensics.CutDump(dumps); cut != "" {
		source.Status, source.Detail = forensics.SourceTruncated, cut
		err = fmt.Errorf("%s; what is there of it is judged", cut)
	}
	e.Merge(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}})
	return true, err
}

// readFile reads a file or standard input. The reason of an error comes without the name, which the caller has.
func readFile(name string) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return nil, path.Err
	case len(text) > maxFile:
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return text, err
}

// addJSON takes evidence, reports and lists of pods. Log lines of a kubelet that logs JSON are tried as a dump.
func addJSON(e *forensics.Evidence, name string, text []byte) (some bool, err error) {
	var head struct{ Schema, Kind string }
	err = json.Unmarshal(text, &head)
	switch {
	case err == nil && head.Schema == report.Schema:
		r, err := report.Read(bytes.NewReader(text))
		return err == nil, addEvidence(e, r.Evidence, err)
	case err == nil && head.Schema == forensics.EvidenceSchema:
		var other forensics.Evidence
		err := json.Unmarshal(text, &other)
		return err == nil, addEvidence(e, other, err)
	case err == nil && head.Schema != "":
		return false, fmt.Errorf("schema %q is not known: want %s or %s", head.Schema, report.Schema, forensics.EvidenceSchema)
	case err == nil && head.Kind == "PodList":
		return true, addPods(e, name, text)
	case err == nil && head.Kind != "":
		return false, fmt.Errorf("a %s is not known here: want a PodList", head.Kind)
	}
	if some, dumpErr := addDumps(e, name, text); some {
		return true, dumpErr
	}
	if err != nil {
		return false, fmt.Errorf("JSON: %w", err)
	}
	return false, errors.New("JSON without a schema that is known here")
}

// addEvidence adds one saved examination; two of them would mix two nodes or two moments.
func addEvidence(e *forensics.Evidence, other forensics.Evidence, err error) error {
	if err != nil {
		return err
	}
	if !e.Collected.IsZero() {
		return errors.New("a second saved examination: analyze one at a time")
	}
	e.Merge(other)
	return nil
}

func addPods(e *forensics.Evidence, name string, text []byte) error {
	pods, err := kubelet.ParsePods(bytes.NewReader(text))
	if err != nil {
		return err
	}
	e.Merge(forensics.Evidence{Pods: pods, Coverage: []forensics.Source{{
		Source: forensics.SourceKubeletPods, Status: forensics.SourceRead, Detail: name, Bytes: int64(len(text)),
	}}})
	return nil
}

// looksLikeMountinfo says whether the first line has the shape of /proc/PID/mountinfo.
func looksLikeMountinfo(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	list, errs := mounts.Parse(bytes.NewReader(line))
	return len(list) == 1 && len(errs) == 0
}

func addMountinfo(e *forensics.Evidence, name string, text []byte) error {
	list, errs := mounts.Parse(bytes.NewReader(text))
	source := forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead, Detail: name, Bytes: int64(len(text))}
	var err error
	if len(errs) > 0 {
		err = fmt.Errorf("%s, first: %w", forensics.Plural(len(errs), "bad line"), errs[0])
		source.Status, source.Detail = forensics.SourceTruncated, fmt.Sprintf("%s: %v", name, err)
	}
	e.Merge(forensics.Evidence{Mounts: mounts.Table{Mounts: list}, Coverage: []forensics.Source{source}})
	return err
}

func (a *app) renderCommand() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "render REPORT.json",
		Short: "Write a saved report again, without judging it anew",
		Long:  "render reads a report's JSON and writes it in other formats. The same report gives the same bytes. - is standard input.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			text, err := readFile(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			r, err := report.Read(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return a.write(out, r)
		},
	}
	out.register(cmd)
	cmd.Flags().Lookup("format").DefValue = "html"
	out.formats = []string{"html"}
	return cmd
}
