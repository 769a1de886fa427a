package mounts

import "io"

// A Parser parses one table after another, and keeps one copy of the strings that they have in common. It is for one
// goroutine. The zero value is ready for use.
type Parser struct {
	strings interner
	lines   *lineCache
}

// NewParser returns a Parser for tables that are nearly copies of each other, as those of mount namespaces are: a line that
// was in an earlier table is not parsed again.
func NewParser() *Parser { return &Parser{lines: &lineCache{}} }

// Parse does what the function [Parse] does, and puts the mounts into the room of list. It tells lines that cannot be
// understood from the error that ended the table early. A limit bounds what the mounts may take beside what earlier tables
// have, too, in bytes; 0 is none. A table that takes more is cut with nodefs.ErrTruncated.
func (p *Parser) Parse(r io.Reader, list []Mount, limit int) (mounts []Mount, bad []error, err error) {
	if p.strings == nil {
		p.strings = interner{}
	}
	t := tableParser{Parser: p, mounts: list[:0], limit: limit}
	err = t.parse(r)
	return t.mounts, t.errors(), err
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

// An interner keeps one copy of equal strings: tables repeat types, options and devices on every line, and tables of
// several namespaces repeat nearly everything.
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
	if len(s) <= maxInterned && len(in) < maxInterner {
		in[s] = s
	}
	return s
}
