package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memory is a source that is held in memory.
func memory(path string, content []byte) Source {
	return Source{Path: path, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// collected is when the logs of the tests were collected.
var collected = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// tellingWords select the generator's messages.
var tellingWords = []string{"rphaned pod", "SyncLoop", "durationBeforeRetry"}

// readAll reads a log and returns the entries that hold a word, samples left out.
func readAll(t testing.TB, src Source, opt Options, words ...string) (entries []entry, file File) {
	t.Helper()
	if opt.Now.IsZero() {
		opt.Now = collected
	}
	r := newReader(opt, words, func(_ string, f *found) {
		if slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(f.entry.Raw, w) || strings.Contains(f.entry.Message, w) ||
				slices.ContainsFunc(f.entry.Fields, func(x field) bool { return strings.Contains(x.Value, w) })
		}) {
			entries = append(entries, *f.entry)
		}
	})
	defer r.close()
	return entries, r.file(t.Context(), src)
}

func TestTheStoryCountsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubelet.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	is, err := generate(f, 8<<20)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	story := Read(t.Context(), []Source{onDisk(path)}, Options{Now: collected})
	counts := map[string]int64{}
	for _, e := range story.Events {
		counts[kindWords[e.Kind]] += e.Count
	}
	if diff := cmp.Diff(is.counts, counts); diff != "" {
		t.Errorf("-written +counted\n%s", diff)
	}
	is.selected += 2 * is.counts["durationBeforeRetry"] // both lines of umount are looked for, too, since people quote them alone
	if file := story.Files[0]; file.Lines != is.lines || file.Selected != is.selected {
		t.Errorf("%+v; want %d lines, %d selected", file, is.lines, is.selected)
	}
	if grep, err := exec.LookPath("grep"); err == nil {
		if n := grepCount(t, grep, path, literals()); n != story.Files[0].Selected {
			t.Errorf("grep selects %d lines, this %d", n, story.Files[0].Selected)
		}
	}
}

// kindWords are the words of the generator's messages by what they are read as.
var kindWords = map[Kind]string{KindOrphan: "rphaned pod", kindSyncLoopDelete: "SyncLoop", KindUnmountBusy: "durationBeforeRetry"}

func TestEverythingThatWasWrittenIsFound(t *testing.T) {
	var log bytes.Buffer
	is, err := generate(&log, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(log.String(), "\n")
	entries, file := readAll(t, memory("test", log.Bytes()), Options{}, tellingWords...)
	got := truth{file.Lines, file.Selected, map[string]int64{}}
	for _, e := range entries {
		for _, w := range tellingWords[:3] {
			if strings.Contains(e.Raw, w) {
				got.counts[w]++
			}
		}
		if line := strings.TrimSuffix(e.Raw, "\n"); lines[e.Line-1] != line {
			t.Fatalf("line %d is %q, want %q", e.Line, lines[e.Line-1], line)
		}
		if strings.Contains(e.Raw, "durationBeforeRetry") && !strings.HasSuffix(e.Message, "target is busy.") {
			t.Fatalf("the message is torn: %q", e.Message)
		}
	}
	if diff := cmp.Diff(is, got, cmp.AllowUnexported(truth{})); diff != "" {
		t.Errorf("-written +found\n%s", diff)
	}
	if file.Status != "read" || file.Bytes != int64(log.Len()) || file.Format != "klog" || file.Origin != "kubelet" {
		t.Errorf("%+v of %d bytes, %v", file, log.Len(), slices.Sorted(maps.Keys(is.counts)))
	}
}

// TestTheEndOfALog puts an older line below a newer one: in a text that may be of several logs, the newest is the end; in the log of one
// program, whose clock was set back, the last one is.
func TestTheEndOfALog(t *testing.T) {
	const text = "E1120 10:08:00.000001    2588 kubelet.go:1924] newer\nE1120 10:02:00.000001    2588 kubelet.go:1924] older\n"
	for origin, want := range map[string]string{"": "10:08", "kubelet": "10:02"} {
		opt := Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Zone: time.UTC}
		story := Read(t.Context(), []Source{{Path: "a.log", Origin: origin, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}}, opt)
		if last := story.Files[0].Last; last == nil || last.Format("15:04") != want {
			t.Errorf("origin %q: the log ends at %v, want %s", origin, last, want)
		}
	}
}

// TestOperationsHaveAnOrder has volumes of which events tell only the names, at one moment: each reading lists them in the same order.
func TestOperationsHaveAnOrder(t *testing.T) {
	var text strings.Builder
	for _, volume := range []string{"d", "a", "c", "b"} {
		fmt.Fprintf(&text, `{"kind":"Event","apiVersion":"v1","type":"Warning","reason":"FailedMount","message":"MountVolume.SetUp failed for volume \"%s\" : object \"shop\"/\"x\" not registered",`+
			`"involvedObject":{"kind":"Pod","name":"db-0","namespace":"shop"},"source":{"component":"kubelet","host":"node-1"},"count":2,"firstTimestamp":"2026-11-20T10:00:00Z","lastTimestamp":"2026-11-20T10:25:00Z"}`+"\n", volume)
	}
	for range 20 {
		story := Read(t.Context(), []Source{{Path: "a.log", Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text.String())), nil
		}}}, Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Zone: time.UTC})
		order := ""
		for _, o := range story.Operations {
			order += o.Volume
		}
		if order != "abcd" {
			t.Fatalf("volumes %q, want abcd", order)
		}
	}
}

// newestOf is a journal of which only so many records were asked for.
type newestOf struct {
	io.Reader
	most int64
}

func (newestOf) Close() error        { return nil }
func (n newestOf) MaxRecords() int64 { return n.most }

// TestNewestRecords says that a journal was cut where it gave as many records as were asked for: it may have more.
func TestNewestRecords(t *testing.T) {
	for most, want := range map[int64]string{2: "truncated", 3: "truncated", 4: "read", 0: "read"} {
		s := Read(t.Context(), []Source{{Path: "journal:x", Open: func(context.Context) (io.ReadCloser, error) {
			return newestOf{strings.NewReader(strings.Repeat("Nov 20 10:00:00 n1 kubelet[7]: I1120 10:00:00.000001       7 x.go:1] x\n", 3)), most}, nil
		}}}, Options{Now: collected})
		if f := s.Files[0]; f.Status != want || f.Lines != 3 {
			t.Errorf("3 records of %d that were asked for: %s, %d lines, %s", most, f.Status, f.Lines, f.Detail)
		}
	}
}
