package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// lines are so many lines of a kubelet, a second apart, of which those hold a word whose number is a multiple of ten.
func lines(from time.Time, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		text := "nothing of interest"
		if i%10 == 0 {
			text = fmt.Sprintf("orphaned pod %d", i)
		}
		fmt.Fprintf(&b, "I%s    2588 a.go:1] %s\n", from.Add(time.Duration(i)*time.Second).Format("0102 15:04:05.000000"), text)
	}
	return b.Bytes()
}

const orphanWord = "orphaned pod"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func gzipped(t testing.TB, text []byte, written time.Time) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.ModTime = written
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, text []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(text, nil)
}

func TestQuirksOfFiles(t *testing.T) {
	plain := lines(noon, 100)
	long := bytes.Replace(plain, []byte("of interest"), bytes.Repeat([]byte("x"), 3*chunkSize), 1)
	torn := gzipped(t, lines(noon, 20_000), time.Time{})
	packed := zstandard(t, lines(noon, 20_000))
	broken := bytes.Clone(torn)
	broken[len(broken)/2] ^= 0xff
	for _, c := range []struct {
		name                 string
		content              []byte
		status, format, says string
		entries              int // -1 is at least one
	}{
		{name: "plain", content: plain, status: "read", format: "klog", says: "the year is inferred", entries: 10},
		{name: "empty", status: "read"},
		{name: "gzip", content: gzipped(t, plain, time.Time{}), status: "read", format: "gzip+klog", entries: 10},
		{name: "gzip of two parts", content: append(gzipped(t, plain[:1000], time.Time{}), gzipped(t, plain[1000:], time.Time{})...), status: "read", format: "gzip+klog", entries: 10},
		{name: "zstd", content: zstandard(t, plain), status: "read", format: "zstd+klog", entries: 10},
		{name: "gzip that was cut", content: torn[:len(torn)-20], status: "truncated", format: "gzip+klog", says: "data is incomplete", entries: -1},
		{name: "gzip that is broken", content: broken, status: "malformed", format: "gzip+klog", entries: -1},
		{name: "zstd that was cut", content: packed[:len(packed)-20], status: "truncated", format: "zstd+klog", says: "data is incomplete", entries: -1},
		{name: "no line end at the end", content: bytes.TrimSuffix(plain, []byte("\n")), status: "read", format: "klog", entries: 10},
		{name: "endless line", content: long, status: "read", format: "klog", says: "1 lines are longer", entries: 10},
		{name: "nothing but NULs", content: make([]byte, 3*chunkSize+5), status: "read", says: "1 lines are longer"},
		{name: "NULs between lines", content: bytes.Join([][]byte{plain[:1000], make([]byte, 5000), plain[1000:]}, nil), status: "read", format: "klog", entries: 10},
		{name: "binary junk", content: junk(chunkSize), status: "read"},
		{name: "carriage returns", content: bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")), status: "read", format: "klog", entries: 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, file := readAll(t, memory("test", c.content), Options{}, orphanWord)
			if c.entries >= 0 && len(entries) != c.entries || c.entries < 0 && len(entries) == 0 {
				t.Errorf("%d entries, want %d", len(entries), c.entries)
			}
			if file.Status != c.status || file.Format != c.format || !strings.Contains(file.Detail, c.says) {
				t.Errorf("%+v; want %s, format %q, detail %q", file, c.status, c.format, c.says)
			}
			if file.Format == "klog" && (c.entries < 0 || file.Bytes != int64(len(c.content))) {
				t.Errorf("%d bytes of %d", file.Bytes, len(c.content))
			}
		})
	}
}

