package mounts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineCache parses tables with what others have taught, and wants the same as without.
func TestLineCache(t *testing.T) {
	files, err := filepath.Glob("testdata/*.mountinfo")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	lines, words := &lineCache{}, interner{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		copied := strings.ReplaceAll("\n"+string(text), "\n1", "\n91") // other ids, as in a copy of the namespace
		changed := strings.ReplaceAll(copied, "rw,relatime", "ro,relatime")
		for _, table := range []string{string(text), copied, changed, "1 2 3:4 / /a\\040b rw - t s o\n5 6 3:4 / /a\\040b rw - t s o\n"} {
			want, _ := Parse(strings.NewReader(table))
			p := tableParser{Parser: &Parser{strings: words, lines: lines}}
			if err := p.parse(strings.NewReader(table)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, p.mounts); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// TestLinesAreBounded fills what is remembered for other tables.
func TestLinesAreBounded(t *testing.T) {
	lines, words := &lineCache{}, interner{}
	var table strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&table, "%d 1 0:7 / /%d/%s rw - tmpfs source-%d rw\n", i, i, strings.Repeat("x", 200), i)
	}
	p := tableParser{Parser: &Parser{strings: words, lines: lines}}
	if err := p.parse(strings.NewReader(table.String())); err != nil || len(p.mounts) != 20_000 {
		t.Errorf("%d mounts, %v", len(p.mounts), err)
	}
	if lines.size > maxLines+4096 || len(lines.known)*mountSize > maxLines || len(words) > maxInterner {
		t.Errorf("%d bytes of %d lines and %d words are remembered", lines.size, len(lines.known), len(words))
	}
}
