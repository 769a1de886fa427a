package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

// Bounds of what is read of a binary, all far beyond those of any.
const (
	maxSections     = 4096
	maxSectionNames = 1 << 20
	maxBuildInfo    = 4 << 20
)

var errNoBuildInfo = errors.New("no Go build information")

// elfHeader is the header of a 64-bit ELF file (elf(5)).
type elfHeader struct {
	Ident                               [16]byte
	Type, Machine                       uint16
	Version                             uint32
	Entry, Phoff, Shoff                 uint64
	Flags                               uint32
	Ehsize, Phentsize, Phnum, Shentsize uint16
	Shnum, Shstrndx                     uint16
}

// elfSection is the header of one section.
type elfSection struct {
	Name, Type                uint32
	Flags, Addr, Offset, Size uint64
	Link, Info                uint32
	Addralign, Entsize        uint64
}

// readBuildInfo reads what Go 1.18 and later put into the section .go.buildinfo of a 64-bit little-endian ELF file: a
// header of 32 bytes, the version of Go and the modules, each with its length before it. The package debug/buildinfo
// knows more formats, for which it brings the readers of five kinds of executables.
//
// It reads no more than a bounded part of the file, which may be anything.
func readBuildInfo(r io.ReaderAt) (*debug.BuildInfo, error) {
	var header elfHeader
	if err := readAt(r, 0, &header); err != nil {
		return nil, err
	}
	const elf64LittleEndian = "\x7fELF\x02\x01"
	if !bytes.HasPrefix(header.Ident[:], []byte(elf64LittleEndian)) {
		return nil, fmt.Errorf("%w: not a 64-bit ELF file", errNoBuildInfo)
	}
	sections := make([]elfSection, header.Shnum)
	if header.Shnum > maxSections || int(header.Shstrndx) >= len(sections) || int(header.Shentsize) != binary.Size(elfSection{}) {
		return nil, fmt.Errorf("%w: no section table", errNoBuildInfo)
	}
	if err := readAt(r, header.Shoff, sections); err != nil {
		return nil, err
	}
	names, err := sections[header.Shstrndx].read(r, maxSectionNames)
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		if int64(s.Name) < int64(len(names)) && bytes.HasPrefix(names[s.Name:], []byte(".go.buildinfo\x00")) {
			text, err := s.read(r, maxBuildInfo)
			if err != nil {
				return nil, err
			}
			return parseBuildInfo(text)
		}
	}
	return nil, errNoBuildInfo
}

// parseBuildInfo reads the section.
func parseBuildInfo(text []byte) (*debug.BuildInfo, error) {
	const magic, inline, headerSize, sentinel = "\xff Go buildinf:", 2, 32, 16
	if len(text) < headerSize || !bytes.HasPrefix(text, []byte(magic)) || text[15]&inline == 0 {
		return nil, errNoBuildInfo
	}
	version, rest, ok := cutString(text[headerSize:])
	if !ok {
		return nil, errNoBuildInfo
	}
	modules, _, ok := cutString(rest)
	if !ok || len(modules) < 2*sentinel {
		return nil, errNoBuildInfo
	}
	info, err := debug.ParseBuildInfo(string(modules[sentinel : len(modules)-sentinel]))
	if err != nil {
		return nil, err
	}
	info.GoVersion = string(version)
	return info, nil
}

// cutString reads a string with its length before it.
func cutString(text []byte) (s, rest []byte, ok bool) {
	length, n := binary.Uvarint(text)
	if n <= 0 || length > uint64(len(text)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return text[n:end], text[end:], true
}

func (s elfSection) read(r io.ReaderAt, limit uint64) ([]byte, error) {
	if s.Size > limit {
		return nil, fmt.Errorf("%w: a section of %d bytes", errNoBuildInfo, s.Size)
	}
	text := make([]byte, s.Size)
	return text, readAt(r, s.Offset, text)
}

// readAt fills a value of fixed size.
func readAt(r io.ReaderAt, offset uint64, into any) error {
	size := int64(binary.Size(into))
	if offset > 1<<62 {
		return fmt.Errorf("%w: beyond the end of the file", errNoBuildInfo)
	}
	return binary.Read(io.NewSectionReader(r, int64(offset), size), binary.LittleEndian, into)
}
