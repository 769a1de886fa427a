// Package testpacked is for tests: it holds archives that are a part of the program to the files of which they are made. The flag -update
// writes them anew.
package testpacked

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/internal/packed"
)

// Check fails the test if an archive, of which the program has the content, is not what the files that fit the patterns make.
func Check(t *testing.T, archive, content string, patterns ...string) {
	t.Helper()
	var files []packed.File
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no file fits %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, packed.File{Name: path.Base(name), Text: string(text)})
		}
	}
	want, err := packed.PackFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		if err := os.WriteFile(archive, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if onDisk, err := os.ReadFile(archive); err != nil || string(onDisk) != string(want) || content != string(want) {
		t.Errorf("%s is not of %v as they are: go generate ./report/...", archive, patterns)
	}
}
