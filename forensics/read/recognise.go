package read

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// headSize is how much of a file is looked at to tell what it is, in bytes.
const headSize = 64 << 10

// file adds what one file says. Of a log that can be opened again it only says that it is one: logs are read together.
func (r *reader) file(ctx context.Context, f File) (got Result, isLog bool) {
	got = Result{Name: f.Name}
	content, err := f.Open()
	if err != nil {
		got.Err = err
		return got, false
	}
	defer func() { _ = content.Close() }()
	counted := &counter{r: content}
	text := bufio.NewReaderSize(counted, headSize)
	head, err := text.Peek(headSize)
	var path *fs.PathError
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case !f.Stream:
		got.Err = err
		return got, false
	case errors.As(err, &path):
		got.Err = path.Err
		return got, false
	}
	if !f.Stream && (logs.IsCompressed(head) || logs.Recognise(head)) {
		return got, true
	}
	d := document{name: f.Name, content: content, text: text, read: counted}
	got.Kind, got.Used, got.Err = r.document(ctx, d, head, f.Stream)
	return got, false
}

// A document is a file of which the beginning is known.
type document struct {
	name    string
	content Content
	text    io.Reader
	read    *counter // what was read of it
}

func (r *reader) document(ctx context.Context, d document, head []byte, stream bool) (kind string, used bool, err error) {
	switch trimmed := bytes.TrimLeft(head, blanks); {
	case isAPIDump(head[:min(len(head), 4096)]):
		return r.apiDump(d, d.content.ModTime())
	case len(trimmed) == 0 && len(head) < headSize:
		return "", false, errors.New("the file is empty")
	case len(trimmed) > 0 && trimmed[0] == '{':
		return r.json(d, trimmed)
	case isMountinfo(trimmed):
		part, err := Mountinfo(d.name, d.text)
		r.add(part)
		return forensics.SourceMounts, true, err
	case stream && logs.Recognise(trimmed):
		r.logStream(ctx, d)
		return forensics.SourceLogs, true, nil
	}
	return r.dumps(d)
}

// blanks may stand before a document.
const blanks = " \t\r\n\ufeff"

// isAPIDump says whether a file begins like objects of the API. A list of pods without a resource version is the
// kubelet's own.
func isAPIDump(head []byte) bool {
	head = bytes.TrimLeft(head, blanks)
	if !bytes.HasPrefix(head, []byte("{")) || !apiVersion.Match(head) || bytes.Contains(head, []byte(`"schema"`)) {
		return false
	}
	return !podList.Match(head) || bytes.Contains(head, []byte(`"resourceVersion"`))
}

var (
	apiVersion = regexp.MustCompile(`"apiVersion"\s*:`)
	podList    = regexp.MustCompile(`^\{\s*("apiVersion"\s*:\s*"v1"\s*,\s*)?"kind"\s*:\s*"PodList"`)
)

// isMountinfo says whether the first line has the shape of /proc/PID/mountinfo.
func isMountinfo(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	list, errs := mounts.Parse(bytes.NewReader(line))
	return len(list) == 1 && len(errs) == 0
}

// dumps takes goroutine dumps, which is what a file is that is nothing else.
func (r *reader) dumps(d document) (kind string, used bool, err error) {
	counted := &counter{r: d.text}
	dumps, err := Dumps(d.name, counted)
	if err != nil {
		return "", false, fmt.Errorf("not a file that is known here: %w", err)
	}
	source := forensics.Source{
		Source: forensics.SourceGoroutines + ":" + d.name, Status: forensics.SourceRead, Bytes: counted.n,
	}
	if cut := CutDump(dumps); cut != "" {
		source.Status, source.Detail = forensics.SourceTruncated, cut
		err = fmt.Errorf("%s; what is there of it is judged", cut)
	}
	r.add(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}})
	return forensics.SourceGoroutines, true, err
}
