// Package yamlstream turns JSON into YAML while it is read. It holds one value in memory, not the document: a report can have 160 MB.
package yamlstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Write writes what a function writes as JSON as YAML. Keys keep their order. What a terminal would act on, and what is invisible, is
// escaped.
func Write(w io.Writer, writeJSON func(io.Writer) error) error {
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(writeJSON(in)) }()
	defer func() { _ = out.Close() }()
	return convert(w, out)
}

func convert(w io.Writer, r io.Reader) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(r, 64<<10)) // it reads 512 bytes at a time
	decoder.UseNumber()
	c := converter{in: decoder, out: bufio.NewWriterSize(w, 64<<10)}
	if err := c.value(0, true); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("after the JSON: %w", err)
	}
	return c.out.Flush()
}

type converter struct {
	in  *json.Decoder
	out *bufio.Writer
}

// value writes one value. At its line's start, and after "- ", a mapping begins on the same line; after "key:" it begins on the next.
func (c *converter) value(indent int, first bool) error {
	token, err := c.in.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return c.collection(token, indent, first)
	case string:
		if !first {
			c.write(" ")
		}
		c.scalar(token, max(indent, 1))
	case nil:
		c.plain("null", first)
	default: // json.Number, bool
		c.plain(fmt.Sprint(token), first)
	}
	return nil
}

func (c *converter) plain(s string, first bool) {
	if !first {
		c.write(" ")
	}
	c.write(s + "\n")
}

// collection writes a mapping or a sequence whose opening bracket was read.
func (c *converter) collection(open json.Delim, indent int, first bool) error {
	if !c.in.More() {
		c.plain(map[json.Delim]string{'{': "{}", '[': "[]"}[open], first)
		_, err := c.in.Token()
		return err
	}
	if !first {
		c.write("\n")
	}
	for n := 0; c.in.More(); n++ {
		if n > 0 || !first {
			c.write(strings.Repeat(" ", indent))
		}
		if open == '[' {
			c.write("- ")
			if err := c.value(indent+2, true); err != nil {
				return err
			}
			continue
		}
		key, err := c.in.Token()
		if err != nil {
			return err
		}
		if err := c.pair(fmt.Sprint(key), indent); err != nil {
			return err
		}
	}
	_, err := c.in.Token()
	return err
}

// maxKey is how many bytes a key has at most before ":"; readers of YAML need not look further than 1,024 characters.
const maxKey = 128

// pair writes a key and its value.
func (c *converter) pair(key string, indent int) error {
	if !isBare(key) {
		key = quoted(key)
	}
	if len(key) > maxKey {
		c.write("? " + key + "\n" + strings.Repeat(" ", indent) + ": ")
		return c.value(indent+2, true)
	}
	c.write(key + ":")
	return c.value(indent+2, false)
}

func (c *converter) write(s string) { _, _ = c.out.WriteString(s) } // Flush returns the error

// isReserved says whether some version of YAML does not read a word as a string.
func isReserved(s string) bool {
	if len(s) > len("false") {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

// isBare says whether every version of YAML reads a text as a string without quotes: it begins with a letter or "/", and nothing in it
// ends a plain scalar.
func isBare(s string) bool {
	if s == "" || isReserved(s) || strings.HasSuffix(s, ":") || strings.HasSuffix(s, " ") {
		return false
	}
	if first := s[0] | 0x20; s[0] != '/' && (first < 'a' || first > 'z') {
		return false
	}
	return utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) && !strings.Contains(s, ": ") && !strings.Contains(s, " #")
}

// scalar writes a string: as it is, as a block of lines, or in double quotes.
func (c *converter) scalar(s string, indent int) {
	switch {
	case isBare(s):
		c.write(s + "\n")
	case isBlock(s):
		c.write("|-\n")
		for line := range strings.SplitSeq(s, "\n") {
			if line != "" {
				c.write(strings.Repeat(" ", indent) + line)
			}
			c.write("\n")
		}
	default:
		c.write(quoted(s) + "\n")
	}
}

// isBlock says whether a text of several lines can stand in a block scalar.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasSuffix(s, "\n") || strings.TrimLeft(s, " \t\n") != s || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) })
}

// hidden says whether a rune is written as an escape, as in the JSON: what a terminal acts on, and what is invisible.
func hidden(r rune) bool {
	if r >= 0x20 && r < 0x7f {
		return false
	}
	return !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800'
}

// quoted is a string in double quotes.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
