package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// A target is a program of testdata that runs.
type target struct {
	*exec.Cmd
	in io.Writer
}

// run starts a program, and waits until it is ready.
func run(t *testing.T, name string, args ...string) target {
	t.Helper()
	cmd := exec.Command(compiled(t, name), args...)
	out, err1 := cmd.StdoutPipe()
	in, err2 := cmd.StdinPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.Trim(line, " <nil>\n") != "ready" {
		t.Fatal(line, err)
	}
	return target{cmd, in}
}

func (p target) proceed(t *testing.T) {
	t.Helper()
	if _, err := p.in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
}

// waits says whether a thread of a process is in a function of the kernel of such a name, and in a system call of such a number.
func waits(pid int, where string) bool {
	names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/wchan")
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), where) {
			return true
		}
	}
	return false
}

// TestRestless reads a program whose goroutines start, end, and go through two chains of calls, while it is read: no stack is put together
// from both.
func TestRestless(t *testing.T) {
	p := run(t, "restless")
	caller := map[string]string{
		"main.even3": "main.even2", "main.even2": "main.even1", "main.even1": "main.work",
		"main.odd3": "main.odd2", "main.odd2": "main.odd1", "main.odd1": "main.work", "main.work": "main.begin",
	}
	read, whole := 0, 0
	for range 40 {
		var b bytes.Buffer
		info, err := Read(t.Context(), p.Process.Pid, &b)
		if err != nil {
			t.Fatal(err)
		}
		read += info.Goroutines
		whole += info.Goroutines - info.Unread
		for _, g := range parsed(t, b.Bytes()).Goroutines {
			for i := range g.Frames[:max(0, len(g.Frames)-1)] {
				if is, want := g.Frames[i+1].Func, caller[g.Frames[i].Func]; want != "" && is != want {
					t.Errorf("goroutine %d: %s is called by %s", g.ID, g.Frames[i].Func, is)
				}
			}
		}
	}
	t.Logf("%d of %d goroutines were read", whole, read)
	if whole < read/2 {
		t.Errorf("only %d of %d goroutines were read", whole, read)
	}
}

// TestListMovedMeanwhile reads a program whose list lies where nothing was when its mappings were read, or whose whole heap does.
func TestListMovedMeanwhile(t *testing.T) {
	dir := "/proc/" + strconv.Itoa(run(t, "restless").Process.Pid)
	maps := func() ([]mapping, error) {
		text, err := os.ReadFile(dir + "/maps")
		if err != nil {
			return nil, err
		}
		return parseMaps(bytes.NewReader(text))
	}
	all, err := maps()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(dir + "/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	isHeap := func(m mapping) bool { return m.inode == "0" && m.start >= 0xc000000000 }
	goroutinesOf := func(before []mapping) int {
		t.Helper()
		p, err := open(&memory{file: file, maps: before, remap: maps}, here())
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.goroutines()
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range list {
			if _, ok, err := p.readG(addr); ok && err == nil {
				return len(list)
			}
		}
		t.Errorf("none of %d is a goroutine", len(list))
		return len(list)
	}
	if n := goroutinesOf(slices.DeleteFunc(slices.Clone(all), isHeap)); n == 0 {
		t.Error("without the heap: none")
	}
	p, err := open(&memory{file: file, maps: all, remap: maps}, here())
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.goroutines()
	if err != nil || len(list) < 1000 {
		t.Fatal(len(list), err)
	}
	next := map[uint64]uint64{}
	for i, addr := range list[1:] {
		next[list[i]] = addr
	}
	var without []mapping // the pages with the list, or with copies of it from when it was shorter
	for _, m := range all {
		if !isHeap(m) || !holds(file, m, next) {
			without = append(without, m)
			continue
		}
		for at := m.start; at < m.end; at += 4096 {
			page := m
			if page.start, page.end = at, min(at+4096, m.end); !holds(file, page, next) {
				without = append(without, page)
			}
		}
	}
	if n := goroutinesOf(without); n < 1000 {
		t.Errorf("%d goroutines of %d", n, len(list))
	}
}

// holds says whether some neighbours of a list stand in a part of memory.
func holds(memory *os.File, in mapping, next map[uint64]uint64) bool {
	data := make([]byte, in.end-in.start)
	if _, err := memory.ReadAt(data, int64(in.start)); err != nil { // some of it was given back
		return false
	}
	for ; len(data) >= 16; data = data[8:] {
		if after, ok := next[binary.LittleEndian.Uint64(data)]; ok && after == binary.LittleEndian.Uint64(data[8:]) {
			return true
		}
	}
	return false
}

// TestForged reads a program of which all goroutines but the first are forged, with more frames than can be read in the time that there is.
func TestForged(t *testing.T) {
	minor, err := strconv.Atoi(release.FindStringSubmatch(runtime.Version())[1])
	l, known := layouts[minor]
	if err != nil || !known {
		t.Skip(runtime.Version())
	}
	var args []string
	for _, n := range []int{l.gSched + l.bufSP, l.gSched + l.bufPC, l.gSched + l.bufG, l.gM, l.gStatus, l.gID, (l.gSize + 7) &^ 7} {
		args = append(args, strconv.Itoa(n))
	}
	p := run(t, "forged", args...)
	var b bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	info, err := Read(ctx, p.Process.Pid, &b)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d goroutines, error %v", info.Goroutines, err)
	}
	t.Logf("%d goroutines, %d not whole, %d MiB: %v", info.Goroutines, info.Unread, b.Len()>>20, err)
	if info.Unread == 0 || info.Unread != info.Goroutines-1 || len(info.Threads) > 0 {
		t.Errorf("%+v", info)
	}
	if dumps, _, err := goroutines.Parse(&b); err != nil || len(dumps) != 1 {
		t.Errorf("%d dumps, %v", len(dumps), err)
	}
}

