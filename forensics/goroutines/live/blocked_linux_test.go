package live

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestBlocked reads a program that is blocked on a hung file system, in a system call and in a page fault: each goroutine has its
// calls, and the thread that the kernel shows to wait for the server.
func TestBlocked(t *testing.T) {
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.test", Files: map[string]string{"data": strings.Repeat("x", 8192)}})
	cmd := exec.Command(compiled(t, "blocked"), filepath.Join(fuse.MountPoint(), "data"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fuse.Kill(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "mapped <nil>\n" {
		t.Fatal(line, err)
	}
	fuse.Hang()
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	waiting := func() (tids []int) {
		dir := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/"
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			where, _ := os.ReadFile(dir + e.Name() + "/wchan")
			if strings.Contains(string(where), "request_wait") || strings.Contains(string(where), "folio") {
				tid, _ := strconv.Atoi(e.Name())
				tids = append(tids, tid)
			}
		}
		return tids
	}
	testfuse.Await(t, "two threads to wait", func() bool { return len(waiting()) == 2 })
	var text string
	var info Info
	var dumps []goroutines.Dump
	testfuse.Await(t, "no goroutine to run while the program is read", func() bool { // one that runs has no frames
		var b bytes.Buffer
		if info, err = Read(t.Context(), cmd.Process.Pid, &b); err != nil {
			t.Fatal(err)
		}
		text = b.String()
		var problems []goroutines.Problem
		if dumps, problems, err = goroutines.Parse(&b); err != nil {
			t.Fatal(err)
		}
		if info.Unread > 0 || len(problems) > 0 {
			t.Logf("%d not unwound, %v", info.Unread, problems)
		}
		return info.Unread == 0 && len(problems) == 0
	})
	found := map[string]bool{}
	for _, g := range dumps[0].Goroutines {
		for _, f := range g.Frames {
			if f.Func != "main.look" && f.Func != "main.touch" {
				continue
			}
			found[f.Func] = true
			if tid := info.Threads[g.ID]; !slices.Contains(waiting(), tid) {
				t.Errorf("%s is on thread %d, and %v wait", f.Func, tid, waiting())
			}
		}
	}
	if !found["main.look"] || !found["main.touch"] {
		t.Errorf("%v:\n%s", found, text)
	}
}

// TestReadsOnly: whoever is not a Go program, or is no more, is an error.
func TestReadsOnly(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if info, err := Read(t.Context(), sleep.Process.Pid, &b); err == nil {
		t.Errorf("sleep has %d goroutines", info.Goroutines)
	}
	_ = sleep.Process.Kill()
	_ = sleep.Wait()
	if _, err := Read(t.Context(), sleep.Process.Pid, &b); err == nil || b.Len() > 0 {
		t.Errorf("a process that has ended: %v, %q", err, b.String())
	}
}
