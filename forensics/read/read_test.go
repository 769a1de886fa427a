package read_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

const (
	logLine   = `I1120 10:00:00.000000    1 kubelet.go:2058] "SyncLoop DELETE" source="api" pods=["default/a"]` + "\n"
	mountLine = "21 1 0:20 / /mnt rw - nfs server:/a rw\n"
	stack     = "goroutine 1 [select, 7 minutes]:\nmain.main()\n\t/a/main.go:1 +0x1\n"
	podObject = `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"7"},"items":[{"kind":"Pod","metadata":{"name":"a","namespace":"b"}}]}`
)

// What a file is, is told by its content, and what is wrong with one spoils no other.
func TestFilesAreRecognised(t *testing.T) {
	for name, tt := range map[string]struct {
		text, kind string
		used       bool
		err        string // a part of it
	}{
		"log":           {logLine, forensics.SourceLogs, true, ""},
		"mount table":   {mountLine, forensics.SourceMounts, true, ""},
		"a bad line":    {mountLine + "bad\n", forensics.SourceMounts, true, "1 bad line"},
		"dump":          {stack, forensics.SourceGoroutines, true, ""},
		"pods":          {`{"kind":"PodList","items":[]}`, forensics.SourceKubeletPods, true, ""},
		"objects":       {podObject, forensics.SourceAPIDump, true, ""},
		"evidence":      {`{"schema":"nodeforensics.evidence/v1"}`, "evidence", true, ""},
		"labels last":   {`{"evidence":{"root":"` + strings.Repeat("/", 70_000) + `"},"schema":"nodeforensics.report/v1"}`, "report", true, ""},
		"pods, so last": {`{"items":[],"x":"` + strings.Repeat("x", 70_000) + `","kind":"PodList"}`, forensics.SourceKubeletPods, true, ""},
		"objects, last": {`{"items":[{"kind":"Pod","metadata":{"name":"a","namespace":"b"}}],"kind":"List"}`, forensics.SourceAPIDump, true, ""},
		"other JSON":    {`{"a":1}`, "", false, "unrecognized JSON"},
		"text like it":  {"{not JSON\n", "", false, "JSON: "},
		"blanks":        {" \n", "", false, "the file is empty"},
		"report":        {`{"evidence":{"root":"/"},"schema":"nodeforensics.report/v2"}`, "report", true, ""},
		"broken report": {`{"schema":"nodeforensics.report/v2","findings":7}`, "report", false, "findings"},
		"report of v1":  {`{"evidence":{"root":"/"},"schema":"nodeforensics.report/v1","findings":[{"remedies":[{"command":"kill 1","precondition":"x"}]}]}`, "report", true, ""},
		"newer":         {`{"schema":"nodeforensics.report/v9"}`, "", false, "unknown schema"},
		"empty":         {"", "", false, "the file is empty"},
		"prose":         {"hello\n", "", false, "unrecognized format"},
	} {
		for _, stream := range []bool{false, true} {
			f := read.FSFile(fstest.MapFS{"a": {Data: []byte(tt.text)}}, "a")
			f.Stream = stream
			table := read.FSFile(fstest.MapFS{"mounts": {Data: []byte(mountLine)}}, "mounts")
			nodes, results := read.Files(t.Context(), read.Options{}, f, table)
			e := nodes[0]
			if len(results) != 2 || len(e.Mounts.Mounts) != 1 {
				t.Fatalf("%s: %d results, %d mounts", name, len(results), len(e.Mounts.Mounts))
			}
			got := results[0]
			if got.Name != "a" { // logs are read last
				got = results[1]
			}
			if got.Kind != tt.kind || got.Used != tt.used || (got.Err == nil) != (tt.err == "") || got.Err != nil && !strings.Contains(got.Err.Error(), tt.err) {
				t.Errorf("%s, stream %v: %+v", name, stream, got)
			}
		}
	}
}

// A log tells of its dump, too, whether it can be read once or often.
func TestDumpInLog(t *testing.T) {
	for _, stream := range []bool{false, true} {
		f := read.FSFile(fstest.MapFS{"a": {Data: []byte(logLine + stack)}}, "a")
		f.Stream = stream
		nodes, _ := read.Files(t.Context(), read.Options{}, f)
		e := nodes[0]
		if len(e.Dumps) != 1 || e.Logs == nil || len(e.Logs.Events) == 0 {
			t.Errorf("stream %v: %d dumps, logs %v", stream, len(e.Dumps), e.Logs)
		}
	}
}

// Lines of a log that name neither year nor zone are put where the caller says the node's clock was.
func TestLogsAreReadByTheClockOfTheNode(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	opt := read.Options{Now: time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC), Zone: func() *time.Location { return zone }}
	nodes, _ := read.Files(t.Context(), opt, read.FSFile(fstest.MapFS{"a": {Data: []byte(logLine)}}, "a"))
	first := nodes[0].Logs.First
	if want := time.Date(2020, 11, 20, 10, 0, 0, 0, zone); first == nil || !first.Equal(want) {
		t.Errorf("the first message is of %v, want %v", first, want)
	}
}

