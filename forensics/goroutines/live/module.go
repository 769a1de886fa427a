package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// errNotGo says that no runtime of Go was found in a process.
var errNotGo error = notGo{}

type notGo struct{}

func (notGo) Error() string { return "no Go runtime found in its memory" }

// Is makes it an [errors.ErrUnsupported], without its words.
func (notGo) Is(err error) bool { return err == errors.ErrUnsupported }

// A program is a Go program in memory.
type program struct {
	*memory
	layout
	version string // "go1.26.8", as the program says
	minor   int
	arch    arch
	modules []module
	funcs   map[uint64]*function
	places  map[uint64]*place
	// registers are where a thread is, by our number of it; nil where that is not to be had anew.
	registers func(tid int) (sp, pc uint64)

	odd bool // something that is inlined was not where it should be

	// Room that is used again for each goroutine.
	room       []byte
	stackRoom  []byte
	stackRead  int // so many bytes of it are the last stack
	stackAgain []byte
	frames     []*place
	shownCalls []call
	line       []byte
}

type arch struct {
	usesLR  bool // a call leaves its return address in a register, and the callee stores it at its stack pointer
	quantum uint64
}

// A module is one of the runtime's tables of functions: runtime.moduledata.
type module struct {
	addr                                uint64
	header, names, cu, files, pcs, pcln uint64
	ftab, nftab                         uint64
	minPC, maxPC, text, gofunc          uint64
	bss, ebss, noptrbss, enoptrbss      uint64
	textSections                        []textSection
}

// A textSection is one of runtime.textsect: only very large programs have several.
type textSection struct{ vaddr, end, base uint64 }

// The magic numbers of a table of functions (debug/gosym, pclntab.go), by the first minor version that has them.
func magicOf(minor int) uint32 {
	switch {
	case minor >= 20:
		return 0xfffffff1
	case minor >= 18:
		return 0xfffffff0
	case minor >= 16:
		return 0xfffffffa
	}
	return 0xfffffffb
}

func isMagic(n uint32) bool {
	return n == 0xfffffff1 || n == 0xfffffff0 || n == 0xfffffffa || n == 0xfffffffb
}

// maxImage is how much of the data of a program is searched, in bytes; maxTables is how many places may look like the runtime's tables.
const (
	maxImage  = 256 << 20
	maxTables = 64
)

var (
	buildInfo = []byte("\xff Go buildinf:")
	release   = pattern.New(`^(?:devel )?go1\.(\d+)`)
)

// open finds the runtime in memory: its version by the build information, its tables by their magic number.
func open(m *memory, a arch) (*program, error) {
	p := &program{memory: m, arch: a, funcs: map[uint64]*function{}}
	var tables []uint64
	left := uint64(maxImage)
	for _, at := range m.image() {
		n := min(at.end-at.start, left)
		left -= n
		m.search(at.start, at.start+n, func(start uint64, data []byte) {
			if p.version == "" {
				p.version = m.buildVersion(data)
			}
			if len(tables) < maxTables {
				tables = append(tables, m.tables(start, data)...)
			}
		})
	}
	if len(tables) == 0 {
		return nil, errNotGo
	}
	found := release.FindStringSubmatch(p.version)
	if found == nil {
		return nil, fmt.Errorf("its version of Go is not known: %q", p.version)
	}
	p.minor, _ = strconv.Atoi(found[1])
	var known bool
	if p.layout, known = layouts[p.minor]; !known && p.minor < newest() {
		return nil, fmt.Errorf("%s is too old to be read", p.version)
	}
	if !known { // it may have the layout of the one before
		p.layout = layouts[newest()]
	}
	for _, addr := range tables {
		if md, err := p.module(addr); err == nil {
			p.modules = append(p.modules, md)
		}
	}
	if len(p.modules) == 0 {
		return nil, fmt.Errorf("the tables of %s have another layout than is known", p.version)
	}
	return p, nil
}

func newest() (n int) {
	for minor := range layouts {
		n = max(n, minor)
	}
	return n
}

// image lists what is mapped of the executable: it is the first file that code is mapped from, since the kernel puts libraries above it.
func (m *memory) image() (list []mapping) {
	exe := slices.IndexFunc(m.maps, func(at mapping) bool {
		if m.exe != "" {
			return at.path == m.exe
		}
		return at.exec && at.inode != "0"
	})
	if exe < 0 {
		return nil
	}
	for _, at := range m.maps {
		if at.inode == m.maps[exe].inode && at.path == m.maps[exe].path && at.read && at.private && !at.exec {
			list = append(list, at)
		}
	}
	return list
}

