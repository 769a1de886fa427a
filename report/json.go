package report

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
)

// WriteJSON writes indented JSON that is safe to display: control characters and invisible characters are escaped ("\u009b"),
// also where JSON allows them. Markup is not escaped. Large values are written in pieces.
func WriteJSON(w io.Writer, v any) error { return writeJSON(w, v, false) }

func writeJSON(w io.Writer, v any, arrays bool) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if err := jsonstream.Write(&visibleJSON{out}, v, arrays); err != nil {
		return err
	}
	return out.Flush()
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
