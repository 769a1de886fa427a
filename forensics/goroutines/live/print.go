package live

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"
)

// print writes a goroutine as /debug/pprof/goroutine?debug=2 has it (runtime/traceback.go). Arguments are not known: many are dead, and
// the rest of the memory is nobody else's business.
func (p *program) print(w *bufio.Writer, x g, list []*place, calls []call, whole bool, now time.Duration) {
	state, minutes := p.state(x, list, now)
	b := p.line[:0]
	b = append(strconv.AppendInt(append(b, "goroutine "...), x.id, 10), " ["...)
	b = append(b, state...)
	if minutes > 0 {
		b = append(strconv.AppendInt(append(b, ", "...), int64(minutes), 10), " minutes"...)
	}
	if x.locked {
		b = append(b, ", locked to thread"...)
	}
	b = append(b, "]:\n"...)
	for _, c := range calls {
		b = appendCall(append(b, printed(c.name)...), "(...)", c)
	}
	if !whole {
		b = append(b, "...additional frames elided...\n"...)
	}
	if at := p.place(x.creation); at != nil && x.creation != 0 && x.id != 1 && shown(at.f.name) {
		calls := p.callsAt(at, true)
		b = append(append(b, "created by "...), printed(at.f.name)...)
		if x.parent != 0 {
			b = strconv.AppendInt(append(b, " in goroutine "...), x.parent, 10)
		}
		b = appendCall(b, "", call{file: calls[0].file, line: calls[0].line, offset: x.creation - at.f.entry})
	}
	b = append(b, '\n')
	_, _ = w.Write(b) // the writer keeps its first error
	p.line = b
}

func appendCall(b []byte, args string, c call) []byte {
	b = append(append(b, args...), "\n\t"...)
	b = strconv.AppendInt(append(append(b, clean(c.file)...), ':'), int64(c.line), 10)
	if c.offset > 0 {
		b = strconv.AppendUint(append(b, " +0x"...), c.offset, 16)
	}
	return append(b, '\n')
}

// printed is a name as a dump has it (runtime.printFuncName): without the types of a generic function.
func printed(name string) string {
	if name == "runtime.gopanic" {
		return "panic"
	}
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i > 0 && j > i {
		name = name[:i] + "[...]" + name[j+1:]
	}
	return clean(name)
}

// clean replaces what would end a line: a program can have any names.
func clean(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// Info is what was read of a program beside its dump.
type Info struct {
	// Version is the program's version of Go, as it says itself: "go1.26.8".
	Version string
	// Goroutines were written; Unread are those of them whose stack could not be unwound to its beginning.
	Goroutines, Unread int
	// Threads are the threads on which goroutines are, by the goroutine's ID, numbered as the caller's PID namespace does. A thread that
	// was elsewhere in the kernel after the reading is left out.
	Threads map[int64]int
	// Sums are checksums of where goroutines are and what their stacks hold, by the goroutine's ID, of the first 10,000.
	Sums map[int64]uint64
}

const maxSums = 10_000

// write writes all goroutines but the runtime's own.
func (p *program) write(ctx context.Context, w io.Writer, now time.Duration, threads map[int]thread) (Info, error) {
	info := Info{Version: p.version, Threads: map[int64]int{}, Sums: map[int64]uint64{}}
	addrs, err := p.goroutines()
	if err != nil {
		return info, cmp.Or(ctx.Err(), err)
	}
	if err := p.fits(addrs); err != nil {
		return info, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	unreadable := 0
	for _, addr := range addrs {
		if ctx.Err() != nil {
			_ = out.Flush()
			return info, left(info.Goroutines, len(addrs), ctx.Err())
		}
		x, list, whole, ok, err := p.settled(addr, threads)
		if err != nil {
			if p.there() != nil {
				break
			}
			unreadable++
		}
		if !ok {
			continue
		}
		calls := p.visible(list)
		if p.system(x, calls) {
			continue
		}
		if !whole {
			info.Unread++
		}
		info.Goroutines++
		if len(info.Sums) < maxSums {
			info.Sums[x.id] = p.sum(x)
		}
		if on, known := threads[x.thread]; known {
			info.Threads[x.id] = on.tid
		}
		p.print(out, x, list, calls, whole, now)
	}
	err = p.there()
	switch {
	case err != nil:
		err = left(info.Goroutines, len(addrs), err)
	case unreadable > 0:
		err = fmt.Errorf("%d of %d entries in the runtime's list of goroutines cannot be read", unreadable, len(addrs))
	}
	return info, errors.Join(err, out.Flush())
}

// sum is the checksum of a goroutine whose stack was just read.
func (p *program) sum(x g) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, x.pc), x.sp))
	_, _ = h.Write(p.stackRoom[:min(len(p.stackRoom), p.stackRead, 1<<16)])
	return h.Sum64()
}

// A thread of the process: its number for us, and where it is, as far as the kernel says.
type thread struct {
	tid    int
	sp, pc uint64
}
