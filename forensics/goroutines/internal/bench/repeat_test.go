package bench

import (
	"bytes"
	"strconv"
)

// repeat returns size bytes or more of the goroutines of a dump, numbered anew.
func repeat(one []byte, size int) []byte {
	blocks := bytes.Split(bytes.TrimSuffix(one, []byte("\n")), []byte("\n\n"))
	out := make([]byte, 0, size+len(one))
	for id := 1; len(out) < size; id++ {
		block := blocks[0]
		if id > 1 { // the first one wrote the dump
			block = blocks[1+id%(len(blocks)-1)]
		}
		_, rest, _ := bytes.Cut(block[len("goroutine "):], []byte(" "))
		out = append(out, "goroutine "...)
		out = strconv.AppendInt(out, int64(id), 10)
		out = append(out, ' ')
		out = append(out, rest...)
		out = append(out, "\n\n"...)
	}
	return out
}
