package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// klogLine is a line of a kubelet.
const klogLine = "E1121 11:00:00.000000    2588 kubelet.go:1] x\n"

// unreadable are paths of what must not be opened, by what they are.
func unreadable(t testing.TB) map[string]string {
	t.Helper()
	dir := t.TempDir()
	fifo, socket, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(socket, syscall.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"a named pipe": fifo, "a link to one": link, "a socket": socket, "a device": "/dev/zero", "a directory": dir}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	for what, path := range unreadable(t) {
		for _, command := range []string{"analyze", "logs", "goroutines", "render", "plan"} {
			t.Run(command+" "+what, func(t *testing.T) { refuses(t, path, command, path) })
		}
		t.Run("--mountinfo "+what, func(t *testing.T) {
			dump := filepath.Join(t.TempDir(), "dump")
			if err := os.WriteFile(dump, []byte("goroutine 1 [running]:\nmain.main()\n\t/main.go:1 +0x1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, path, "goroutines", dump, "--mountinfo", path)
		})
	}
}

// refuses wants a command to end soon with one line about a path.
func refuses(t testing.TB, path string, args ...string) {
	t.Helper()
	o := finish(t, command(t, args...))
	line, _, _ := strings.Cut(o.stderr, "\n")
	if o.status != exitFailed || !strings.Contains(line, path+": ") || !strings.Contains(line, "regular file") {
		t.Errorf("exit status %d, %q; want 1, and that %s is not read", o.status, o.stderr, path)
	}
	if o.took > inputPatience {
		t.Errorf("that took %v", o.took)
	}
}

func TestAnExaminationReadsOnlyRegularFiles(t *testing.T) {
	if !onNode(t) {
		return
	}
	startKubelet(t, t.TempDir())
	for what, path := range unreadable(t) {
		t.Run(what, func(t *testing.T) {
			o := examine(t, exitFailed, "--no-probe", "--timeout", "60s", "--goroutines", path, "--api-dump", path, "--log", path, "--token-file", path)
			if n := strings.Count(o.stderr, "not a regular file"); n != 4 || strings.Count(o.stderr, path) < n {
				t.Errorf("%q, want four times that %s is not read", o.stderr, path)
			}
			if o.report(t).Evidence.Collector.Interrupted != "" {
				t.Errorf("it took the whole time: %v", o.took)
			}
		})
	}
}

// TestAPipeOfTheCallerIsRead has what a shell makes of <(command), and of the same for those that are read by another
// process.
func TestAPipeOfTheCallerIsRead(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"logs", "analyze -o json", "goroutines"} {
		t.Run(command, func(t *testing.T) {
			text := klogLine
			if command == "goroutines" {
				text = "goroutine 7 [running]:\nmain.main()\n\t/main.go:1 +0x1\n"
			}
			for _, name := range []string{"/dev/stdin", "/dev/fd/3", "/proc/self/fd/3"} {
				o := finish(t, piped(t, text, append(strings.Fields(command), name)...))
				want := map[string]string{"logs": name, "goroutines": "1 goroutine in"}[command]
				if o.status != exitDone && want != "1 goroutine in" || !strings.Contains(o.stdout, want) {
					t.Errorf("%s: exit status %d: %s%s", name, o.status, o.stdout, o.stderr)
				}
			}
		})
	}
	for _, flag := range []string{"--goroutines", "--api-dump", "--log", "--token-file", "--client-cert", "--client-key"} {
		if o := finish(t, piped(t, "x", flag, "/dev/fd/3")); o.status != exitUsage || !strings.Contains(o.stderr, "want a file") {
			t.Errorf("%s: exit status %d: %s", flag, o.status, o.stderr)
		}
	}
}

// piped is a command that can read a text from its standard input and from descriptor 3.
func piped(t testing.TB, text string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, args...)
	cmd.Stdin = strings.NewReader(text)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = r.Close() })
	cmd.ExtraFiles = []*os.File{r}
	return cmd
}

func TestAFileOnADeadMountIsGivenUp(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"log": klogLine}})
	path := filepath.Join(server.MountPoint(), "log")
	if o := finish(t, command(t, "logs", path)); o.status != exitDone || !strings.Contains(o.stdout, "1 line") {
		t.Fatalf("while it answers: exit status %d: %s%s", o.status, o.stdout, o.stderr)
	}
	server.Hang()
	waits := map[string]func() outcome{}
	for _, name := range []string{"logs", "analyze", "goroutines", "render", "plan"} {
		waits[name] = start(t, command(t, name, path))
	}
	for name, wait := range waits {
		o := wait()
		if o.status != exitFailed || !strings.Contains(o.stderr, path+": has not responded") || !strings.Contains(o.stderr, "is left behind") {
			t.Errorf("%s: exit status %d, %q; want 1, and that %s does not answer", name, o.status, o.stderr, path)
		}
		if o.took > 2*inputPatience {
			t.Errorf("%s took %v: the file was waited for more than once", name, o.took)
		}
	}
}

func TestAReadThatFailsIsSaid(t *testing.T) {
	o := finish(t, command(t, "logs", "/proc/self/mem"))
	if o.status != exitFailed || !strings.Contains(o.stderr, "/proc/self/mem: input/output error") {
		t.Errorf("exit status %d, %q; want 1 and the error of the read", o.status, o.stderr)
	}
	if o.took > 10*time.Second {
		t.Errorf("that took %v", o.took)
	}
}
