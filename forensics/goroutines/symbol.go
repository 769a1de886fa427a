package goroutines

import (
	"strconv"
	"strings"
)

// normalizeFunc returns a symbol as it reads independently of how the program
// was built: everything up to and including the last "/vendor/" is cut (GOPATH
// builds, kubelets up to 1.24), and the linker's escapes such as "%2e" in the
// last element of an import path are undone.
func normalizeFunc(symbol string) string {
	path, _, _ := strings.Cut(symbol, "[") // type arguments have paths of their own
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		symbol = symbol[i+len("/vendor/"):]
	} else {
		symbol = strings.TrimPrefix(symbol, "vendor/")
	}
	if strings.IndexByte(symbol, '%') < 0 {
		return symbol
	}
	return unescape(symbol)
}

// unescape undoes PathToPrefix of cmd/internal/objabi: %xx is a byte. Control
// characters stay escaped.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && v > ' ' && v != 0x7f {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
