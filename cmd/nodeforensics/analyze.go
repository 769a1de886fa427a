package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/internal/text"
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
			return a.redactAndDeliver(out, evidence, in.key[:], append([]string{"nodeforensics", "analyze"}, args...))
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
			log, err := isLog(name)
			if log {
				logNames = append(logNames, name)
				continue
			}
			some := false
			if err == nil {
				some, err = in.addFile(name)
			}
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
		a.complain("--timeout: %s not read to the end; what was read before is judged", text.Plural(len(names)-in.at, "file"))
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

// redactReport masks what an earlier version of this program left in a report, or somebody wrote into it. The key is made of
// the report itself, so that the same report gives the same bytes; who has not seen it cannot try guesses.
func (a *app) redactReport(r *report.Report, key [sha256.Size]byte, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	evidence := r.Evidence
	text, cut := mask.Until(ctx, &evidence, key[:], false)
	if cut != "" {
		a.complain("--timeout: %s", cut)
	}
	r.Evidence = forensics.Evidence{}
	last, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	if !mask.StringsUntil(last, r, "report", text) {
		return errors.New("--timeout: the time was up before secrets were masked in the findings: nothing is written")
	}
	r.Evidence = evidence
	if cut != "" {
		r.Coverage = evidence.Coverage
	}
	return nil
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

// What is read of one file at most. All else is read without being held in memory.
const (
	maxJSONText   = 32_000_000 // bytes of JSON that does not say at its beginning what it is
	maxMountTable = 24_000_000 // bytes, some 120,000 mounts; Linux allows 100,000 in a namespace (fs.mount-max)
)

// addFile adds what a file says to the evidence. With an error, some says whether a part of it could be used.
func (in *input) addFile(name string) (some bool, err error) {
	file, err := openInput(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	counted := &countingReader{r: file}
	text := bufio.NewReaderSize(counted, 1<<16)
	start, err := text.Peek(1 << 16)
	var path *os.PathError
	if errors.As(err, &path) {
		return false, path.Err
	}
	switch trimmed := bytes.TrimLeft(start, " \t\r\n\ufeff"); {
	case isAPIDump(start[:min(len(start), 4096)]):
		return in.addAPIDump(name, file.ModTime(), text)
	case len(trimmed) == 0 && len(start) < 1<<16:
		return false, errors.New("the file is empty")
	case len(trimmed) > 0 && trimmed[0] == '{':
		return in.addJSON(name, trimmed, text, counted)
	case looksLikeMountinfo(trimmed):
		return true, in.addMountinfo(name, text)
	case isStream(name) && logs.Recognise(trimmed):
		in.addLogText(name, text)
		return true, nil
	}
	return in.addDumps(name, text)
}

// addDumps takes goroutine dumps.
func (in *input) addDumps(name string, r io.Reader) (some bool, err error) {
	counted := &countingReader{r: r}
	dumps, err := read.Dumps(name, counted)
	if err != nil {
		return false, fmt.Errorf("not a file that is known here: %w", err)
	}
	source := forensics.Source{
		Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceRead, Bytes: counted.n,
	}
	if cut := read.CutDump(dumps); cut != "" {
		source.Status, source.Detail = forensics.SourceTruncated, cut
		err = fmt.Errorf("%s; what is there of it is judged", cut)
	}
	in.add(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}})
	return true, err
}

