package forensics_test

import (
	"testing"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func TestToValidUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"/var/lib/ü漢\U0001f600":    "/var/lib/ü漢\U0001f600",
		"/a\xff":                   `/a\xff`,
		"\xc3":                     `\xc3`,              // the beginning of a letter
		"\xc3\xc3\xbc\xed\xa0\x80": `\xc3ü\xed\xa0\x80`, // half of a surrogate pair
		"\xe4\xf6\xfc \ufffd":      "\\xe4\\xf6\\xfc \ufffd",
		`a\xff`:                    `a\xff`,
	} {
		got := forensics.ToValidUTF8(in)
		if back := forensics.FromValidUTF8(got); back != in && in != `a\xff` {
			t.Errorf("%q is %q and comes back as %q", in, got, back)
		}
		if got != want || !utf8.ValidString(got) || forensics.ToValidUTF8(got) != got {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestEvidenceToValidUTF8 leaves what others may share alone.
func TestEvidenceToValidUTF8(t *testing.T) {
	list := []mounts.Mount{{MountPoint: "/a"}, {MountPoint: "/a\xff"}, {MountPoint: "/a\xfe"}}
	e := forensics.Evidence{Mounts: mounts.Table{Mounts: list}, Processes: []procs.Process{{Command: []string{"x\xe4"}}}}
	e.ToValidUTF8()
	if m := e.Mounts.Mounts; m[0].MountPoint != "/a" || m[1].MountPoint != `/a\xff` || m[2].MountPoint != `/a\xfe` {
		t.Errorf("mounts %+v", m)
	}
	if e.Processes[0].Command[0] != `x\xe4` || list[1].MountPoint != "/a\xff" {
		t.Errorf("command %q, and the list that was given says %q", e.Processes[0].Command, list[1].MountPoint)
	}
}
