package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/nodeforensics/nodeforensics/internal/packed"
)

//go:generate go test -run TestManPages . -update-man

// TestManPages holds the pages below man, which are part of the program, to what the commands say. What makes them would be half a
// megabyte of the program.
func TestManPages(t *testing.T) {
	fresh := t.TempDir()
	root := (&app{out: newTerminal(os.Stdout), err: newTerminal(os.Stderr)}).rootCommand()
	forManPages(root)
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &day, Source: "nodeforensics", Manual: "nodeforensics"}, fresh); err != nil {
		t.Fatal(err)
	}
	if *updateMan {
		if err := os.RemoveAll("man"); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS("man", os.DirFS(fresh)); err != nil {
			t.Fatal(err)
		}
		var files []packed.File
		for _, name := range namesIn(t, fresh) {
			files = append(files, packed.File{Name: name, Text: readFile(t, filepath.Join(fresh, name))})
		}
		archive, err := packed.PackFiles(files)
		if err == nil {
			err = os.WriteFile("man.json.gz", archive, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, have, inside := pagesOf(t, fresh), pagesOf(t, "man"), map[string]string{}
	files, err := packed.Files(manPages)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		inside[f.Name] = f.Text
	}
	for name, text := range want {
		if have[name] != text || inside[name] != text {
			t.Errorf("man/%s is stale: go generate ./cmd/nodeforensics", name)
		}
	}
	if len(have) != len(want) || len(inside) != len(want) {
		t.Errorf("%d pages, and %d in man.json.gz, want %d", len(have), len(inside), len(want))
	}
}

// forManPages takes out what is no news there.
func forManPages(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, sub := range cmd.Commands() {
		if sub.Name() == "help" {
			cmd.RemoveCommand(sub)
			continue
		}
		forManPages(sub)
	}
}

func pagesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, name := range namesIn(t, dir) {
		pages[name] = readFile(t, filepath.Join(dir, name))
	}
	return pages
}

func TestManPagesAreWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	for range 2 { // a newer version replaces those of an older one
		if o := finish(t, command(t, "man", "--output-dir", dir)); o.status != exitDone || !strings.Contains(o.stdout, dir+"/nodeforensics-holders.1\n") {
			t.Fatalf("exit status %d: %s%s", o.status, o.stdout, o.stderr)
		}
	}
	if page := readFile(t, filepath.Join(dir, "nodeforensics.1")); !strings.Contains(page, ".SH EXAMPLE") || len(namesIn(t, dir)) < 10 {
		t.Errorf("the pages are %q, and one %s", namesIn(t, dir), page)
	}
}
