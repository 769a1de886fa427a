package mounts

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
// several namespaces repeat nearly everything. A nil one keeps nothing.
type interner map[string]string

const maxInterner = 1 << 13

// maxInterner and maxInterned bound an interner: in number, and in bytes for each.
const (
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
