package procfd

import (
	"fmt"
	"testing"
)

func TestParseMapping(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		device string
		path   string
		ok     bool
	}{
		"a library":        {"7f1c-7f1d r-xp 00000000 08:02 173521                     /usr/lib/libc.so.6", "8:2", "/usr/lib/libc.so.6", true},
		"a name of blanks": {"7f1c-7f1d r--s 00000000 103:0a 17      /a b  (deleted)", "259:10", "/a b  (deleted)", true},
		"a large minor":    {"7f1c-7f1d r--s 00000000 00:fffff 17 /x", "0:1048575", "/x", true},
		"no file":          {"7f1c-7f1d rw-p 00000000 00:00 0 ", "", "", false},
		"the stack":        {"7ffc-7ffd rw-p 00000000 00:00 0                          [stack]", "", "", false},
		"a packet socket":  {"7f1c-7f1d rw-s 00000000 00:08 4711                       socket:[4711]", "", "", false},
		"cut":              {"7f1c-7f1d r-xp", "", "", false},
		"no number":        {"7f1c-7f1d r-xp 00000000 zz:02 17 /x", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			device, path, ok := ParseMapping([]byte(c.line))
			spelled := fmt.Sprintf("%d:%d", device>>32, device&0xffffffff)
			if ok != c.ok || ok && (spelled != c.device || string(path) != c.path) {
				t.Errorf("%s %q %v, want %s %q %v", spelled, path, ok, c.device, c.path, c.ok)
			}
		})
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add([]byte("7f1c-7f1d r-xp 00000000 08:02 173521    /usr/lib/libc.so.6"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, path, ok := ParseMapping(line); ok && (len(path) == 0 || path[0] != '/' || len(path) > len(line)) {
			t.Errorf("path %q of %q", path, line)
		}
	})
}
