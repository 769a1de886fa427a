package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
)

// WriteJSON writes indented JSON that is safe to look at, too: what a terminal would act on and what nobody sees is escaped
// ("\u009b"), also where JSON allows it as it is. Markup is not. Large values are written piece by piece.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, v, false) }

func writeJSON(w io.Writer, v any, arrays bool) error {
	out := bufio.NewWriterSize(w, 64<<10)
	j := jsonWriter{w: &visibleJSON{out}, arrays: arrays}
	j.value(reflect.ValueOf(v), "", streamDepth)
	j.text("\n")
	if j.err != nil {
		return j.err
	}
	return out.Flush()
}

// Limits of a document that is read. A report of a node has at most some 15 MB, and one of a dump of any size that was
// analyzed 45 MB; older versions, which kept every goroutine, wrote 98 MB for a kubelet with 77,000.
const (
	maxDocument = 64_000_000  // bytes
	maxMemory   = 160_000_000 // bytes, estimated
)

// DecodeJSON reads one document into what v points to, with little more memory than v takes. A document that would need
// too much is [jsonlimit.ErrTooLarge]; it may have been decoded in part.
func DecodeJSON(r io.Reader, v any) error {
	dec := json.NewDecoder(&jsonlimit.Reader{R: r, Bytes: maxDocument, Memory: maxMemory})
	err := (jsonReader{dec}).value(reflect.ValueOf(v).Elem(), streamDepth)
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	if _, err := dec.Token(); errors.Is(err, jsonlimit.ErrTooLarge) {
		return err
	} else if !errors.Is(err, io.EOF) {
		return errors.New("something follows behind the document")
	}
	return nil
}

// visibleJSON escapes in JSON that is cut between its values. Outside of strings there is only ASCII.
type visibleJSON struct{ w io.Writer }

func (v *visibleJSON) Write(text []byte) (int, error) {
	var escaped []byte
	done := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if hidden(r) {
			escaped = append(escaped, text[done:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return v.w.Write(text)
	}
	if _, err := v.w.Write(append(escaped, text[done:]...)); err != nil {
		return 0, err
	}
	return len(text), nil
}
