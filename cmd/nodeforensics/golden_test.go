package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

// TestGoldenOutput holds what the commands for files say of each capture to what they said before. That it is right is judged by the
// other tests, and by who reads the difference:
//
//	go test ./cmd/nodeforensics -run TestGoldenOutput -update && git diff
func TestGoldenOutput(t *testing.T) {
	t.Parallel()
	all, err := filepath.Abs("../../testdata/captures")
	if err != nil {
		t.Fatal(err)
	}
	captures, err := filepath.Glob(all + "/*")
	if err != nil || len(captures) < 7 {
		t.Fatal(captures, err)
	}
	for _, dir := range captures {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "golden/"+name+".analyze.txt", outputOf(t, dir, "analyze", "-o", "text"))
			golden.Check(t, "golden/"+name+".analyze.json", verdict(t, outputOf(t, dir, "analyze", "-o", "json")))
			if log := filepath.Join(dir, "kubelet.log.gz"); exists(log) {
				golden.Check(t, "golden/"+name+".logs.txt", outputOf(t, log, "logs", "--zone", "UTC"))
			}
			if dump := filepath.Join(dir, "goroutine.debug2"); exists(dump) {
				golden.Check(t, "golden/"+name+".goroutines.txt", outputOf(t, dump, "goroutines"))
			}
		})
	}
}

// verdict is a report in JSON without the evidence that parsers of their own have taken from the files.
func verdict(t *testing.T, text string) string {
	t.Helper()
	end := strings.LastIndexByte(text, '}') + 1
	var r map[string]any
	if err := json.Unmarshal([]byte(text[:end]), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, parsed := range []string{"dumps", "mounts", "logs"} {
		delete(r["evidence"].(map[string]any), parsed)
	}
	for _, key := range []string{"collected", "collector", "coverage"} {
		delete(r["evidence"].(map[string]any), key)
	}
	delete(r, "tool")
	for _, source := range r["coverage"].([]any) {
		delete(source.(map[string]any), "duration_seconds")
	}
	indented, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(indented) + text[end:]
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// outputOf runs a command on a file, or on all files of a directory.
func outputOf(t *testing.T, path string, args ...string) string {
	t.Helper()
	files := []string{path}
	if found, err := filepath.Glob(filepath.Join(path, "*")); err == nil && len(found) > 0 {
		files = found
	}
	cmd := command(t, append(args, files...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "COLUMNS=100", "NO_COLOR=1")
	o := finish(t, cmd)
	if o.status != exitDone && o.status != exitFailed {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	return strings.ReplaceAll(o.stdout+"\n"+o.stderr, filepath.Dir(filepath.Dir(files[0])), "captures")
}
