package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packed is a parcel of two files.
func packedAs(t testing.TB, p parcel) []byte {
	t.Helper()
	var stream bytes.Buffer
	if err := p.pack(&stream, []rendering{{"report.html", 3, writing([]byte("<p>"))}, {"report.json", 2, writing([]byte("{}"))}}); err != nil {
		t.Fatal(err)
	}
	return stream.Bytes()
}

// send unpacks that parcel, cut to a length; 0 is the whole.
func send(t testing.TB, p parcel, length int) ([]string, error) {
	t.Helper()
	text := packedAs(t, p)
	if length > 0 {
		text = text[:length]
	}
	return unpack(bytes.NewReader(text))
}

func TestAShortParcelLeavesNothing(t *testing.T) {
	whole := packedAs(t, parcel{Dir: "x"})
	dir := t.TempDir()
	header, _ := json.Marshal(parcel{Dir: dir, Files: []filePart{{"report.html", 3}, {"report.json", 2}}})
	for length := 1; length < len(header)+1+5; length++ {
		written, err := send(t, parcel{Dir: dir}, length)
		if err == nil || len(written) > 0 {
			t.Errorf("%d bytes of %d: wrote %q, %v", length, len(whole), written, err)
		}
		if names := namesIn(t, dir); len(names) > 0 {
			t.Fatalf("%d bytes left %q", length, names)
		}
		if length > len(header) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v, want %v", length, err, io.ErrUnexpectedEOF)
		}
	}
	if written, err := send(t, parcel{Dir: dir}, 0); err != nil || len(written) != 2 {
		t.Errorf("the whole: %q, %v", written, err)
	}
}

func TestNothingIsReplacedAndNoLinkFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for _, c := range []struct {
		name string
		make func(path string) error
	}{
		{"another report", func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) }},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a link", func(path string) error { return os.Symlink(outside, path) }},
		{"a link to nothing", func(path string) error { return os.Symlink("nothing", path) }},
	} {
		for _, taken := range []string{"report.html", "report.json"} {
			t.Run(c.name+" at "+taken, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, taken)
				if err := errors.Join(os.WriteFile(outside, []byte("safe"), 0o600), c.make(path)); err != nil {
					t.Fatal(err)
				}
				before, _ := os.Lstat(path)
				written, err := send(t, parcel{Dir: dir}, 0)
				want := []string{filepath.Join(dir, "report-2.html"), filepath.Join(dir, "report-2.json")}
				if err != nil || !slices.Equal(written, want) {
					t.Errorf("wrote %q, %v; want %q", written, err, want)
				}
				if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
					t.Errorf("%s was replaced: %v", taken, err)
				}
				if readFile(t, outside) != "safe" || len(namesIn(t, dir)) != 3 {
					t.Errorf("outside %q, inside %q", readFile(t, outside), namesIn(t, dir))
				}
			})
		}
	}
}

func TestAFileThatWasNamedIsReplacedIfItIsOne(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		written, err := send(t, parcel{Dir: dir, Replace: true}, 0)
		if err != nil || !slices.Equal(written, []string{filepath.Join(dir, "report.html"), filepath.Join(dir, "report.json")}) {
			t.Errorf("wrote %q, %v", written, err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "report.html")), os.Symlink(os.DevNull, filepath.Join(dir, "report.html"))); err != nil {
		t.Fatal(err)
	}
	if written, err := send(t, parcel{Dir: dir, Replace: true}, 0); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("over a link: wrote %q, %v", written, err)
	}
}