// loadReport reads a saved report. sum is that of the whole file.
func loadReport(name string) (r report.Report, sum [sha256.Size]byte, err error) {
	file, err := openInput(name)
	if err != nil {
		return report.Report{}, sum, err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	text := io.TeeReader(file, hash)
	if r, err = report.Read(text); err == nil {
		_, err = io.Copy(io.Discard, text) // what follows, which is nothing but blanks
	}
	return r, [sha256.Size]byte(hash.Sum(nil)), ofSize(name, err)
}

// ofSize adds the size of a file that is too large.
func ofSize(name string, err error) error {
	if info, statErr := os.Stat(name); errors.Is(err, jsonlimit.ErrTooLarge) && statErr == nil {
		return fmt.Errorf("%.1f MB: %w", float64(info.Size())/1e6, err)
	}
	return err
}

// addJSON takes evidence, reports and lists of pods. Log lines of a kubelet that logs JSON are tried as a dump.
func (in *input) addJSON(name string, start []byte, text io.Reader, read *countingReader) (some bool, err error) {
	switch schema, kind := jsonHead(start); {
	case schema == report.Schema:
		r, err := report.Read(text)
		return err == nil, in.addEvidence(r.Evidence, ofSize(name, err))
	case schema == forensics.EvidenceSchema:
		var other forensics.Evidence
		err := jsonstream.Read(text, &other)
		return err == nil, in.addEvidence(other, ofSize(name, err))
	case kind == "PodList":
		return true, in.addPods(name, text, read)
	}
	whole, err := io.ReadAll(io.LimitReader(text, maxJSONText))
	switch {
	case err != nil:
		return false, err
	case len(whole) == maxJSONText:
		if some, err := in.addDumps(name, io.MultiReader(bytes.NewReader(whole), text)); some {
			return true, err
		}
		return false, fmt.Errorf("more than %d MB of JSON that does not say what it is in its first 64 KiB", maxJSONText/1_000_000)
	}
	return in.addJSONText(name, whole, read)
}

// jsonHead is what the beginning of an object says of the whole, as far as it says so.
func jsonHead(start []byte) (schema, kind string) {
	dec := json.NewDecoder(bytes.NewReader(start))
	_, _ = dec.Token()
	for schema == "" {
		key, err := dec.Token()
		if err != nil {
			return schema, kind
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return schema, kind
		}
		switch text, _ := value.(string); key {
		case "schema":
			schema = text
		case "kind":
			kind = text
		}
	}
	return schema, kind
}

// addJSONText takes what says at its end what it is, and text that only begins like JSON.
func (in *input) addJSONText(name string, text []byte, read *countingReader) (some bool, err error) {
	var head struct{ Schema, Kind string }
	err = json.Unmarshal(text, &head)
	switch {
	case err == nil && head.Schema == report.Schema:
		r, err := report.Read(bytes.NewReader(text))
		return err == nil, in.addEvidence(r.Evidence, ofSize(name, err))
	case err == nil && head.Schema == forensics.EvidenceSchema:
		var other forensics.Evidence
		err := jsonstream.Read(bytes.NewReader(text), &other)
		return err == nil, in.addEvidence(other, ofSize(name, err))
	case err == nil && head.Schema != "":
		return false, fmt.Errorf("schema %q is not known: want %s or %s", head.Schema, report.Schema, forensics.EvidenceSchema)
	case err == nil && head.Kind == "PodList":
		return true, in.addPods(name, bytes.NewReader(text), read)
	case err == nil && head.Kind != "":
		return in.addAPIDump(name, time.Time{}, bytes.NewReader(text))
	}
	if some, dumpErr := in.addDumps(name, bytes.NewReader(text)); some {
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

func (in *input) addPods(name string, text io.Reader, read *countingReader) error {
	pods, err := kubelet.ParsePods(text)
	if err != nil {
		return err
	}
	in.add(forensics.Evidence{Pods: pods, Coverage: []forensics.Source{{
		Source: forensics.SourceKubeletPods, Status: forensics.SourceRead, Detail: name, Bytes: read.n,
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
	part, err := read.APIDump(name, saved, counted)
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

func (in *input) addMountinfo(name string, words io.Reader) error {
	counted := &countingReader{r: words}
	list, errs := mounts.Parse(io.LimitReader(counted, maxMountTable))
	if counted.n == maxMountTable { // its last line is cut, too
		errs = slices.Insert(errs, 0, fmt.Errorf("a mount table of more than %d MB: the rest is not read", maxMountTable/1_000_000))
	}
	source := forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead, Detail: name, Bytes: counted.n}
	var err error
	if len(errs) > 0 {
		err = fmt.Errorf("%s, first: %w", text.Plural(len(errs), "bad line"), errs[0])
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
			r, sum, err := loadReport(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := a.redactReport(&r, sum, out.deadline); err != nil {
				return err
			}
			return a.write(out, r)
		},
	}
	out.register(cmd)
	cmd.Flags().Lookup("format").DefValue = "html"
	out.formats = []string{"html"}
	return a.bounded(cmd, &timeout, usualTimeout)
}
