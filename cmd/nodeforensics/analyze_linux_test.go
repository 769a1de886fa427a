package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestASavedRunIsJudgedTheSame(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, testfuse.NewUID(), someVolume())
	startKubelet(t, root)
	hangUnder(t, server)
	first := examine(t, exitFinding, "--hung-after", "2s", "--fail-on", "critical")
	wantCulprit(t, first.report(t), server, chainOfHousekeeping)
	again := analyze(t, exitDone, first.file(t, ".json"))
	wantSameJudgement(t, first.report(t), again.report(t))
	dir := t.TempDir()
	if o := finish(t, command(t, "render", "--output-dir", dir, first.file(t, ".json"))); o.status != exitDone {
		t.Fatalf("render: exit status %d: %s", o.status, o.stderr)
	}
	for _, extension := range []string{".html", ".json"} {
		if readFile(t, onlyFile(t, dir, extension)) != readFile(t, first.file(t, extension)) {
			t.Errorf("the rendered %s is not what the run wrote", extension)
		}
	}
}

func TestFilesGivenToARunThatCannotBeReadAreNamed(t *testing.T) {
	if !onNode(t) {
		return
	}
	startKubelet(t, t.TempDir())
	missing, empty := filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ flag, file string }{
		{"--goroutines", missing}, {"--goroutines", empty}, {"--token-file", missing}, {"--client-cert", missing},
	} {
		t.Run(tt.flag+" "+filepath.Base(tt.file), func(t *testing.T) {
			o := examine(t, exitFailed, tt.flag, tt.file)
			wantOneLine(t, o.stderr, tt.file)
			o.report(t)
		})
	}
	t.Run("--out is a file", func(t *testing.T) {
		o := finish(t, command(t, "--no-probe", "--output-dir", empty))
		if o.status != exitFailed || !strings.Contains(o.stderr, empty) {
			t.Errorf("exit status %d, %q; want 1 and a line that names %s", o.status, o.stderr, empty)
		}
		fallbackFiles(t)
	})
}
