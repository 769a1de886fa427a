package live

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// errOutside says that an address is in no mapping that can be read.
var errOutside = errors.New("outside of the process's memory")

// A mapping is one line of /proc/PID/maps.
type mapping struct {
	start, end  uint64
	read, exec  bool
	private     bool
	offset      uint64
	inode, path string
}

// A memory is that of a process. Pages that are read word by word are kept.
type memory struct {
	file  io.ReaderAt
	maps  []mapping
	exe   string // the executable where another program emulates its processor; else found
	pages map[uint64][]byte

	ended    func() bool               // says that the time is over; nil: never
	remap    func() ([]mapping, error) // reads maps again; nil: they stay
	remapped int
}

const (
	pageSize = 4096
	maxPages = 4096 // that are kept: 16 MiB
)

func (m *memory) mapped(addr, n uint64) bool {
	for n > 0 {
		i := sort.Search(len(m.maps), func(i int) bool { return m.maps[i].end > addr })
		if i == len(m.maps) || addr < m.maps[i].start || !m.maps[i].read {
			return false
		}
		part := m.maps[i].end - addr
		if n <= part {
			return true
		}
		addr, n = addr+part, n-part
	}
	return true
}

// bytes reads n bytes into p.
func (m *memory) bytes(addr uint64, p []byte) error {
	if addr+uint64(len(p)) < addr || !m.mapped(addr, uint64(len(p))) {
		return errOutside
	}
	n, err := m.file.ReadAt(p, int64(addr))
	if n == len(p) {
		return nil
	}
	return fmt.Errorf("at %#x: %w", addr, err)
}

// cached is a part of a page, or of two.
func (m *memory) cached(addr uint64, p []byte) error {
	for len(p) > 0 {
		page, err := m.page(addr &^ (pageSize - 1))
		if err != nil {
			return err
		}
		n := copy(p, page[addr&(pageSize-1):])
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

func (m *memory) page(addr uint64) ([]byte, error) {
	if page := m.pages[addr]; page != nil {
		return page, nil
	}
	page := make([]byte, pageSize)
	if err := m.bytes(addr, page); err != nil {
		return nil, err
	}
	if m.pages == nil || len(m.pages) >= maxPages {
		m.pages = map[uint64][]byte{}
	}
	m.pages[addr] = page
	return page, nil
}

func (m *memory) u64(addr uint64) (uint64, error) {
	var b [8]byte
	err := m.cached(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (m *memory) u32(addr uint64) (uint32, error) {
	var b [4]byte
	err := m.cached(addr, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

func (m *memory) u8(addr uint64) (byte, error) {
	var b [1]byte
	err := m.cached(addr, b[:])
	return b[0], err
}

// search passes a part of memory on in pieces. Each has the beginning of the next one at its end, so that nothing is cut that is not
// longer. What cannot be read is left out, what comes after the deadline, and a piece that has not been used: Go's package crypto
// reserves 32 MB in each program.
func (m *memory) search(start, end uint64, each func(start uint64, data []byte)) {
	const piece, overlap = 1 << 20, 512
	data := make([]byte, min(end-start, piece+overlap))
	for at := start; at < end && (m.ended == nil || !m.ended()); at += piece {
		data := data[:min(end-at, piece+overlap)]
		if m.bytes(at, data) == nil && !isZero(data) {
			each(at, data)
		}
	}
}

// isZero says whether all bytes are 0: the first is, and each is like the one before it.
func isZero(data []byte) bool {
	return len(data) > 0 && data[0] == 0 && bytes.Equal(data[1:], data[:len(data)-1])
}

// maxName is the longest name of a function or file that is read: those of generic functions have hundreds of bytes.
const maxName = 4096

// text reads a string that ends with a zero.
func (m *memory) text(addr uint64) (string, error) {
	var b strings.Builder
	for b.Len() < maxName {
		page, err := m.page(addr &^ (pageSize - 1))
		if err != nil {
			return "", err
		}
		part := page[addr&(pageSize-1):]
		if i := strings.IndexByte(string(part), 0); i >= 0 {
			b.Write(part[:i])
			return b.String(), nil
		}
		b.Write(part)
		addr += uint64(len(part))
	}
	return "", errors.New("a name without an end")
}

// parseMaps reads /proc/PID/maps (proc_pid_maps(5)).
func parseMaps(r io.Reader) ([]mapping, error) {
	var list []mapping
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<16)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 5 {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(f[2], 16, 64)
		if err := errors.Join(err1, err2, err3); err != nil || end <= start || len(f[1]) < 4 {
			return nil, fmt.Errorf("maps: %q", s.Text())
		}
		m := mapping{start: start, end: end, read: f[1][0] == 'r', exec: f[1][2] == 'x', private: f[1][3] == 'p', offset: offset, inode: f[4]}
		if len(f) > 5 {
			m.path = strings.Join(f[5:], " ")
		}
		if strings.HasPrefix(m.path, "[vvar") || m.path == "[vsyscall]" {
			m.read = false // reading them fails
		}
		list = append(list, m)
	}
	return list, s.Err()
}