// junk is text without sense, the same each time.
func junk(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

func TestMessagesAreNotTornBetweenChunks(t *testing.T) {
	message := "E1120 12:00:00.000000    2588 a.go:1] Operation failed: orphaned pod\nUnmounting arguments: /x\nOutput: umount: /x: target is busy.\n"
	other := "I1120 12:00:00.000000    2588 a.go:1] nothing\n"
	for _, partial := range []bool{false, true} {
		if partial { // in a container's log
			const at = "2026-11-20T12:00:00.000000Z stderr "
			message = at + "P E1120 12:00:00.000000    2588 a.go:1] Operation failed: orphaned pod\n" + at + "F , and more: target is busy.\n"
			other = at + "F " + other
		}
		for shift := 0; shift < 3*len(message); shift += 5 {
			log := strings.Repeat(other, chunkSize/len(other)-3) + strings.Repeat("x", shift) + "\n" + message + other
			entries, _ := readAll(t, memory("test", []byte(log)), Options{Workers: 1}, orphanWord)
			if len(entries) != 1 || !strings.HasSuffix(entries[0].Message, "target is busy.") || !strings.HasPrefix(entries[0].Message, "Operation") {
				t.Fatalf("shifted by %d: %+v", shift, entries)
			}
		}
	}
}

func TestALineBelongsToTheMessageAboveIt(t *testing.T) {
	const log = "E1120 12:00:00.000000    2588 a.go:1] \"Unmount failed\" err=<\n\texit status 32\n\torphaned pod\n > pod=\"default/web\"\nI1120 12:00:01.000000    2588 a.go:1] x\n"
	for name, c := range map[string]struct {
		prefix string
		json   bool
	}{
		"file":    {},
		"journal": {prefix: "Nov 20 12:00:00 worker-1 kubelet[2588]: "},
		"cri":     {prefix: "2026-11-20T12:00:00.000000Z stderr F "},
		"json":    {json: true},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for line := range strings.Lines(log) {
				if c.json {
					line = fmt.Sprintf("{\"__REALTIME_TIMESTAMP\":\"1795176000000000\",\"SYSLOG_IDENTIFIER\":\"kubelet\",\"_PID\":\"2588\",\"MESSAGE\":%q}\n", strings.TrimSuffix(line, "\n"))
				}
				b.WriteString(c.prefix + line)
			}
			entries, file := readAll(t, memory("test", []byte(b.String())), Options{}, orphanWord)
			if len(entries) != 1 || entries[0].Message != "Unmount failed" || entries[0].Get("pod") != "default/web" || entries[0].Line != 1 || entries[0].Get("err") != "exit status 32\norphaned pod" {
				t.Errorf("%+v", entries)
			}
			if file.Lines != 5 || file.Selected != 1 {
				t.Errorf("%+v", file)
			}
		})
	}
}

func TestAnotherWritersLineEndsAMessage(t *testing.T) {
	const log = "Nov 20 12:00:00 worker-1 kubelet[2588]: E1120 12:00:00.000000    2588 a.go:1] Operation failed\n" +
		"Nov 20 12:00:00 worker-1 cron[7]: orphaned pod\nNov 20 12:00:00 worker-1 kernel: [ 1.2] orphaned pod\n"
	entries, _ := readAll(t, memory("test", []byte(log)), Options{}, orphanWord)
	if len(entries) != 2 || entries[0].Origin != "cron" || entries[1].Origin != "kernel" || entries[1].Message != orphanWord {
		t.Errorf("%+v", entries)
	}
}

func TestTheWindowBoundsWhatCounts(t *testing.T) {
	log := append(lines(noon, 100), lines(noon.Add(-time.Hour), 50)...) // the clock was set back
	log = append(log, "goroutine 7 [orphaned pod]:\n"...)               // of the line above it
	log = append(log, lines(noon.Add(2*time.Minute), 50)...)
	for _, c := range []struct {
		name         string
		since, until time.Time
		want         int
	}{
		{"all", time.Time{}, time.Time{}, 21},
		{"since", noon.Add(95 * time.Second), time.Time{}, 5},
		{"until", time.Time{}, noon.Add(30 * time.Second), 10},
		{"both", noon, noon.Add(30 * time.Second), 4},
		{"long ago", noon.Add(time.Hour), time.Time{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, file := readAll(t, memory("test", log), Options{Since: c.since, Until: c.until}, orphanWord)
			if len(entries) != c.want {
				t.Errorf("%d entries, want %d", len(entries), c.want)
			}
			if file.First == nil || !file.First.Equal(noon) || !file.Last.Equal(noon.Add(2*time.Minute+49*time.Second)) {
				t.Errorf("from %v to %v", file.First, file.Last)
			}
		})
	}
}

func TestWhatCannotBeReadIsTold(t *testing.T) {
	failing := func(err error) Source {
		return Source{Path: "test", Open: func(context.Context) (io.ReadCloser, error) { return nil, err }}
	}
	for status, err := range map[string]error{
		"absent": &fs.PathError{Op: "open", Path: "test", Err: fs.ErrNotExist}, "denied": fs.ErrPermission, "malformed": errors.New("no"),
	} {
		if _, file := readAll(t, failing(err), Options{}, orphanWord); file.Status != status || !strings.Contains(file.Detail, err.Error()) {
			t.Errorf("%+v; want %s", file, status)
		}
	}
	later := Source{Path: "test", Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(lines(noon, 100)), brokenReader{})), nil
	}}
	if entries, file := readAll(t, later, Options{}, orphanWord); file.Status != "malformed" || len(entries) != 10 {
		t.Errorf("%+v, %d entries", file, len(entries))
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestALogThatDoesNotAnswerIsLeftBehind(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.Close(), r.Close() })
	if _, err := w.Write(lines(noon, 100)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reading := make(chan struct{})
	stuck := Source{Path: "stuck", Open: func(context.Context) (io.ReadCloser, error) { return noClose{r, reading}, nil }}
	go func() { <-reading; cancel() }()
	story := Read(ctx, []Source{stuck, memory("later", lines(noon, 10))}, Options{Now: collected})
	for _, file := range story.Files {
		if file.Status != "timeout" {
			t.Errorf("%+v; want a timeout", file)
		}
	}
}

