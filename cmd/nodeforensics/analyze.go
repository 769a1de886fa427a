package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) analyzeCommand() *cobra.Command {
	var out outputFlags
	var podGC podGCFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "analyze FILE…",
		Short: "Judge saved evidence, goroutine dumps, mount tables, logs and API objects",
		Long: `analyze reads files that were collected elsewhere, tells by their content what they are, judges them together and
writes a report. It knows: evidence and report JSON of nodeforensics, goroutine dumps of a kubelet (every form), a
mount table (/proc/PID/mountinfo), the kubelet's list of pods (/pods), objects of the API (kubectl get
pods,nodes,pvc,pv -A -o json), and logs of a kubelet, the kernel or the controller manager in any form, compressed or
not. - is standard input.

A file that cannot be read is named, the others are judged, and the exit status is 1.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			evidence := forensics.NewEvidence()
			evidence.Root = "saved files"
			evidence.Schema = forensics.EvidenceSchema
			out.deadline = time.Now().Add(timeout)
			in := newInput(&evidence)
			if read := a.readInput(in, args, share(out.deadline, 1, 2)); read == 0 {
				return errors.New("nothing could be read")
			}
			podGC.apply(&evidence)
			command := append([]string{"nodeforensics", "analyze"}, args...)
			command = redacted(&evidence, in.key[:], out.redact == redactStrict, command)
			return a.deliver(out, evidence, command)
		},
	}
	out.register(cmd)
	out.registerRedact(cmd)
	podGC.register(cmd)
	return a.bounded(cmd, &timeout, usualTimeout)
}

// readInput reads files and returns how many could be read, at least in part. When the time is up it goes on with what was
// added until then.
func (a *app) readInput(in *input, names []string, deadline time.Time) (read int) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	in.ctx = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		var logNames []string
		for _, name := range names {
			if isLog(name) {
				logNames = append(logNames, name)
				continue
			}
			some, err := in.addFile(name)
			in.took(a, some, name, err)
		}
		a.addLogs(in, logNames)
	}()
	select {
	case <-done:
	case <-time.After(time.Until(deadline) + lastResort): // logs come to an end by themselves
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if in.at < len(names) {
		a.complain("--timeout: %s not read to the end; what was read before is judged", forensics.Plural(len(names)-in.at, "file"))
	}
	return in.read
}

// took counts a file that was looked at, and names one that could not be read.
func (in *input) took(a *app, some bool, name string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.at++
	if err != nil {
		a.complain("%s: %v", name, err)
	}
	if some {
		in.read++
	}
}

// input is evidence that is put together from files.
type input struct {
	ctx      context.Context
	evidence *forensics.Evidence
	key      [32]byte // of the placeholders for what is masked

	mu       sync.Mutex // for the evidence, too
	at, read int        // files that were looked at, and that could be read
	closed   bool       // it is judged; what is read now comes too late
}

func newInput(e *forensics.Evidence) *input {
	in := &input{ctx: context.Background(), evidence: e}
	_, _ = rand.Read(in.key[:]) // it never fails
	return in
}

// add takes over what a file says. Secrets in it are masked when all files have been read.
func (in *input) add(part forensics.Evidence) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.evidence.Merge(part)
	}
}

// maxFile bounds one file that is held in memory as a whole.
const maxFile = 2 << 30

// addFile adds what a file says to the evidence. With an error, some says whether a part of it could be used.
func (in *input) addFile(name string) (some bool, err error) {
	file, saved, err := openInput(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	head := bufio.NewReaderSize(file, 1<<16)
	if start, _ := head.Peek(4096); isAPIDump(start) { // that of a large cluster is not held in memory
		return in.addAPIDump(name, saved, head)
	}
	text, err := readWhole(head)
	if err != nil {
		return false, err
	}
	switch trimmed := bytes.TrimLeft(text, " \t\r\n\ufeff"); {
	case len(trimmed) == 0:
		return false, errors.New("the file is empty")
	case trimmed[0] == '{':
		return in.addJSON(name, trimmed)
	case looksLikeMountinfo(trimmed):
		return true, in.addMountinfo(name, trimmed)
	case name == "-" && logs.Recognise(trimmed[:min(len(trimmed), logHead)]):
		in.addLogText(name, text)
		return true, nil
	}
	return in.addDumps(name, text)
}

// addDumps takes goroutine dumps.
func (in *input) addDumps(name string, text []byte) (some bool, err error) {
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
	in.add(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}})
	return true, err
}

// readFile reads a file or standard input. The reason of an error comes without the name, which the caller has.
func readFile(name string) ([]byte, error) {
	file, _, err := openInput(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readWhole(file)
}

// openInput opens a file or standard input; saved is when it was written, zero if that is unknown.
func openInput(name string) (file io.ReadCloser, saved time.Time, err error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), saved, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, saved, errors.Unwrap(err)
	}
	if info, err := f.Stat(); err == nil {
		saved = info.ModTime()
	}
	return f, saved, nil
}

func readWhole(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
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
func (in *input) addJSON(name string, text []byte) (some bool, err error) {
	var head struct{ Schema, Kind string }
	err = json.Unmarshal(text, &head)
	switch {
	case err == nil && head.Schema == report.Schema:
		r, err := report.Read(bytes.NewReader(text))
		return err == nil, in.addEvidence(r.Evidence, err)
	case err == nil && head.Schema == forensics.EvidenceSchema:
		var other forensics.Evidence
		err := json.Unmarshal(text, &other)
		return err == nil, in.addEvidence(other, err)
	case err == nil && head.Schema != "":
		return false, fmt.Errorf("schema %q is not known: want %s or %s", head.Schema, report.Schema, forensics.EvidenceSchema)
	case err == nil && head.Kind == "PodList":
		return true, in.addPods(name, text)
	case err == nil && head.Kind != "":
		return in.addAPIDump(name, time.Time{}, bytes.NewReader(text))
	}
	if some, dumpErr := in.addDumps(name, text); some {
		return true, dumpErr
	}
	if err != nil {
		return false, fmt.Errorf("JSON: %w", err)
	}
	return false, errors.New("JSON without a schema that is known here")
}

// addEvidence adds one saved examination; two of them would mix two nodes or two moments.
func (in *input) addEvidence(other forensics.Evidence, err error) error {
	if err != nil {
		return err
	}
	if !in.evidence.Collected.IsZero() {
		return errors.New("a second saved examination: analyze one at a time")
	}
	in.add(other)
	return nil
}

func (in *input) addPods(name string, text []byte) error {
	pods, err := kubelet.ParsePods(bytes.NewReader(text))
	if err != nil {
		return err
	}
	in.add(forensics.Evidence{Pods: pods, Coverage: []forensics.Source{{
		Source: forensics.SourceKubeletPods, Status: forensics.SourceRead, Detail: name, Bytes: int64(len(text)),
	}}})
	return nil
}

// isAPIDump says whether a file begins like objects of the API. A list of pods without a resource version is the
// kubelet's own.
func isAPIDump(start []byte) bool {
	start = bytes.TrimLeft(start, " \t\r\n\ufeff")
	if !bytes.HasPrefix(start, []byte("{")) || !apiVersion.Match(start) || bytes.Contains(start, []byte(`"schema"`)) {
		return false
	}
	return !podList.Match(start) || bytes.Contains(start, []byte(`"resourceVersion"`))
}

var (
	apiVersion = regexp.MustCompile(`"apiVersion"\s*:`)
	podList    = regexp.MustCompile(`^\{\s*("apiVersion"\s*:\s*"v1"\s*,\s*)?"kind"\s*:\s*"PodList"`)
)

// addAPIDump takes objects of the API.
func (in *input) addAPIDump(name string, saved time.Time, r io.Reader) (some bool, err error) {
	counted := &countingReader{r: r}
	part, err := forensics.ParseAPIDump(name, saved, counted)
	if part.Cluster == nil {
		return false, err
	}
	part.Coverage[0].Bytes = counted.n
	in.add(part)
	return true, err
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// looksLikeMountinfo says whether the first line has the shape of /proc/PID/mountinfo.
func looksLikeMountinfo(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	list, errs := mounts.Parse(bytes.NewReader(line))
	return len(list) == 1 && len(errs) == 0
}

func (in *input) addMountinfo(name string, text []byte) error {
	list, errs := mounts.Parse(bytes.NewReader(text))
	source := forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead, Detail: name, Bytes: int64(len(text))}
	var err error
	if len(errs) > 0 {
		err = fmt.Errorf("%s, first: %w", forensics.Plural(len(errs), "bad line"), errs[0])
		source.Status, source.Detail = forensics.SourceTruncated, fmt.Sprintf("%s: %v", name, err)
	}
	in.add(forensics.Evidence{Mounts: mounts.Table{Mounts: list}, Coverage: []forensics.Source{source}})
	return err
}

func (a *app) renderCommand() *cobra.Command {
	var out outputFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "render REPORT.json",
		Short: "Write a saved report again, without judging it anew",
		Long:  "render reads a report's JSON and writes it in other formats. The same report gives the same bytes. - is standard input.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			out.deadline = time.Now().Add(timeout)
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
	return a.bounded(cmd, &timeout, usualTimeout)
}
