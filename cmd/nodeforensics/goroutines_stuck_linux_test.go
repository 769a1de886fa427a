package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// startStuck starts a program of that name that waits for a page of a dead mount in mmap(2): it has the lock of its memory, so that nobody
// can read that, nor its command line.
func startStuck(t testing.TB, name string) int {
	t.Helper()
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.test", Files: map[string]string{"data": strings.Repeat("x", 8192)}})
	exe := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(exe, []byte(readFile(t, program(t, stuckName))), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "mmap", filepath.Join(fuse.MountPoint(), "data"))
	out, err1 := cmd.StdoutPipe()
	in, err2 := cmd.StdinPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fuse.Kill()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatal(line, err)
	}
	fuse.HangData()
	pid := cmd.Process.Pid
	for _, where := range []string{"fault", "fuse_file_mmap"} {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		testfuse.Await(t, "a thread to be in "+where, func() bool {
			stacks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stack")
			for _, name := range stacks {
				if text, _ := os.ReadFile(name); strings.Contains(string(text), where) {
					return true
				}
			}
			return false
		})
	}
	return pid
}

// TestGoroutinesOfAProgramWithItsMemoryLocked: the program ends, and says that the other one's memory does not answer.
func TestGoroutinesOfAProgramWithItsMemoryLocked(t *testing.T) {
	if !onNode(t) {
		return
	}
	pid := startStuck(t, stuckName)
	o := runGoroutines(t, exitFailed, "--pid", strconv.Itoa(pid))
	if !strings.Contains(o.stderr, "has not responded") {
		t.Errorf("it does not say what it could not read: %s%s", o.stdout, o.stderr)
	}
}

// TestExaminationWithLockedMemory: a program whose memory is locked does not keep an examination, be it the kubelet: then it says that it
// does not know what that one does.
func TestExaminationWithLockedMemory(t *testing.T) {
	if !onNode(t) {
		return
	}
	for _, name := range []string{"someone", kubeletName} {
		t.Run(name, func(t *testing.T) {
			pid := startStuck(t, name)
			r := examine(t, exitDone, "--hung-after", "1s", "--timeout", "20s").report(t)
			if name != kubeletName {
				return
			}
			if s := coverage(t, r, forensics.SourceGoroutines+":memory of process "+strconv.Itoa(pid)); s.Status == forensics.SourceRead || s.Detail == "" {
				t.Errorf("%+v, want it to say why it was not read", s)
			}
			for _, d := range r.Evidence.Dumps {
				if d.PID == pid {
					t.Errorf("a dump of it from %s", d.Source)
				}
			}
		})
	}
}
