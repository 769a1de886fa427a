package read

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// BenchmarkSmallLogs reads 300 logs of 60 lines of containers, in which nothing is known: what is looked for in texts that people paste must not
// cost these more than reading them.
func BenchmarkSmallLogs(b *testing.B) {
	files := fstest.MapFS{}
	var list []File
	size := 0
	for i := range 300 {
		var text strings.Builder
		for k := range 60 {
			fmt.Fprintf(&text, "2026-11-20T10:00:%02d.%09dZ stdout F GET /x/%d 200 some words here that mean nothing at all\n", k, k, i)
		}
		name := fmt.Sprintf("%d.log", i)
		files[name] = &fstest.MapFile{Data: []byte(text.String())}
		list = append(list, FSFile(files, name))
		size += text.Len()
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, results := Files(b.Context(), Options{}, list...); len(results) != len(list) {
			b.Fatalf("%d files", len(results))
		}
	}
}
