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
	p := parser{strings: interner{}, mounts: []Mount{}}
	if err := p.parse(r); err != nil {
		p.bad = append(p.bad, err)
	}
	return p.mounts, p.errors()
}

// maxLineErrors bounds what is kept of a file that is no mountinfo at all.
const maxLineErrors = 100

// A parser collects the mounts of one table. Its interner may be shared with other tables, and so may its lines, which may
// be nil, as they repeat in other tables only.
type parser struct {
	strings interner
	lines   *lineCache
	mounts  []Mount
	most    int // what the mounts may take, in bytes; 0 is no limit
	size    int // what they take so far, beside what other tables have, too
	bad     []error
	dropped int // bad lines beyond maxLineErrors
}

// parse reads a table to its end, and returns why it did not get there. The table is cut with nodefs.ErrTruncated.
func (p *parser) parse(r io.Reader) error {
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
		case err != nil:
			return fmt.Errorf("mountinfo after line %d: %w", lines.number, err)
		case p.most > 0 && p.size > p.most:
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
func (p *parser) keep(m Mount) {
	if len(p.mounts) == cap(p.mounts) {
		p.mounts = slices.Grow(p.mounts, max(64, len(p.mounts)))
	}
	p.mounts = append(p.mounts, m)
	p.size += mountSize
}

// mountSize is what a mount takes beside its texts.
const mountSize = int(unsafe.Sizeof(Mount{}))

func (p *parser) reject(line int, err error) {
	if len(p.bad) >= maxLineErrors {
		p.dropped++
		return
	}
	p.bad = append(p.bad, fmt.Errorf("mountinfo line %d: %w", line, err))
}

func (p *parser) errors() []error {
	if p.dropped > 0 {
		return append(p.bad, fmt.Errorf("mountinfo: %d more lines like these", p.dropped))
	}
	return p.bad
}

// line parses one line. Fields are separated by exactly one space: an empty source is an empty field.
func (p *parser) line(text []byte) (Mount, error) {
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
func (p *parser) rest(m *Mount, text []byte) error {
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
	m.Root = string(Unescape(field[1]))
	m.MountPoint = string(Unescape(field[2]))
	m.Options = p.strings.get(field[3])
	if text, err = m.optional(text); err != nil {
		return err
	}
	return p.tail(m, text)
}

// A lineCache knows what lines mean by all but their ids: a new mount namespace begins as a copy of another, with nearly
// the same table. A nil one keeps nothing.
type lineCache struct {
	known map[string]*Mount
	size  int // what is kept, in bytes
}

// maxLines bounds a lineCache, in bytes: there is one for each reader.
const maxLines = 2 << 20

func (c *lineCache) get(text []byte) *Mount {
	if c == nil {
		return nil
	}
	return c.known[string(text)]
}

// key is what a line is to be kept by, "" if it is not.
func (c *lineCache) key(text []byte) string {
	if c == nil || c.size > maxLines {
		return ""
	}
	return string(text)
}

func (c *lineCache) keep(line string, m Mount) {
	if line == "" {
		return
	}
	if c.known == nil {
		c.known = map[string]*Mount{}
	}
	c.known[line] = &m
	c.size += 2*len(line) + mountSize
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
func (p *parser) tail(m *Mount, text []byte) error {
	fsType, text, ok := cut(text, ' ')
	if !ok || len(fsType) == 0 {
		return errTooFew
	}
	source, super, ok := cut(text, ' ')
	if !ok {
		return errTooFew
	}
	m.FSType = p.strings.get(Unescape(fsType))
	m.Class = ClassOf(m.FSType)
	m.Source = p.strings.get(Unescape(source))
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

// unescape undoes what mangle_path and seq_escape of the kernel do: "\ooo", three octal digits for one byte. They
// escape space, tab, newline and backslash, and "#" in a source; as a backslash is always among them, every escape may
// be undone, whichever byte it stands for. It works in place.
func Unescape(text []byte) []byte {
	from := bytes.IndexByte(text, '\\')
	if from < 0 {
		return text
	}
	to := from
	for from < len(text) {
		c := text[from]
		if c == '\\' && from+3 < len(text) {
			if b, ok := octal(text[from+1 : from+4]); ok {
				c, from = b, from+3
			}
		}
		text[to] = c
		to, from = to+1, from+1
	}
	return text[:to]
}

func octal(digits []byte) (byte, bool) {
	n := 0
	for _, d := range digits {
		if d < '0' || d > '7' {
			return 0, false
		}
		n = n<<3 | int(d-'0')
	}
	return byte(n), n <= 0xff
}

// An interner keeps one copy of equal strings: tables repeat types, options and devices on every line, and tables of
// several namespaces repeat nearly everything. A nil one keeps nothing.
type interner map[string]string

// maxInterner and maxInterned bound an interner: in number, and in bytes for each.
const (
	maxInterner = 1 << 13
	maxInterned = 256
)

func (in interner) get(text []byte) string {
	if s, ok := in[string(text)]; ok { // the compiler makes no string for this look-up
		return s
	}
	s := string(text)
	if in != nil && len(s) <= maxInterned && len(in) < maxInterner {
		in[s] = s
	}
	return s
}