// TestGoneMeanwhile reads a program that ends, or becomes another one, when the first goroutines of it are read.
func TestGoneMeanwhile(t *testing.T) {
	for name, end := range map[string]func(p target){
		"ends": func(p target) {
			_ = p.Process.Kill()
			_ = p.Wait()
		},
		"becomes another program": func(p target) {
			memory, at := openMemory(t, p.Process.Pid)
			p.proceed(t)
			testfuse.Await(t, "the first program's memory to be no more", func() bool {
				_, err := memory.ReadAt(make([]byte, 1), at)
				return err != nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, "restless")
			out, in := io.Pipe()
			failed := make(chan error, 1)
			go func() {
				_, err := Read(t.Context(), p.Process.Pid, in)
				failed <- errors.Join(err, in.Close())
			}()
			first := make([]byte, 1024)
			if _, err := io.ReadFull(out, first); err != nil {
				t.Fatal(err, <-failed)
			}
			end(p)
			rest, _ := io.ReadAll(out)
			if err := <-failed; !errors.Is(err, errGone) {
				t.Errorf("error %v, want %v", err, errGone)
			}
			if d := parsed(t, append(first, rest...)); len(d.Goroutines) == 0 {
				t.Error("what was read before is lost")
			}
		})
	}
}

// openMemory opens the memory of a process, which is no other's when the process becomes another program, and has an address in it.
func openMemory(t *testing.T, pid int) (memory *os.File, at int64) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid)
	memory, err1 := os.Open(dir + "/mem")
	maps, err2 := os.ReadFile(dir + "/maps")
	first, _, _ := strings.Cut(string(maps), "-")
	at, err3 := strconv.ParseInt(first, 16, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	return memory, at
}

// TestStuck reads programs that are blocked in execve(2) of a file on a dead mount, in execve(2) because another thread is blocked on
// one, and with the lock of their memory held for one.
func TestStuck(t *testing.T) {
	for how, want := range map[string]string{"exec": "main.become", "thread": "main.become", "mmap": ""} {
		t.Run(how, func(t *testing.T) {
			fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.test", Files: map[string]string{"data": strings.Repeat("x", 8192)}})
			p := run(t, "stuck", how, filepath.Join(fuse.MountPoint(), "data"))
			t.Cleanup(fuse.Kill) // first
			pid := p.Process.Pid
			fuse.Hang()
			p.proceed(t)
			switch how {
			case "exec":
				testfuse.Await(t, "the file to be asked for", func() bool { return waits(pid, "request_wait") })
			case "thread":
				testfuse.Await(t, "the server to have the request", func() bool { return waits(pid, "request_wait") && fuse.Unanswered() > 0 })
				p.proceed(t)
				testfuse.Await(t, "execve to wait for a thread", func() bool { return waits(pid, "begin_new_exec") || waits(pid, "de_thread") })
			case "mmap":
				testfuse.Await(t, "the page", func() bool { return waits(pid, "folio_wait") || waits(pid, "request_wait") })
				p.proceed(t)
				testfuse.Await(t, "mmap to wait", func() bool { return locked(pid) })
			}
			if how == "mmap" {
				failed := make(chan error, 1)
				go func() {
					_, err := Read(t.Context(), pid, io.Discard)
					failed <- err
				}()
				testfuse.Await(t, "our thread to wait for the lock", func() bool { return reading() })
				fuse.Kill()
				t.Log("then: ", <-failed)
				return
			}
			// The runtime interrupts whoever runs for long, and then the thread has no registers to read for a moment.
			testfuse.Await(t, want+" in a stack", func() bool {
				var b bytes.Buffer
				if _, err := Read(t.Context(), pid, &b); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(parsed(t, b.Bytes()).Goroutines, func(g goroutines.Goroutine) bool { return contains(g, want) })
			})
		})
	}
}

func contains(g goroutines.Goroutine, name string) bool {
	for _, f := range g.Frames {
		if f.Func == name {
			return true
		}
	}
	return false
}

// locked says whether a thread is in mmap(2) and waits for a page.
func locked(pid int) bool {
	names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stack")
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), "fuse_file_mmap") || strings.Contains(string(text), "invalidate_inode_pages2") {
			return true
		}
	}
	return false
}

// reading says whether a thread of ours waits to read the memory of another process, or its mappings.
func reading() bool {
	pid := os.Getpid()
	return waits(pid, "access_remote_vm") || waits(pid, "rwsem") || waits(pid, "m_start")
}
