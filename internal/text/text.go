// Package text spells numbers, sizes, times and names as reports show them, and keeps what is no UTF-8 readable.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// Plural spells a count: "1 pod", "3 pods", "2 directories".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "x") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Bytes spells a size: "512 B", "64.0 MiB", "1.4 GiB".
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < 5 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit])
}

// Duration spells seconds with the precision that is needed, in two units at most: "0.3 s", "15 s", "46 min", "3 h", "3 h 5 min", "2 d 4 h".
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case seconds < 0.001:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case seconds < 1:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case seconds < 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", seconds), ".0") + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(seconds))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return two(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

// two spells two units, and leaves out the second one where there is none of it.
func two(n int, unit string, rest int, of string) string {
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, of)
}

// ToValidUTF8 is s with each byte that is no UTF-8 as `\xff`, which is how JSON can have it. File names are bytes to the
// kernel, and often in an encoding of old. What is valid stays as it is, also a name with a backslash of its own.
func ToValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapedByte is what [ToValidUTF8] writes.
var escapedByte = pattern.New(`\\x[89a-f][0-9a-f]`)

// FromValidUTF8 undoes [ToValidUTF8]. A name that has such an escape of its own, which no common program makes, comes back
// wrong: as one that is not there.
func FromValidUTF8(s string) string {
	return escapedByte.ReplaceAllStringFunc(s, func(escape string) string {
		b, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(b)})
	})
}

// Release is a version without its v; "" for a build that does not know its own (0.0.0, as of a pseudo-version).
func Release(version string) string {
	version = strings.TrimPrefix(version, "v")
	if strings.HasPrefix(version, "0.0.0") {
		return ""
	}
	return version
}

// Moment spells a time in UTC, to the second.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
