// Package octal undoes the escapes in lists of procfs and nfsd: seq_escape and mangle_path of the kernel (fs/seq_file.c) write
// "\ooo", three octal digits for one byte.
package octal

import "bytes"

// Unescape undoes the escapes in place. The kernel escapes space, tab, newline and backslash, and "#" in the source of a mount;
// as a backslash is always among them, every escape may be undone, whichever byte it stands for.
func Unescape(text []byte) []byte {
	from := bytes.IndexByte(text, '\\')
	if from < 0 {
		return text
	}
	to := from
	for from < len(text) {
		c := text[from]
		if c == '\\' && from+3 < len(text) {
			if b, ok := parse(text[from+1 : from+4]); ok {
				c, from = b, from+3
			}
		}
		text[to] = c
		to, from = to+1, from+1
	}
	return text[:to]
}

func parse(digits []byte) (byte, bool) {
	n := 0
	for _, d := range digits {
		if d < '0' || d > '7' {
			return 0, false
		}
		n = n<<3 | int(d-'0')
	}
	return byte(n), n <= 0xff
}
