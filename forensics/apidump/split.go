package apidump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxObject bounds one object; etcd refuses larger ones than 1.5 MiB, and indentation may quadruple that.
const maxObject = 16 << 20

// split passes on each object of a list, or the one object that the text is, with its kind. It looks only at brackets
// and strings: a dump of a large cluster is hundreds of megabytes, and most of it need not be decoded.
//
// The text may be a list ({"items": [...]}), an object, or several of them one after the other. Objects of a list of one
// kind do not say what they are; their kind is that of the list, if the list's kind comes before them, as servers write it. What is
// passed on is valid until the function returns. It is an error if the text is anything else, or nothing.
func split(r io.Reader, object func(kind string, text []byte) error) error {
	s := &splitter{in: r, object: object}
	for values := 0; ; values++ {
		c, err := s.skipSpace()
		switch {
		case errors.Is(err, io.EOF) && values > 0:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("no API object")
		case err != nil:
			return err
		case c != '{':
			return fmt.Errorf("%q instead of an object", c)
		}
		if err := s.value(); err != nil {
			return err
		}
	}
}

type splitter struct {
	in     io.Reader
	object func(string, []byte) error
	buf    []byte
	keep   int // where the text begins that is still needed
	pos    int // the next byte
}

// value reads one value of the top level, after its opening bracket.
func (s *splitter) value() error {
	s.keep = s.pos - 1
	list := false
	kind, err := s.scan(func(kind string) error {
		list = true
		return s.items(strings.TrimSuffix(kind, "List"))
	})
	if err != nil || list { // what is around the items is the list's own
		return err
	}
	return s.object(kind, s.buf[s.keep:s.pos])
}

// items passes on the values of an array, after its opening bracket, up to its closing bracket.
func (s *splitter) items(listed string) error {
	for {
		c, err := s.skipSpace()
		switch {
		case err != nil:
			return cut(err)
		case c == ']':
			return nil
		case c == ',':
			continue
		case c != '{':
			return fmt.Errorf("%q in a list of objects", c)
		}
		s.keep = s.pos - 1
		kind, err := s.scan(nil)
		if err != nil {
			return err
		}
		if kind == "" {
			kind = listed
		}
		if err := s.object(kind, s.buf[s.keep:s.pos]); err != nil {
			return err
		}
	}
}

// scan reads to the end of an object, of which the opening bracket was read, and returns the value of its "kind". Where
// its key "items" has an array, that is left to a function, if there is one.
func (s *splitter) scan(items func(kind string) error) (kind string, err error) {
	key := "" // the last string of the object itself, while it may be a key
	for depth := 1; depth > 0; {
		for s.pos < len(s.buf) && !telling[s.buf[s.pos]] {
			s.pos++
		}
		c, err := s.next()
		if err != nil {
			return "", cut(err)
		}
		switch c {
		case '"':
			begin := s.pos - s.keep
			if err := s.text(); err != nil {
				return "", err
			}
			if depth > 1 {
				continue
			}
			word := s.buf[s.keep+begin : s.pos-1]
			if key == "kind" {
				kind = string(word)
			}
			key = ""
			if string(word) == "kind" || string(word) == "items" {
				key = string(word)
			}
		case '[':
			if depth++; depth == 2 && key == "items" && items != nil {
				if err := items(kind); err != nil {
					return "", err
				}
				depth--
				s.keep = s.pos
			}
		case '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 1 {
				key = ""
			}
		}
		if s.pos-s.keep > maxObject {
			return "", errLarge
		}
	}
	return kind, nil
}

// telling are the bytes outside of strings that show the structure.
var telling = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true, ',': true}

var errLarge = fmt.Errorf("an object of more than %d bytes", maxObject)

// text reads to the end of a string, after its opening quote.
func (s *splitter) text() error {
	for {
		i := bytes.IndexByte(s.buf[s.pos:], '"')
		if i < 0 {
			s.pos = len(s.buf)
			if s.pos-s.keep > maxObject {
				return errLarge
			}
			if err := s.fill(); err != nil {
				return cut(err)
			}
			continue
		}
		s.pos += i + 1
		escapes := 0
		for at := s.pos - 2; at >= s.keep && s.buf[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return nil
		}
	}
}

func (s *splitter) next() (byte, error) {
	if s.pos == len(s.buf) {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.pos++
	return s.buf[s.pos-1], nil
}

// fill reads more text behind what is needed.
func (s *splitter) fill() error {
	const step = 1 << 18
	if s.keep > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.keep:])]
		s.pos -= s.keep
		s.keep = 0
	}
	if cap(s.buf)-len(s.buf) < step {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)+step), s.buf...)
	}
	for {
		n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// skipSpace returns the next byte that is no space, nor of a byte order mark. What is before it is no longer needed.
func (s *splitter) skipSpace() (byte, error) {
	for {
		s.keep = s.pos
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return c, nil
		}
	}
}

// cut says what the end of the text means in the middle of a value.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
