package read_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/nodeforensics/nodeforensics/forensics/read"
)

type packed struct{ name, text string }

func tarOf(t testing.TB, list ...packed) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o600, ModTime: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
		if target, ok := strings.CutPrefix(f.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, f.text = tar.TypeSymlink, target, 0, ""
		}
		_, err := "", w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipOf(t testing.TB, list ...packed) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range list {
		header := &zip.FileHeader{Name: f.name}
		if f.text != "" {
			header.Method = zip.Deflate
		}
		out, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(out, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipOf(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func zstdOf(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

// logLine as xz and bzip2 compress it.
const (
	xzLog    = "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\xe0\x00\x5d\x00\x59\x5d\x00\x24\x8c\x6c\x64\x30\x10\x89\xe4\xc6\xf8\x4f\xb6\x42\x4b\x47\x0c\xe7\x0e\x08\x26\xd8\x5b\x3f\x31\x9b\x68\xfc\x81\x5b\x51\x55\x05\x2d\x34\x1e\xfe\xd3\x55\x1e\x4f\xe5\x1f\xe2\x47\xc8\xe6\x8c\x7b\xaa\xa8\xb6\x92\x05\xd9\xbb\x9a\x9c\xff\xeb\xb1\x42\x2c\x72\x54\x65\xa6\x53\x83\x2f\xab\x8b\xac\xf9\xe3\x8a\x8e\x04\x50\x49\xd8\xf3\x8c\x30\x24\x3c\xe8\xc3\x00\x00\x00\x00\x00\x00\xeb\x86\x87\xe3\xc6\xca\xf7\xfd\x00\x01\x75\x5e\x6b\x44\x1d\xfe\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a"
	bzip2Log = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xad\xe4\xb8\x1a\x00\x00\x19\x5f\x80\x50\x10\x50\x01\xf2\x52\x06\x24\x0c\x0a\x3f\xad\xde\x20\x20\x00\x54\x61\xea\x01\xa7\xa4\x06\xd4\x07\xa8\x0d\x1e\x50\x8a\x78\xa0\xf5\x34\x06\x4d\x0d\x03\x40\x68\x1c\xd7\x94\x51\x91\xf4\xa4\x07\xb1\x1c\xc7\x4f\x00\x15\x88\x34\x56\x46\x74\xda\xac\x0c\x25\x91\xa2\x1d\xbe\x09\xae\x7a\x64\xee\x32\x02\x03\x30\xe9\x3e\x49\x2e\x63\xde\x8e\x3e\xca\x31\x54\x94\x87\x38\xbc\xa6\x86\x83\x05\x66\x9d\x7f\x17\x72\x45\x38\x50\x90\xad\xe4\xb8\x1a"
)

// onDisk hides nothing of a file, which can be read at any place.
func onDisk(name, text string) read.File {
	return read.File{Name: name, Open: func() (read.Content, error) { return content{bytes.NewReader([]byte(text)), int64(len(text))}, nil }}
}

type content struct {
	*bytes.Reader
	size int64
}

func (content) Close() error       { return nil }
func (c content) Size() int64      { return c.size }
func (content) ModTime() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// piped can be read once, from its beginning to its end.
func piped(name, text string) read.File {
	return read.File{Name: name, Stream: true, Open: func() (read.Content, error) {
		return struct {
			io.Reader
			io.Closer
			sized
		}{strings.NewReader(text), io.NopCloser(nil), sized{}}, nil
	}}
}

type sized struct{}

func (sized) Size() int64        { return 0 }
func (sized) ModTime() time.Time { return time.Time{} }

// Whatever a bundle is packed with, its members are read like single files.
func TestMembersAreRead(t *testing.T) {
	t.Parallel()
	var long strings.Builder // more than is kept in memory (stashSize of package logs), out of order
	for range 120_000 {
		long.WriteString(strings.Repeat("x", 50) + " kubelet.go\n" + logLine)
	}
	bundle := []packed{
		{"d/mounts", mountLine},
		{"d/late.log", strings.Replace(logLine, "10:00", "11:00", 1)},
		{"d/dump", stack},
		{"d/kubelet.log", logLine},
		{"d/link", "-> /etc/shadow"},
		{"d/readme", "hello\n"},
		{"d/picture", "\x89PNG\r\n\x1a\n"},
		{"d/old.log.gz", gzipOf(logLine)},
		{"d/1.xz", xzLog},
		{"d/1.bz2", bzip2Log},
	}
	plain := slices.Clone(bundle)
	plain[4].text = "a link\n" // a zip of package zip has none
	for name, text := range map[string]string{
		"tar":        tarOf(t, bundle...),
		"tar.gz":     gzipOf(tarOf(t, bundle...)),
		"tar.zst":    zstdOf(tarOf(t, bundle...)),
		"zip":        zipOf(t, plain...),
		"tar in zip": zipOf(t, packed{"inner.tar.gz", gzipOf(tarOf(t, bundle...))}),
		"zip in tar": tarOf(t, packed{"inner.zip", zipOf(t, plain...)}),
		"large":      gzipOf(tarOf(t, append(slices.Clone(bundle), packed{"d/large-1", long.String()}, packed{"d/large-2", long.String()})...)),
	} {
		for kind, open := range map[string]func(name, text string) read.File{"file": onDisk, "stream": piped} {
			nodes, results := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, open("b", text))
			e := nodes[0]
			var used, skipped []string
			for _, r := range results {
				if !strings.HasPrefix(r.Name, "b:") {
					t.Errorf("%s, %s: %+v", name, kind, r)
				}
				short := r.Name[strings.LastIndex(r.Name, "/")+1:]
				if r.Used {
					used = append(used, short)
				} else {
					skipped = append(skipped, fmt.Sprint(short, ": ", r.Err))
				}
			}
			want := []string{"mounts", "dump", "kubelet.log", "old.log.gz", "late.log", "1.xz", "1.bz2"}
			if name == "large" {
				want = append(want, "large-1", "large-2")
			}
			slices.Sort(want)
			slices.Sort(used)
			if !slices.Equal(used, want) || len(e.Mounts.Mounts) != 1 || len(e.Dumps) != 1 || e.Logs == nil {
				t.Errorf("%s, %s: used %q, want %q; skipped %q", name, kind, used, want, skipped)
			}
			if strings.Contains(fmt.Sprint(skipped), "link:") && name != "zip" && !strings.Contains(name, "in") {
				t.Errorf("%s: a link was read", name)
			}
		}
	}
}

// What is made to keep a reader busy ends with one result that says why.
func TestBombs(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("unpacks gigabytes, which the race detector multiplies; TestMembersAreRead has the same code run beside itself")
	}
	for name, tt := range map[string]struct{ text, says string }{
		"too deep":       {gzipOf(tarOf(t, packed{"a.tar", tarOf(t, packed{"b.tar", tarOf(t, packed{"kubelet.log", logLine})})})), "an archive in an archive"},
		"zeros":          {zeros(t, 1), "decompression bomb"},
		"zeros in a tar": {zeros(t, 2), "decompression bomb"},
		"names":          {gzipOf(names(t)), "more than 100,000 files"},
		"names in a zip": {zipNames(t), "more than 100,000 files"},
		"cut":            {gzipOf(tarOf(t, packed{"a", logLine}, packed{"b", random()}))[:20_000], "incomplete"},
	} {
		for kind, open := range map[string]func(name, text string) read.File{"file": onDisk, "stream": piped} {
			if strings.Contains(name, "names") && kind == "stream" {
				continue
			}
			_, results := read.Files(t.Context(), read.Options{}, open("b", tt.text))
			if !slices.ContainsFunc(results, func(r read.Result) bool { return r.Err != nil && strings.Contains(r.Err.Error(), tt.says) }) {
				t.Errorf("%s, %s: nothing says %q: %d results, %+v", name, kind, tt.says, len(results), results[:min(len(results), 3)])
			}
		}
	}
}

// zeros are 300 MB of them, in a gzip, and with 2 in a member of a tar.
func zeros(t *testing.T, levels int) string {
	t.Helper()
	const size = 300 << 20
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var out io.Writer = z
	if levels > 1 {
		w := tar.NewWriter(z)
		if err := w.WriteHeader(&tar.Header{Name: "zeros", Size: size, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		out = w
	}
	block := make([]byte, 1<<20)
	for range size / len(block) {
		if _, err := out.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func names(t *testing.T) string {
	t.Helper()
	var list []packed
	for i := range 100_100 {
		list = append(list, packed{fmt.Sprint("f", i), ""})
	}
	return tarOf(t, list...)
}

func zipNames(t *testing.T) string {
	t.Helper()
	var list []packed
	for i := range 100_100 {
		list = append(list, packed{fmt.Sprintf("a-directory-with-a-long-name/and-a-file-with-another-%d", i), ""})
	}
	return zipOf(t, list...)
}

// An archive ends with its context.
func TestArchivesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes, results := read.Files(ctx, read.Options{}, onDisk("b", tarOf(t, packed{"a", logLine})))
	if len(nodes[0].Coverage) > 0 || len(results) > 0 && !errors.Is(results[0].Err, context.Canceled) {
		t.Errorf("%v, %+v", nodes, results)
	}
}

// FuzzArchive reads what begins like an archive.
func FuzzArchive(f *testing.F) {
	for _, seed := range []string{
		tarOf(f, packed{"a", logLine}, packed{"l", "-> /x"}), gzipOf(tarOf(f, packed{"a", stack})), zipOf(f, packed{"a", mountLine}),
		zstdOf(logLine), xzLog, bzip2Log, zipOf(f, packed{"b.tar", tarOf(f, packed{"a", logLine})}),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, open := range []func(name, text string) read.File{onDisk, piped} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			read.Files(ctx, read.Options{Now: time.Unix(1<<31, 0)}, open("b", string(text)))
			cancel()
		}
	})
}

// random is text that does not get smaller.
func random() string {
	b := make([]byte, 64<<10)
	rng := uint32(1)
	for i := range b {
		rng = rng*1664525 + 1013904223
		b[i] = byte(rng >> 24)
	}
	return string(b)
}

// Members of a compressed archive can be opened again, in any order; those of standard input only once.
func TestMembersAreReadAgain(t *testing.T) {
	inner := tarOf(t, packed{"deep.log", "deep"})
	text := gzipOf(tarOf(t, packed{"a.log", "first"}, packed{"b.log", "second"}, packed{"inner.tar", inner}, packed{"c.log", strings.Repeat("third ", 100_000)}))
	want := map[string]string{"all.tar.gz:a.log": "first", "all.tar.gz:b.log": "second", "all.tar.gz:inner.tar:deep.log": "deep", "all.tar.gz:c.log": strings.Repeat("third ", 100_000)}
	files := map[string]read.File{}
	var names []string
	results := read.Each(t.Context(), []read.File{read.FSFile(fstest.MapFS{"all.tar.gz": {Data: []byte(text)}}, "all.tar.gz")}, func(_ context.Context, f read.File) {
		files[f.Name] = f
		if f.Name != "all.tar.gz:b.log" { // which is read later alone
			content, err := f.Open()
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := io.ReadAll(content); err != nil || string(got) != want[f.Name] {
				t.Errorf("%s: %.20q %v", f.Name, got, err)
			}
			_ = content.Close()
		}
		names = append(names, f.Name)
		if f.Stream {
			t.Errorf("%s: can be read only once", f.Name)
		}
	})
	if len(results) > 0 || len(files) != len(want) {
		t.Fatalf("%v %v", names, results)
	}
	slices.Sort(names)
	for _, name := range slices.Concat(names, names[2:], names[:2], names[1:2], names[1:2]) {
		content, err := files[name].Open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(content)
		if err != nil || string(got) != want[name] {
			t.Errorf("%s: %.20q %v", name, got, err)
		}
		_ = content.Close()
	}
	once := read.FSFile(fstest.MapFS{"stdin": {Data: []byte(text)}}, "stdin")
	once.Stream = true
	read.Each(t.Context(), []read.File{once}, func(_ context.Context, f read.File) {
		content, err := f.Open()
		if err != nil || !f.Stream {
			t.Errorf("%s: %v, stream: %v", f.Name, err, f.Stream)
			return
		}
		_ = content.Close()
		if _, err := f.Open(); err == nil {
			t.Errorf("%s was opened again", f.Name)
		}
	})
}
