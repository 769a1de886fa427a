package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var errNoProcess = errors.New("no such process")

// Read writes the goroutines of a process to w, in the format of /debug/pprof/goroutine?debug=2 but for arguments, which are "...". It
// ends at the deadline of ctx, unless the kernel does not answer a read: see the package. A program that is not written in Go is
// [errors.ErrUnsupported].
func Read(ctx context.Context, pid int, w io.Writer) (Info, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	remap := func() ([]mapping, error) {
		text, err := os.ReadFile(dir + "/maps")
		if err != nil {
			return nil, err
		}
		return parseMaps(bytes.NewReader(text))
	}
	mapped, err := remap()
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, errNoProcess
	}
	if err != nil {
		return Info{}, err
	}
	file, err := os.Open(dir + "/mem")
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = file.Close() }()
	p, err := open(&memory{file: file, maps: mapped, remap: remap, ended: func() bool { return ctx.Err() != nil }}, here())
	if err != nil {
		return Info{}, cmp.Or(ctx.Err(), err)
	}
	p.registers = func(tid int) (sp, pc uint64) {
		where, _ := os.ReadFile(dir + "/task/" + strconv.Itoa(tid) + "/syscall")
		return registers(string(where))
	}
	before := threads(dir)
	info, err := p.write(ctx, w, monotonic(), before)
	after := map[int]thread{}
	for _, t := range threads(dir) {
		after[t.tid] = t
	}
	known := map[int]thread{}
	for _, t := range before {
		known[t.tid] = t
	}
	maps.DeleteFunc(info.Threads, func(_ int64, tid int) bool { return known[tid] != after[tid] })
	return info, err
}

func here() arch {
	if runtime.GOARCH == "arm64" {
		return arch{usesLR: true, quantum: 4}
	}
	return arch{quantum: 1}
}

// monotonic is the clock that the runtime stamps waits with.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// threads are those of a process, by the numbers that the process itself gives them.
func threads(dir string) map[int]thread {
	list := map[int]thread{}
	entries, err := os.ReadDir(dir + "/task")
	if err != nil {
		return list
	}
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		status, err := os.ReadFile(dir + "/task/" + e.Name() + "/status")
		if err != nil {
			continue
		}
		t := thread{tid: tid}
		if where, err := os.ReadFile(dir + "/task/" + e.Name() + "/syscall"); err == nil {
			t.sp, t.pc = registers(string(where))
		}
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
				if f := strings.Fields(rest); len(f) > 0 {
					inner, _ := strconv.Atoi(f[len(f)-1])
					list[inner] = t
				}
			}
		}
	}
	return list
}

// registers are the stack pointer and the program counter of a blocked thread, at the end of /proc/PID/task/TID/syscall (proc(5)).
func registers(line string) (sp, pc uint64) {
	f := strings.Fields(line)
	if len(f) < 3 {
		return 0, 0
	}
	sp, _ = strconv.ParseUint(strings.TrimPrefix(f[len(f)-2], "0x"), 16, 64)
	pc, _ = strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	return sp, pc
}
