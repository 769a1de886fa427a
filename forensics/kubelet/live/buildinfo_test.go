package live

import (
	"bytes"
	"debug/buildinfo"
	"encoding/binary"
	"os"
	"runtime"
	"testing"
)

// TestReadBuildInfo compares with the reader of the standard library, on this test and on damaged copies of it.
func TestReadBuildInfo(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the test binary is no ELF file")
	}
	want, err := buildinfo.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readBuildInfo(bytes.NewReader(text))
	if err != nil || got.String() != want.String() {
		t.Errorf("%v: %s\nwant %s", err, got, want)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "a header": text[:64], "half": text[:len(text)/2], "a script": []byte("#!/bin/sh\n"),
		"no magic": bytes.ReplaceAll(text, []byte("\xff Go buildinf:"), []byte("\xff Go nothing.:")),
	} {
		if info, err := readBuildInfo(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: %s", name, info)
		}
	}
}

func FuzzReadBuildInfo(f *testing.F) {
	section := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	section = append(section, 4, '1', '.', '2', '6', 40)
	section = append(section, make([]byte, 16)...)
	section = append(append(section, "path\tx\n"...), make([]byte, 17)...)
	f.Add(section, uint16(1), uint16(0))
	f.Fuzz(func(t *testing.T, text []byte, sections, names uint16) {
		_, _ = parseBuildInfo(text)
		var b bytes.Buffer
		header := elfHeader{Shoff: 64, Shentsize: 64, Shnum: sections, Shstrndx: names}
		copy(header.Ident[:], "\x7fELF\x02\x01")
		if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
			t.Fatal(err)
		}
		b.Write(text)
		_, _ = readBuildInfo(bytes.NewReader(b.Bytes()))
	})
}
