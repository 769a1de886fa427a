package collect

import "strings"

// firstLine is the first line of a small file, without white space around it.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