// tables are addresses that look like a moduledata: its first word points to a table of functions.
func (m *memory) tables(start uint64, data []byte) (found []uint64) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i:]) }
	for i := 0; i+64 <= len(data); i += 8 {
		header, second, third, fourth := word(i), word(i+8), word(i+16), word(i+24)
		if header == 0 || header%4 != 0 {
			continue
		}
		since16 := second > header && second-header < 1024 && third == fourth && third > 0   // pcHeader, funcnametab
		before := second == third && second > 0 && fourth > header && fourth-header < second // pclntable, ftab
		if !since16 && !before {
			continue
		}
		if n, err := m.u32(header); err == nil && isMagic(n) {
			found = append(found, start+uint64(i))
		}
	}
	return found
}

// buildVersion reads the version from the build information (debug/buildinfo, cmd/link/internal/ld/data.go).
func (m *memory) buildVersion(data []byte) string {
	for from := 0; ; {
		i := bytes.Index(data[from:], buildInfo)
		if i < 0 {
			return ""
		}
		i += from
		from = i + 1
		if i%8 != 0 || i+64 > len(data) {
			continue
		}
		head := data[i:]
		if head[15]&2 != 0 { // since 1.18: the string itself
			n, size := binary.Uvarint(head[32:])
			if size > 0 && n < 256 && 32+size+int(n) <= len(head) {
				return string(head[32+size : 32+size+int(n)])
			}
			continue
		}
		at, err := m.u64(binary.LittleEndian.Uint64(head[16:]))
		n, err2 := m.u64(binary.LittleEndian.Uint64(head[16:]) + 8)
		if err != nil || err2 != nil || n > 256 {
			continue
		}
		text := make([]byte, n)
		if m.bytes(at, text) == nil {
			return string(text)
		}
	}
}

// module reads a moduledata.
func (p *program) module(addr uint64) (md module, err error) {
	word := func(offset int) uint64 {
		if offset < 0 || err != nil {
			return 0
		}
		var n uint64
		n, err = p.u64(addr + uint64(offset))
		return n
	}
	md = module{
		addr: addr, header: word(p.modHeader), names: word(p.modFuncNames), cu: word(p.modCU), files: word(p.modFiles), pcs: word(p.modPC), pcln: word(p.modPCLN),
		ftab: word(p.modFuncs), nftab: word(p.modFuncs + 8), minPC: word(p.modMinPC), maxPC: word(p.modMaxPC), text: word(p.modText), gofunc: word(p.modGoFunc),
		bss: word(p.modBSS), ebss: word(p.modEBSS), noptrbss: word(p.modNoPtrBSS), enoptrbss: word(p.modENoPtrBSS),
	}
	if p.modHeader < 0 { // before 1.16 all is in one table, behind its header
		md.header, md.names, md.pcs = md.pcln, md.pcln, md.pcln
	}
	sections, n := word(p.modTextSections), word(p.modTextSections+8)
	magic, err2 := p.u32(md.header)
	switch {
	case err != nil || err2 != nil:
		return md, errors.Join(err, err2)
	case magic != magicOf(p.minor) && p.minor <= newest():
		return md, errors.New("another table of functions than its version has")
	case md.nftab < 2 || md.nftab > 1<<24 || md.minPC >= md.maxPC || md.text > md.minPC || md.ebss < md.bss || md.enoptrbss < md.noptrbss:
		return md, errors.New("no table of functions")
	}
	for i := uint64(0); n > 1 && i < min(n, 64); i++ {
		s := textSection{word2(p, sections+24*i), word2(p, sections+24*i+8), word2(p, sections+24*i+16)}
		md.textSections = append(md.textSections, s)
	}
	return md, err
}

func word2(p *program, addr uint64) uint64 {
	n, _ := p.u64(addr)
	return n
}

// address is that of an offset into the text (runtime.(*moduledata).textAddr).
func (md *module) address(offset uint64) uint64 {
	for _, s := range md.textSections {
		if offset >= s.vaddr && offset < s.end {
			return s.base + offset - s.vaddr
		}
	}
	return md.text + offset
}
