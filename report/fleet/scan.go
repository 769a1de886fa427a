package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of one document.
const (
	maxDocument = 256 << 20 // bytes; the largest reports of real nodes have 98 MB
	bufferSize  = 128 << 10
	maxKey      = 256 // bytes of a field's name that are kept
)

var (
	errTooLarge = fmt.Errorf("larger than %d MB", maxDocument>>20)
	errCut      = errors.New("the document is cut: it ends within a value")
)

// A scanner reads JSON documents and keeps nothing of what it skips: evidence is nine tenths of a report. What it skips is not checked, but
// for its strings and brackets, so that a document that is cut is noticed.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	read     int64 // bytes before buf
	began    int64 // where the document began
	err      error
}

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, bufferSize)} }

func (s *scanner) offset() int64 { return s.read + int64(s.pos) }

// fill reads more, where all of the buffer was used.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	s.read += int64(s.end)
	s.pos, s.end = 0, 0
	if s.read-s.began > maxDocument {
		s.err = errTooLarge
		return false
	}
	for range 100 { // as bufio, which gives up a reader that returns nothing
		n, err := s.r.Read(s.buf)
		s.end = n
		if err != nil {
			s.err = err
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// failure is why there is no next byte.
func (s *scanner) failure() error {
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return errCut
	}
	return s.err
}

// peek is the next byte that is no blank.
func (s *scanner) peek() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\t', '\r':
				s.pos++
			default:
				return c, nil
			}
		}
		if !s.fill() {
			return 0, s.failure()
		}
	}
}

// next begins a document, and says whether there is one.
func (s *scanner) next() (bool, error) {
	s.began = s.offset()
	if s.began == 0 && s.fill() {
		s.pos = len(s.buf[:s.end]) - len(bytes.TrimPrefix(s.buf[:s.end], []byte("\ufeff")))
	}
	_, err := s.peek()
	if err != nil && errors.Is(s.err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (s *scanner) unexpected(want string) error {
	return fmt.Errorf("broken JSON at byte %d: %s expected", s.offset(), want)
}

// expect takes one byte.
func (s *scanner) expect(c byte, want string) error {
	got, err := s.peek()
	switch {
	case err != nil:
		return err
	case got != c:
		return s.unexpected(want)
	}
	s.pos++
	return nil
}

// isNull takes null.
func (s *scanner) isNull() (bool, error) {
	c, err := s.peek()
	if err != nil || c != 'n' {
		return false, err
	}
	return true, s.skip()
}

// object calls each for all fields; it takes the value. The name is only valid until then.
func (s *scanner) object(each func(key string) error) error {
	return s.members("{}", "an object", func() error {
		key, err := s.text(maxKey)
		if err == nil {
			err = s.expect(':', "a colon")
		}
		if err == nil {
			err = each(key)
		}
		return err
	})
}

// array calls each for all elements; it takes the element.
func (s *scanner) array(each func() error) error { return s.members("[]", "a list", each) }

// members calls each for what is between brackets. Null has none.
func (s *scanner) members(brackets, what string, each func() error) error {
	if null, err := s.isNull(); null || err != nil {
		return err
	}
	if err := s.expect(brackets[0], what); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c == brackets[1]:
			s.pos++
			return nil
		case !first:
			if err := s.expect(',', "a comma"); err != nil {
				return err
			}
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// skip takes any value.
func (s *scanner) skip() error {
	c, err := s.peek()
	switch {
	case err != nil:
		return err
	case c == '"':
		s.pos++
		return s.skipString()
	case c == '{' || c == '[':
		return s.skipNested()
	}
	_, err = s.literal()
	return err
}

// skipNested takes a list or an object, however deep.
func (s *scanner) skipNested() error {
	for depth := 0; ; {
		for s.pos < s.end {
			c := s.buf[s.pos]
			s.pos++
			switch c {
			case '"':
				if err := s.skipString(); err != nil {
					return err
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return nil
				}
			}
		}
		if !s.fill() {
			return s.failure()
		}
	}
}

// skipString takes the rest of a string, behind its first quotation mark.
func (s *scanner) skipString() error {
	for {
		text := s.buf[s.pos:s.end]
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			quote = len(text)
		}
		escape := bytes.IndexByte(text[:quote], '\\')
		switch {
		case escape >= 0:
			s.pos += escape + 1
			if s.pos == s.end && !s.fill() {
				return s.failure()
			}
			s.pos++
		case quote < len(text):
			s.pos += quote + 1
			return nil
		default:
			s.pos = s.end
			if !s.fill() {
				return s.failure()
			}
		}
	}
}

// literal takes a number, true, false or null.
func (s *scanner) literal() (string, error) {
	var text []byte
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != 'E' {
				if len(text) == 0 {
					return "", s.unexpected("a value")
				}
				return string(text), nil
			}
			if text = append(text, c); len(text) > 400 { // the longest number of a double has some 320 digits
				return "", s.unexpected("a shorter number")
			}
			s.pos++
		}
		if !s.fill() {
			return "", s.failure()
		}
	}
}

