package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// A recording is the memory of a process, as far as it was read.
type recording struct {
	maps   []mapping
	pieces []piece
}

type piece struct {
	addr uint64
	data []byte
}

func (r *recording) ReadAt(p []byte, off int64) (int, error) {
	for _, x := range r.pieces {
		if at := uint64(off) - x.addr; uint64(off) >= x.addr && at+uint64(len(p)) <= uint64(len(x.data)) {
			return copy(p, x.data[at:]), nil
		}
	}
	return 0, errors.New("not recorded")
}

// recorder keeps what is read through it.
type recorder struct {
	from io.ReaderAt
	to   *recording
}

func (r recorder) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.from.ReadAt(p, off)
	if n == len(p) {
		r.to.pieces = append(r.to.pieces, piece{uint64(off), bytes.Clone(p)})
	}
	return n, err
}

// record reads a running program, and keeps what was read of it.
func record(tb testing.TB) *recording {
	tb.Helper()
	pid := many(tb, 30)
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		tb.Fatal(err)
	}
	r := &recording{}
	if r.maps, err = parseMaps(bytes.NewReader(text)); err != nil {
		tb.Fatal(err)
	}
	mem, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = mem.Close() }()
	info, err := r.read(tb.Context(), recorder{mem, r}, io.Discard)
	if err != nil || info.Goroutines < 30 || info.Unread > 0 {
		tb.Fatal(info, err)
	}
	return r
}

func (r *recording) read(ctx context.Context, from io.ReaderAt, w io.Writer) (Info, error) {
	p, err := open(&memory{file: from, maps: r.maps}, here())
	if err != nil {
		return Info{}, err
	}
	return p.write(ctx, w, time.Hour, nil)
}

// changed is a recording with words of its memory replaced: 4 bytes say which, 8 are the new value.
func (r *recording) changed(patches []byte) *recording {
	c := &recording{maps: r.maps, pieces: slices.Clone(r.pieces)}
	for n := 0; len(patches) >= 12 && n < 8; n, patches = n+1, patches[12:] {
		word := uint64(binary.LittleEndian.Uint32(patches))
		i := int(word % uint64(len(c.pieces)))
		data := bytes.Clone(c.pieces[i].data)
		if len(data) < 8 {
			continue
		}
		at := int(word/uint64(len(c.pieces))) % (len(data) - 7)
		copy(data[at:], patches[4:12])
		c.pieces[i].data = data
	}
	return c
}

// FuzzMemory reads a program that has forged its memory: reading ends, and what is written is a dump.
func FuzzMemory(f *testing.F) {
	r := record(f)
	f.Add([]byte{})
	for n := range uint32(60) { // pointers to nowhere, lengths without an end, in all places of what was read
		for _, value := range []uint64{0, ^uint64(0), 1 << 63, 0x4141414141414141} {
			var patch []byte
			patch = binary.LittleEndian.AppendUint32(patch, n*2654435761)
			f.Add(binary.LittleEndian.AppendUint64(patch, value))
		}
	}
	f.Fuzz(func(t *testing.T, patches []byte) {
		var b bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c := r.changed(patches)
		began := time.Now()
		info, err := c.read(ctx, c, &b)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("it took %v", took)
		}
		if err != nil {
			return
		}
		dumps, problems, err := goroutines.Parse(&b)
		n := 0
		problems = slices.DeleteFunc(problems, func(p goroutines.Problem) bool {
			dropped := strings.HasSuffix(p.Reason, " dropped: no frames") // its stack is forged, and it has no creator
			if dropped {
				n++
			}
			return dropped
		})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v, %v", problems, err)
		}
		for _, d := range dumps {
			n += len(d.Goroutines)
		}
		if n != info.Goroutines {
			t.Fatalf("%d goroutines were written, %d are read", info.Goroutines, n)
		}
	})
}
