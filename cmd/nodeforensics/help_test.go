package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// commands are all commands that a person sees.
func commands(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		all = append(all, cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{out: newTerminal(os.Stdout), err: newTerminal(os.Stderr)}).rootCommand())
	if len(all) < 17 {
		t.Fatalf("only %d commands", len(all))
	}
	return all
}

// TestEveryHelpHasAnExample also wants that the program prints it.
func TestEveryHelpHasAnExample(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(t) {
		args := strings.Fields(cmd.CommandPath())[1:]
		if !strings.HasPrefix(cmd.Example, "  ") || !strings.Contains(cmd.Example, "nodeforensics") && cmd.Name() != "plan" {
			t.Errorf("%q: the example is %q", args, cmd.Example)
		}
		o := finish(t, command(t, append(args, "--help")...))
		if cmd.Name() != "help" && (o.status != exitDone || !strings.Contains(o.stdout, "Examples:\n"+cmd.Example) || !strings.Contains(o.stdout, "Usage:")) {
			t.Errorf("%q: exit status %d: %s%s", args, o.status, o.stdout, o.stderr)
		}
	}
}

func TestVersionInEachForm(t *testing.T) {
	t.Parallel()
	want := finish(t, command(t, "version"))
	if got := finish(t, command(t, "--version")); got.stdout != want.stdout || got.status != exitDone || !strings.HasPrefix(got.stdout, "nodeforensics ") {
		t.Errorf("--version says %q, exit status %d; version says %q", got.stdout, got.status, want.stdout)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"completion bash":              "__start_nodeforensics",
		"__complete analyze -o ":       "markdown",
		"__complete holders -o ":       "yaml",
		"__complete checks mount-h":    "mount-hung\t",
		"__complete --redact ":         "strict",
		"__complete analyze --fail-on": "--fail-on",
		"__complete render ":           "json\n:8",
		"__complete ":                  "completion\t",
	} {
		o := finish(t, command(t, strings.Split(args, " ")...))
		if o.status != exitDone || !strings.Contains(o.stdout, want) {
			t.Errorf("%s: exit status %d, %.300q; want %q", args, o.status, o.stdout, want)
		}
	}
}

// TestQuietSaysLess compares what is printed with and without --quiet and --verbose.
func TestQuietAndVerbose(t *testing.T) {
	t.Parallel()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	print := func(args ...string) outcome {
		o := finish(t, command(t, append(args, dump)...))
		if o.status != exitDone {
			t.Fatalf("%q: exit status %d: %s", args, o.status, o.stderr)
		}
		return o
	}
	dir := t.TempDir()
	if o := print("analyze", "-o", "json", "--output-dir", dir, "-q"); o.stderr != "" {
		t.Errorf("--quiet prints notes: %q", o.stderr)
	}
	usual, verbose, quiet := print("goroutines"), print("goroutines", "-v"), print("goroutines", "--quiet")
	if len(quiet.stdout) >= len(usual.stdout) || len(usual.stdout) >= len(verbose.stdout) {
		t.Errorf("%d bytes with --quiet, %d without, %d with --verbose", len(quiet.stdout), len(usual.stdout), len(verbose.stdout))
	}
	if o := finish(t, command(t, "analyze", "-q", "-v", dump)); o.status != exitUsage || !strings.Contains(o.stderr, "exclude") {
		t.Errorf("both: exit status %d, %q", o.status, o.stderr)
	}
}

// TestProgressIsSaidOnStandardError holds standard input open for longer than a second.
func TestProgressIsSaidOnStandardError(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"-v": "reading - …\n", "--no-color": "", "-q": ""} {
		cmd := command(t, "analyze", flag, "-o", "json", "-")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		wait := start(t, cmd)
		time.Sleep(progressAfter + progressAfter/2)
		if _, err := in.Write([]byte(readFile(t, capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")))); err != nil || in.Close() != nil {
			t.Fatal(err)
		}
		o := wait()
		if o.status != exitDone || !strings.HasPrefix(o.stderr, want) || want == "" && o.stderr != "" || !strings.HasPrefix(o.stdout, "{\n") {
			t.Errorf("%s: exit status %d, %q, %.80q", flag, o.status, o.stderr, o.stdout)
		}
	}
}
