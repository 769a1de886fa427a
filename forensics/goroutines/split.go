package goroutines

import "bytes"

// argChar holds the characters that printArgs of the runtime writes.
var argChar = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true, 'x': true,
	'{': true, '}': true, ',': true, ' ': true, '.': true, '?': true, '_': true,
}

// splitCall cuts "pkg.(*T).Method(0x1, {0x2, 0x3})" into name and arguments.
// It is false for a line of another kind that happens to end in ')'. Whether
// the name can be one is for interner.function to say.
func splitCall(b []byte) (name, args []byte, ok bool) {
	end := len(b) - 1
	i := end - 1
	for i >= 0 && argChar[b[i]] {
		i--
	}
	if i <= 0 || b[i] != '(' {
		return nil, nil, false
	}
	name, args = b[:i], b[i+1:end]
	if len(args) > 0 {
		switch args[0] {
		case '0', '{', '_', '.':
		default:
			return nil, nil, false
		}
	}
	return name, args, true
}

// splitCreator cuts "pkg.Func in goroutine 7"; creator is 0 before Go 1.21.
func splitCreator(b []byte) (name []byte, creator int64) {
	i := bytes.Index(b, []byte(" in goroutine "))
	if i < 0 {
		return b, 0
	}
	creator, _, _ = parseInt(b[i+len(" in goroutine "):])
	return b[:i], creator
}

type location struct {
	file   []byte
	line   int
	offset uint64
}

// splitLocation cuts "/src/a.go:12 +0x1d fp=0xc sp=0xb pc=0xa", from the right,
// as a file name may hold anything.
func splitLocation(b []byte) (location, bool) {
	var loc location
	for {
		i := len(b)
		for i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
			i--
		}
		if i < len(b) && i >= 2 && b[i-1] == ':' {
			n, _, ok := parseInt(b[i:])
			loc.file, loc.line = b[:i-1], int(n)
			return loc, ok
		}
		space := bytes.LastIndexByte(b[max(0, len(b)-maxSuffix):], ' ')
		if space < 0 {
			return loc, false
		}
		space += max(0, len(b)-maxSuffix)
		if !loc.suffix(b[space+1:]) {
			return loc, false
		}
		b = b[:space]
	}
}

// maxSuffix is the length of " fp=0x" with 16 digits.
const maxSuffix = 22

// suffix takes what follows the line number: "+0x1d", "fp=0x..", "sp=0x..", "pc=0x..".
func (loc *location) suffix(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	if b[0] == '+' && b[1] == '0' && b[2] == 'x' {
		v, ok := parseHex(b[3:])
		loc.offset = v
		return ok
	}
	return b[1] == 'p' && b[2] == '=' && (b[0] == 'f' || b[0] == 's') || b[0] == 'p' && b[1] == 'c' && b[2] == '='
}

// parseInt reads decimal digits at the start of b and returns what follows. It
// is false without a digit and for numbers of more than 18 digits.
func parseInt(b []byte) (v int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		if i == 18 {
			return 0, b, false
		}
		v = v*10 + int64(b[i]-'0')
		i++
	}
	return v, b[i:], i > 0
}

// parseHex reads 1 to 16 hexadecimal digits and nothing else.
func parseHex(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
