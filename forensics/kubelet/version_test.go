package kubelet

import (
	"bytes"
	"debug/buildinfo"
	"encoding/binary"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"nothing":     {debug.BuildInfo{}, ""},
		"main module": {debug.BuildInfo{Main: *module(kubernetesModule, "v1.34.4")}, "1.34.4"},
		"development": {debug.BuildInfo{Main: *module(kubernetesModule, "(devel)")}, ""},
		"dependency":  {debug.BuildInfo{Main: *module("lab", "(devel)"), Deps: []*debug.Module{module("x", "v1.0.0"), module(kubernetesModule, "v1.17.4")}}, "1.17.4"},
		"k3s": {
			debug.BuildInfo{
				Main: *module("github.com/k3s-io/k3s", "(devel)"),
				Deps: []*debug.Module{{Path: kubernetesModule, Version: "v1.30.4", Replace: module("github.com/k3s-io/kubernetes", "v1.30.4-k3s1")}},
			}, "1.30.4-k3s1",
		},
		"linker": {
			debug.BuildInfo{
				Main:     *module(kubernetesModule, "(devel)"),
				Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-s -X 'k8s.io/component-base/version.gitVersion=v1.31.2-eks-94953ac' -X x=y"}},
			}, "1.31.2-eks-94953ac",
		},
		"linker without a value": {debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-X version.gitVersion="}}}, ""},
		"something else":         {debug.BuildInfo{Main: *module("example.org/x", "v1.2.3")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := VersionOf(&tc.info); got != tc.want {
				t.Errorf("version = %q; want %q", got, tc.want)
			}
		})
	}
}

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
	got, err := ReadBuildInfo(bytes.NewReader(text))
	if err != nil || got.String() != want.String() {
		t.Errorf("%v: %s\nwant %s", err, got, want)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "a header": text[:64], "half": text[:len(text)/2], "a script": []byte("#!/bin/sh\n"),
		"no magic": bytes.ReplaceAll(text, []byte("\xff Go buildinf:"), []byte("\xff Go nothing.:")),
	} {
		if info, err := ReadBuildInfo(bytes.NewReader(bad)); err == nil {
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
		_, _ = ReadBuildInfo(bytes.NewReader(b.Bytes()))
	})
}
