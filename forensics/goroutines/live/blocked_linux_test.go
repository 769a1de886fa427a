package live

import (
	"bufio"
	"bytes"
	"fmt"
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
	var state string
	testfuse.Await(t, "both calls to be read, each on the thread that waits", func() bool { // what runs meanwhile has no frames
		var b bytes.Buffer
		info, err := Read(t.Context(), cmd.Process.Pid, &b)
		if err != nil {
			t.Fatal(err)
		}
		text := b.String()
		dumps, problems, err := goroutines.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		on := map[string]int{}
		for _, g := range dumps[0].Goroutines {
			for _, f := range g.Frames {
				if f.Func == "main.look" || f.Func == "main.touch" {
					on[f.Func] = info.Threads[g.ID]
				}
			}
		}
		found := fmt.Sprintf("on threads %v, of which %v wait; %d not unwound, %v\n%s", on, waiting(), info.Unread, problems, text)
		if found != state {
			t.Log(found)
		}
		state = found
		return slices.Contains(waiting(), on["main.look"]) && slices.Contains(waiting(), on["main.touch"]) && on["main.look"] != on["main.touch"] &&
			info.Unread == 0 && len(problems) == 0
	})
}

// openMemories are the descriptors of this process to the memory of another one.
func openMemories(t *testing.T) (open []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasSuffix(to, "/mem") {
			open = append(open, to)
		}
	}
	return open
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
	if open := openMemories(t); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
	_ = sleep.Process.Kill()
	_ = sleep.Wait()
	if _, err := Read(t.Context(), sleep.Process.Pid, &b); err == nil || b.Len() > 0 {
		t.Errorf("a process that has ended: %v, %q", err, b.String())
	}
}