// text takes a string and returns at most its first bytes; "" for null.
func (s *scanner) text(limit int) (string, error) {
	if null, err := s.isNull(); null || err != nil {
		return "", err
	}
	if err := s.expect('"', "a string"); err != nil {
		return "", err
	}
	raw := make([]byte, 0, min(limit, 64))
	for {
		if s.pos == s.end && !s.fill() {
			return "", s.failure()
		}
		c := s.buf[s.pos]
		if len(raw) >= limit {
			return strings.ToValidUTF8(cutRune(raw), "\uFFFD"), s.skipString()
		}
		s.pos++
		switch c {
		case '"':
			return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
		case '\\':
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			raw = utf8.AppendRune(raw, r)
		default:
			raw = append(raw, c)
		}
	}
}

// cutRune leaves out a character of which only the first bytes are there.
func cutRune(raw []byte) string {
	for i := len(raw) - 1; i >= 0 && i >= len(raw)-utf8.UTFMax; i-- {
		if utf8.RuneStart(raw[i]) {
			if !utf8.FullRune(raw[i:]) {
				raw = raw[:i]
			}
			break
		}
	}
	return string(raw)
}

func (s *scanner) byte() (byte, error) {
	if s.pos == s.end && !s.fill() {
		return 0, s.failure()
	}
	s.pos++
	return s.buf[s.pos-1], nil
}

// escape takes what follows a backslash. A half of a pair of surrogates alone is U+FFFD.
func (s *scanner) escape() (rune, error) {
	c, err := s.byte()
	if err != nil {
		return 0, err
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, s.unexpected("an escape")
	}
	r, err := s.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if s.pos == s.end && !s.fill() {
		return 0, s.failure()
	}
	if s.buf[s.pos] != '\\' {
		return utf8.RuneError, nil
	}
	s.pos++
	if c, err = s.byte(); err != nil {
		return 0, err
	}
	if c != 'u' {
		return 0, s.unexpected("the second half of a character")
	}
	low, err := s.unit()
	return utf16.DecodeRune(r, low), err
}

func (s *scanner) unit() (rune, error) {
	var digits [4]byte
	for i := range digits {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		digits[i] = c
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, s.unexpected("four hexadecimal digits")
	}
	return rune(n), nil
}

// number takes an integer; 0 for another number.
func (s *scanner) number() (int, error) {
	if c, err := s.peek(); err != nil || c == '"' || c == '{' || c == '[' {
		if err == nil {
			err = s.unexpected("a number")
		}
		return 0, err
	}
	text, err := s.literal()
	n, bad := strconv.Atoi(text)
	if bad != nil {
		n = 0
	}
	return n, err
}

func (s *scanner) bool() (bool, error) {
	if c, err := s.peek(); err != nil || c == '"' || c == '{' || c == '[' {
		if err == nil {
			err = s.unexpected("true or false")
		}
		return false, err
	}
	text, err := s.literal()
	return text == "true", err
}

// moment takes a time; nil for one that is none.
func (s *scanner) moment() (*time.Time, error) {
	text, err := s.text(64)
	if err != nil {
		return nil, err
	}
	t, bad := time.Parse(time.RFC3339, text)
	if bad != nil || t.Year() < 1970 || t.Year() > 9999 {
		return nil, nil
	}
	t = t.UTC()
	return &t, nil
}
