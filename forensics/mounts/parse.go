package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unsafe"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/octal"
)

// What can be wrong with a line.
var (
	errTooLong     = errors.New("line is longer than 1 MiB")
	errTooFew      = errors.New("too few fields")
	errNoSeparator = errors.New(`no field "-" after the optional fields`)
)

// Parse reads the text of /proc/PID/mountinfo, proc_pid_mountinfo(5):
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	(1)(2)(3)   (4)   (5)      (6)      (7)   (8) (9)   (10)         (11)
//
// (1) mount id, (2) id of the parent, (3) device of the superblock, (4) root, (5) mount point, (6) options of the
// mount, (7) optional fields "tag[:value]" in any number, (8) their end, (9) type, (10) source, (11) options of the
// superblock.
//
// Escapes ("\040") are undone in root, mount point, type and source. Optional fields with unknown tags are passed over,
// as the manual asks. A line that cannot be understood becomes an error with its number, and the others are kept; so
// is what was read before an error of r. After 100 such lines further ones are only counted.
func Parse(r io.Reader) ([]Mount, []error) {
	p := tableParser{Parser: &Parser{strings: interner{}}, mounts: []Mount{}}
	if err := p.parse(r); err != nil {
		p.bad = append(p.bad, err)
	}
	return p.mounts, p.errors()
}

// maxLineErrors bounds what is kept of a file that is no mountinfo at all.
const maxLineErrors = 100

// A tableParser collects the mounts of one table.
type tableParser struct {
	*Parser
	mounts  []Mount
	limit   int // of what the mounts take, in bytes; 0 is none
	size    int // what they take so far, beside what other tables have, too
	bad     []error
	dropped int // bad lines beyond maxLineErrors
}

// parse reads a table to its end, and returns why it did not get there. The table is cut with nodefs.ErrTruncated.
func (p *tableParser) parse(r io.Reader) error {
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
		case err != nil:
			return fmt.Errorf("mountinfo after line %d: %w", lines.number, err)
		case p.limit > 0 && p.size > p.limit:
			return fmt.Errorf("mountinfo after line %d: %w: too many mounts", lines.number-1, nodefs.ErrTruncated)
		case len(line) == 0:
			continue
		default:
			var m Mount
			if m, err = p.line(line); err == nil {
				p.keep(m)
				continue
			}
		}
		p.reject(lines.number, err)
	}
}

// keep appends a mount. append itself would copy a long table five times over, as it grows large slices by a quarter.
func (p *tableParser) keep(m Mount) {
	if len(p.mounts) == cap(p.mounts) {
		p.mounts = slices.Grow(p.mounts, max(64, len(p.mounts)))
	}
	p.mounts = append(p.mounts, m)
	p.size += mountSize
}

// mountSize is what a mount takes beside its texts.
const mountSize = int(unsafe.Sizeof(Mount{}))

func (p *tableParser) reject(line int, err error) {
	if len(p.bad) >= maxLineErrors {
		p.dropped++
		return
	}
	p.bad = append(p.bad, fmt.Errorf("mountinfo line %d: %w", line, err))
}

func (p *tableParser) errors() []error {
	if p.dropped > 0 {
		return append(p.bad, fmt.Errorf("mountinfo: %d more lines like these", p.dropped))
	}
	return p.bad
}

// line parses one line. Fields are separated by exactly one space: an empty source is an empty field.
func (p *tableParser) line(text []byte) (Mount, error) {
	var m Mount
	var ids [2][]byte
	for i := range ids {
		var ok bool
		if ids[i], text, ok = cut(text, ' '); !ok {
			return m, errTooFew
		}
	}
	id, err := number("mount id", ids[0])
	if err != nil {
		return m, err
	}
	parent, err := number("parent id", ids[1])
	if err != nil {
		return m, err
	}
	if known := p.lines.get(text); known != nil {
		m = *known
	} else {
		line := p.lines.key(text) // before escapes are undone in place
		p.size += len(text)
		if err = p.rest(&m, text); err != nil {
			return m, err
		}
		p.lines.keep(line, m)
	}
	m.ID, m.ParentID = id, parent
	return m, nil
}

// rest parses what follows the ids.
func (p *tableParser) rest(m *Mount, text []byte) error {
	var field [4][]byte
	for i := range field {
		var ok bool
		if field[i], text, ok = cut(text, ' '); !ok {
			return errTooFew
		}
	}
	err := checkDevice(field[0])
	if err != nil {
		return err
	}
	m.Device = p.strings.get(field[0])
	m.Root = string(octal.Unescape(field[1]))
	m.MountPoint = string(octal.Unescape(field[2]))
	m.Options = p.strings.get(field[3])
	if text, err = m.optional(text); err != nil {
		return err
	}
	return p.tail(m, text)
}

// optional parses the optional fields and returns what follows their end.
func (m *Mount) optional(text []byte) ([]byte, error) {
	for {
		field, rest, more := cut(text, ' ')
		if len(field) == 1 && field[0] == '-' {
			return rest, nil
		}
		if !more {
			return nil, errNoSeparator
		}
		tag, value, _ := cut(field, ':')
		var err error
		switch string(tag) {
		case "shared":
			m.Shared, err = number("peer group", value)
		case "master":
			m.Master, err = number("master", value)
		case "propagate_from":
			m.PropagateFrom, err = number("propagate_from", value)
		case "unbindable":
			m.Unbindable = true
		}
		if err != nil {
			return nil, err
		}
		text = rest
	}
}

// tail parses type, source and superblock options. The last are the rest of the line: Linux before 3.10 let the spaces
// of a CIFS share's name through ("unc=\\srv\My Docs").
func (p *tableParser) tail(m *Mount, text []byte) error {
	fsType, text, ok := cut(text, ' ')
	if !ok || len(fsType) == 0 {
		return errTooFew
	}
	source, super, ok := cut(text, ' ')
	if !ok {
		return errTooFew
	}
	m.FSType = p.strings.get(octal.Unescape(fsType))
	m.Class = ClassOf(m.FSType)
	m.Source = p.strings.get(octal.Unescape(source))
	m.SuperOptions = p.strings.get(super)
	return nil
}

// cut slices text around the first separator.
func cut(text []byte, separator byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(text, separator); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, nil, false
}

// number parses a mount or peer group id, which the kernel prints from an int that is never negative.
func number(what string, text []byte) (int, error) {
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return int(n), nil
}

func checkDevice(text []byte) error {
	major, minor, ok := cut(text, ':')
	if !ok {
		return fmt.Errorf("device %q is not major:minor", text)
	}
	for _, part := range [][]byte{major, minor} {
		if _, err := strconv.ParseUint(string(part), 10, 32); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	return nil
}
