// Package testsecrets makes texts with secrets in them, for tests: what people and programs write into command lines,
// environments, logs, mount options and the like, with secrets that are made up at random, but the same for a seed.
package testsecrets

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
)

// All are the forms that the masking was written with, HeldBack those that were written beforehand and not used meanwhile.
var (
	//go:embed forms.txt
	All string
	//go:embed heldback.txt
	HeldBack string
)

// A Form is one text and what in it must not be seen.
type Form struct {
	Channel, Family, Text string
	// Pieces are parts of the secrets, each so long that it gives something away.
	Pieces []string
}

// piece is how many bytes of a secret give it away. Those of hexadecimal and decimal ones occur by chance.
const piece, numberPiece = 6, 9

// Read makes the forms of a list, see forms.txt.
func Read(list string, seed uint64) []Form {
	g := generator{rand.New(rand.NewPCG(seed, seed)), nil}
	var forms []Form
	channel := ""
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			channel = name
		} else if family, text, ok := strings.Cut(line, " | "); ok && !strings.HasPrefix(line, "#") {
			g.pieces = nil
			forms = append(forms, Form{Channel: channel, Family: family, Text: g.fill(text), Pieces: g.pieces})
			forms[len(forms)-1].Pieces = g.pieces
		}
	}
	return forms
}

// A generator makes secrets.
type generator struct {
	*rand.Rand
	pieces []string
}

func (g *generator) fill(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "⟦")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		kind, after, _ := strings.Cut(rest, "⟧")
		b.WriteString(g.secret(kind))
		text = after
	}
}

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

// secret makes a secret of a kind and notes its pieces. What is noted is the part that was made up, not a prefix.
func (g *generator) secret(kind string) string {
	name, arg, _ := strings.Cut(kind, ":")
	n, _ := strconv.Atoi(strings.TrimLeft(name, lower+upper))
	if n == 0 {
		n, _ = strconv.Atoi(arg)
	}
	switch strings.TrimRight(name, digit) {
	case "pw":
		return g.note(g.password(g.IntN(4) > 0), piece)
	case "pwd": // with a digit
		return g.note(g.password(true), piece)
	case "pwx":
		return g.note(g.password(true), piece) + "!#" + g.note(g.password(true), piece)
	case "pwj":
		return g.note(g.password(true), piece) + `\"` + g.note(g.password(true), piece)
	case "pwu":
		return g.note(g.password(true), piece) + url.QueryEscape(`&/ "`) + g.note(g.password(true), piece)
	case "hex":
		return g.note(g.of("abcdef"+digit, n), numberPiece)
	case "dig":
		return g.note(g.of(digit, n), numberPiece)
	case "an":
		return g.note(g.of(lower+upper+digit, n), piece)
	case "anl":
		return g.note(g.of(lower+digit, n), piece)
	case "AN":
		return g.note(g.of(upper+digit, n), piece)
	case "bech":
		return g.note(g.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", n), piece)
	case "b":
		return g.note(base64.StdEncoding.EncodeToString([]byte(g.of(lower+upper+digit+"\x80\xff\x01\x90\xfe", n))), piece)
	case "bu":
		s := base64.StdEncoding.EncodeToString([]byte(g.of(lower+upper+digit+"\x80\xff\x01\x90\xfe", n)))
		g.note(s, piece)
		return url.QueryEscape(s)
	case "uuid":
		s := g.of("abcdef"+digit, 32)
		g.note(s[20:], numberPiece)
		return s[:8] + "-" + s[8:12] + "-4" + s[13:16] + "-a" + s[17:20] + "-" + s[20:]
	case "B":
		return g.encoded(arg)
	case "BB":
		return base64.StdEncoding.EncodeToString([]byte(`{"data":"` + g.encoded(arg) + `"}`))
	}
	panic("no kind of secret: " + kind) //nolint:forbidigo // a mistake in a list of this package
}

// encoded is base64 of a text with a password in it. Only the bytes that the password makes are its pieces.
func (g *generator) encoded(format string) string {
	format = strings.ReplaceAll(format, `\n`, "\n")
	password := g.password(true)
	before, _, _ := strings.Cut(format, "%s")
	text := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, format, password))
	g.note(text[(len(before)+2)/3*4:(len(before)+len(password))/3*4], piece)
	return text
}

// password is what people choose: letters that can be said, and often numbers behind them.
func (g *generator) password(number bool) string {
	var b strings.Builder
	for range 4 {
		b.WriteByte("bdfgklmnprstvz"[g.IntN(14)])
		b.WriteByte("aeiou"[g.IntN(5)])
	}
	if number {
		fmt.Fprintf(&b, "%d", 10+g.IntN(990))
	}
	return b.String()
}

// of is n bytes of an alphabet. Of letters and digits, each kind is in it.
func (g *generator) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
		if i%5 == 2 && strings.Contains(alphabet, digit) {
			b[i] = digit[g.IntN(10)]
		}
	}
	return string(b)
}

// note takes all pieces of so many bytes.
func (g *generator) note(s string, size int) string {
	if len(s) < size {
		g.pieces = append(g.pieces, s)
	}
	for i := 0; i+size <= len(s); i++ {
		g.pieces = append(g.pieces, s[i:i+size])
	}
	return s
}

// Argv takes a command line apart as a shell does: blanks, both quotes, and a backslash before a blank or a quote.
func Argv(line string) []string {
	var argv []string
	var arg strings.Builder
	quote, inside := byte(0), false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'') && (!inside || line[i-1] == '='):
			quote, inside = c, true
		case quote == 0 && c == '\\' && i+1 < len(line) && line[i+1] == ' ':
			i++
			arg.WriteByte(' ')
		case quote == 0 && c == ' ':
			if inside {
				argv = append(argv, arg.String())
				arg.Reset()
			}
			inside = false
		default:
			inside = true
			arg.WriteByte(c)
		}
	}
	if inside {
		argv = append(argv, arg.String())
	}
	return argv
}