// noClose tells when it is read for the second time, and cannot be closed, as a file on a dead server.
type noClose struct {
	io.Reader
	second chan struct{}
}

func (n noClose) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p[:min(len(p), 4096)])
	select {
	case <-n.second:
	default:
		close(n.second)
	}
	return k, err
}

func (noClose) Close() error { select {} }

// seekable is a log of a file: its size is known, and any place of it can be read.
type seekable struct{ *bytes.Reader }

func (seekable) Close() error { return nil }

func TestALargeLogIsReadFromWhereTheWindowBegins(t *testing.T) {
	var b bytes.Buffer
	for i := 0; b.Len() < skipAbove+skipAbove/8; i++ {
		fmt.Fprintf(&b, "I%s    2588 a.go:1] orphaned pod %d %0200d\n", noon.Add(time.Duration(i)*time.Second).Format("0102 15:04:05.000000"), i, 0)
	}
	n := bytes.Count(b.Bytes(), []byte("\n"))
	since := noon.Add(time.Duration(n-1000) * time.Second)
	source := Source{Path: "large", Origin: "kubelet", Open: func(context.Context) (io.ReadCloser, error) { return seekable{bytes.NewReader(b.Bytes())}, nil }}
	entries, file := readAll(t, source, Options{Since: since, Now: noon.AddDate(0, 1, 0)}, orphanWord)
	if len(entries) != 1000 || entries[0].Line != 0 || !entries[0].Time.Equal(since) {
		t.Errorf("%d entries from %v, line %d; want 1000 from %v", len(entries), entries[0].Time, entries[0].Line, since)
	}
	if file.Bytes > skipAbove/4 || !strings.Contains(file.Detail, "older than the time window") || file.Status != "read" {
		t.Errorf("%+v", file)
	}
}

func TestTheYearOfACompressedLogIsThatOfItsContent(t *testing.T) {
	written := time.Date(2023, 3, 1, 0, 0, 0, 0, time.UTC)
	log := gzipped(t, lines(time.Date(2023, 2, 28, 12, 0, 0, 0, time.UTC), 10), written)
	if _, file := readAll(t, memory("test", log), Options{}, orphanWord); file.First == nil || file.First.Year() != 2023 {
		t.Errorf("from %v, want 2023", file.First)
	}
}

func TestALogOfTheControllerManagerIsToldByItsContent(t *testing.T) {
	const log = "I1120 12:00:00.000000       1 controllermanager.go:179] Version: v1.30.0\nI1120 12:00:01.000000       1 shared_informer.go:320] orphaned pod\n"
	if entries, file := readAll(t, memory("test", []byte(log)), Options{}, orphanWord); file.Origin != "kube-controller-manager" || entries[0].Origin != file.Origin {
		t.Errorf("%+v, %+v", file, entries)
	}
	const k3s = log + "I1120 12:00:01.000000       1 kubelet.go:1] orphaned pod\n"
	if entries, _ := readAll(t, memory("test", []byte(k3s)), Options{}, orphanWord); entries[1].Origin != "kubelet" {
		t.Errorf("%+v", entries)
	}
}

func TestLogsAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		klogLine: true, klogJSONLine: true, "-- Logs begin at Sat --\nNov 21 10:00:02 worker-1 kubelet[2588]: x\n": true, "[    0.000000] Linux version": true,
		"goroutine 1 [running]:\nmain.main()\n": false, "": false, "{\n \"schema\": \"x\"\n}\n": false, `{"schema":"nodeforensics.report/v2"}`: false,
		"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n": false, "hello\nworld\n": false,
	} {
		if Recognise([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	at := firstTime(bytes.NewReader(gzipped(t, append([]byte("-- no time --\n"), lines(noon, 3)...), time.Time{})), Options{Now: collected})
	if !at.Equal(noon) {
		t.Errorf("the first time is %v", at)
	}
}
