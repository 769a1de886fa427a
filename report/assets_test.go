package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

// TestAssetsAreCurrent holds what the program carries to the files that people edit.
func TestAssetsAreCurrent(t *testing.T) {
	names, err := filepath.Glob("assets/*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(text)
	}
	text, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		if err := os.WriteFile("assets.json.gz", zipped(t, text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	packed, err := os.Open("assets.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
		t.Errorf("assets.json.gz is stale: go generate ./report (%v)", err)
	}
}