// A text with an event as JSON beside lines of a log was read: both tell.
func TestEventBesideLog(t *testing.T) {
	const event = `{"apiVersion":"v1","kind":"Event","type":"Warning","reason":"SystemOOM","message":"System OOM encountered, victim process: java, pid: 4711","involvedObject":{"kind":"Node","name":"n-1"},"lastTimestamp":"2026-11-20T10:00:00Z","count":1}`
	f := read.FSFile(fstest.MapFS{"a": {Data: []byte("what is this?\n\n" + event + "\n\n" + logLine)}}, "a")
	nodes, results := read.Files(t.Context(), read.Options{}, f)
	if len(results) != 1 || !results[0].Used || nodes[0].Logs == nil || len(nodes[0].Logs.Events) < 2 {
		t.Errorf("%+v, logs %+v", results, nodes[0].Logs)
	}
}

// Two examinations would mix two nodes.
func TestSecondExaminationIsRefused(t *testing.T) {
	f := read.FSFile(fstest.MapFS{"a": {Data: []byte(`{"schema":"nodeforensics.evidence/v1","collected":"2026-11-20T10:00:00Z"}`)}}, "a")
	_, results := read.Files(t.Context(), read.Options{}, f, f)
	if len(results) != 2 || results[0].Err != nil || results[1].Err == nil {
		t.Errorf("%+v", results)
	}
}

// A file that does not answer keeps nothing from being judged that was read before, and adds nothing later.
func TestFilesEndWithTheContext(t *testing.T) {
	release, opened := make(chan struct{}), make(chan struct{})
	slow := read.File{Name: "slow", Open: func() (read.Content, error) {
		close(opened)
		<-release
		return nil, fs.ErrNotExist
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-opened
		cancel()
	}()
	nodes, results := read.Files(ctx, read.Options{}, read.FSFile(fstest.MapFS{"a": {Data: []byte(mountLine)}}, "a"), slow)
	if len(results) != 1 || len(nodes[0].Mounts.Mounts) != 1 {
		t.Errorf("%+v", results)
	}
	close(release)
}

// The reason of an error comes without the name, which is told beside it.
func TestErrorsOfStreams(t *testing.T) {
	broken := errors.New("broken")
	f := read.File{Name: "-", Stream: true, Open: func() (read.Content, error) {
		return failing{err: &fs.PathError{Op: "read", Path: "/dev/stdin", Err: broken}}, nil
	}}
	if _, results := read.Files(t.Context(), read.Options{}, f); len(results) != 1 || results[0].Err == nil || results[0].Err.Error() != "broken" {
		t.Errorf("%+v", results)
	}
}

type failing struct {
	io.ReadCloser
	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }
func (failing) Close() error               { return nil }
func (failing) Size() int64                { return 0 }
func (failing) ModTime() time.Time         { return time.Time{} }

// A log that stops coming was used as far as it came, one that is refused was not.
func TestLogsThatWereNotReadToTheEnd(t *testing.T) {
	line := "E1120 10:27:45.000000   15709 kubelet.go:2448] \"Error getting node\" err=\"node \\\"node-1\\\" not found\"\n"
	for _, c := range []struct {
		lines int
		used  bool
	}{{0, false}, {30_000, true}} {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		go func() {
			_, _ = io.WriteString(in, strings.Repeat(line, max(c.lines, 1)))
			if c.lines == 0 {
				_ = in.CloseWithError(fs.ErrPermission)
				return
			}
			cancel() // and nothing more comes
		}()
		f := read.File{Name: "kubelet.log", Stream: true, Open: func() (read.Content, error) { return stopping{out}, nil }}
		_, results := read.Files(ctx, read.Options{}, f)
		cancel()
		if len(results) != 1 || results[0].Used != c.used || results[0].Err == nil {
			t.Errorf("%d lines: %+v, want used: %v", c.lines, results, c.used)
		}
		_ = out.Close()
	}
}

type stopping struct{ *io.PipeReader }

func (stopping) Size() int64        { return 0 }
func (stopping) ModTime() time.Time { return time.Time{} }

// Any of the objects that matter makes a dump, also where there are as many of one kind as of another.
func TestAPIDumpOfFewObjects(t *testing.T) {
	kinds := map[string]string{
		"Pod": "v1", "Node": "v1", "PersistentVolumeClaim": "v1", "PersistentVolume": "v1", "ReplicaSet": "apps/v1",
	}
	object := func(kind string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"x","namespace":"y","uid":"1"},"spec":{"nodeName":"n"}}`, kinds[kind], kind)
	}
	for a := range kinds {
		for b := range kinds {
			text := `{"apiVersion":"v1","kind":"List","items":[` + object(a) + "," + object(b) + "]}"
			if part, err := read.APIDump("dump", time.Time{}, strings.NewReader(text)); err != nil || part.Cluster == nil {
				t.Errorf("%s and %s: %v, cluster: %v", a, b, err, part.Cluster)
			}
		}
	}
	for _, text := range []string{`{"apiVersion":"v1","kind":"List","items":[]}`, `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}]}`} {
		if part, err := read.APIDump("dump", time.Time{}, strings.NewReader(text)); err == nil || part.Cluster != nil {
			t.Errorf("%s: %v, cluster: %v", text, err, part.Cluster)
		}
	}
}
