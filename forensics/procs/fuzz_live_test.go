package procs

import (
	"strings"
	"testing"
)

func FuzzReadString(f *testing.F) {
	f.Add([]byte("/a/b\x00"), uint64(pageSize-2))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64) {
		pages := make([]byte, (len(data)/pageSize+2)*pageSize)
		offset %= pageSize
		copy(pages[offset:], data)
		got, ok := readString(fakeMemory{base, pages}, base+offset)
		want, _, _ := strings.Cut(string(pages[offset:]), "\x00")
		if ok != (len(want) < maxPath) || ok && got != want {
			t.Errorf("readString = %q, %t; want %q", got, ok, want)
		}
	})
}

func FuzzSmallFiles(f *testing.F) {
	f.Add([]byte("se.exec_start                                :        938227.910062\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if ms, ok := parseExecStart(text); ms < 0 || !ok && ms != 0 {
			t.Errorf("parseExecStart = %v, %t", ms, ok)
		}
		words := splitCommand(text)
		if joined := strings.Join(words, "\x00"); joined != strings.TrimRight(string(text), "\x00") {
			t.Errorf("splitCommand(%q) = %q", text, words)
		}
		cpus := map[int]bool{}
		parseCPUs(cpus, string(text))
		for cpu := range cpus {
			if cpu < 0 || cpu > maxCPUs {
				t.Errorf("cpu %d", cpu)
			}
		}
	})
}
