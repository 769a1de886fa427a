package live

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A fakeMemory has mapped pages at a base address and nothing else, as a process has.
type fakeMemory struct {
	base uint64
	data []byte
}

var errUnmapped = errors.New("input/output error")

func (m fakeMemory) ReadAt(p []byte, off int64) (int, error) {
	at := uint64(off)
	if at < m.base || at >= m.base+uint64(len(m.data)) {
		return 0, errUnmapped
	}
	n := copy(p, m.data[at-m.base:])
	if n < len(p) {
		return n, errUnmapped // /proc/PID/mem says how far it got, and fails at the next read
	}
	return n, nil
}

func TestReadString(t *testing.T) {
	long := strings.Repeat("x", maxPath-1)
	for name, tc := range map[string]struct {
		mem     io.ReaderAt
		pointer uint64
		want    string
		ok      bool
	}{
		"in one page":                        {memory(2, 16, "/a/b\x00/c"), base + 16, "/a/b", true},
		"empty":                              {memory(1, 0, "\x00"), base, "", true},
		"across a page boundary":             {memory(2, pageSize-2, "/a/b\x00"), base + pageSize - 2, "/a/b", true},
		"ends with the last byte mapped":     {memory(1, pageSize-5, "/a/b\x00"), base + pageSize - 5, "/a/b", true},
		"as long as a path may be":           {memory(2, 100, long+"\x00"), base + 100, long, true},
		"too long":                           {memory(3, 0, long+"x\x00"), base, "", false},
		"runs into memory that is not there": {memory(1, pageSize-4, "/a/b"), base + pageSize - 4, "", false},
		"nothing there":                      {memory(1, 0, "/a\x00"), base + pageSize, "", false},
		"null":                               {memory(1, 0, "/a\x00"), 0, "", false},
		"kernel address":                     {memory(1, 0, "/a\x00"), 0xffffffffff600000, "", false},
		"end of the address space":           {memory(1, 0, "/a\x00"), 1<<63 - 2, "", false},
		"no memory at all":                   {nil, base, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := readString(tc.mem, tc.pointer)
			if got != tc.want || ok != tc.ok {
				t.Errorf("readString = %q, %t; want %q, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

// base is where the memory of the tests begins.
const base = 0x7f0000000000

// memory has pages at base that hold text at an offset and x elsewhere.
func memory(pages, offset int, text string) fakeMemory {
	data := []byte(strings.Repeat("x", pages*pageSize))
	copy(data[offset:], text)
	return fakeMemory{base, data}
}

func TestWithinRoot(t *testing.T) {
	for name, tc := range map[string]struct{ root, name, want string }{
		"not chrooted":             {"/", "/var/lib", "/var/lib"},
		"root unknown":             {"", "/var/lib", "/var/lib"},
		"inside":                   {"/jail", "/jail/var", "/var"},
		"the root itself":          {"/jail", "/jail", "/"},
		"outside":                  {"/jail", "/etc", "/etc"},
		"outside with that prefix": {"/jail", "/jailer/x", "/jailer/x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withinRoot(tc.root, tc.name); got != tc.want {
				t.Errorf("withinRoot = %q; want %q", got, tc.want)
			}
		})
	}
}

func TestTidy(t *testing.T) {
	for name, want := range map[string]string{
		"/a/b":      "/a/b",
		"/a//b/./c": "/a/b/c",
		"/a/.":      "/a",
		"/a/":       "/a",
		"/":         "/",
		"/a/..b/c/": "/a/..b/c",
		"/a/../b/.": "/a/../b/.",
		"/a/..":     "/a/..",
	} {
		if got := tidy(name); got != want {
			t.Errorf("tidy(%q) = %q; want %q", name, got, want)
		}
	}
}

func FuzzReadString(f *testing.F) {
	f.Add([]byte("/a/b\x00"), uint64(pageSize-2))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64) {
		pages := make([]byte, (len(data)/pageSize+2)*pageSize)
		offset %= pageSize
		copy(pages[offset:], data)
		got, ok := readString(fakeMemory{base, pages}, base+offset)
		want, _, _ := strings.Cut(string(pages[offset:]), "\x00")
		if ok != (len(want) < maxPath) || ok && got != want {
			t.Errorf("readString = %q, %t; want %q", got, ok, want)
		}
	})
}
