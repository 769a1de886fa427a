package procs

import "testing"

func TestMappedFile(t *testing.T) {
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
			device, path, ok := mappedFile([]byte(c.line))
			if ok != c.ok || ok && (spellDevice(device) != c.device || string(path) != c.path) {
				t.Errorf("%s %q %v, want %s %q %v", spellDevice(device), path, ok, c.device, c.path, c.ok)
			}
		})
	}
}

func TestInfoNumber(t *testing.T) {
	const text = "pos:\t0\nflags:\t02100002\nmnt_id:\t59\nino:\t7\nfuse_connection:\t46\n"
	for key, want := range map[string]uint64{"mnt_id:": 59, "fuse_connection:": 46, "none:": 0, "no": 0} {
		if got := infoNumber([]byte(text), key); got != want {
			t.Errorf("%s %d, want %d", key, got, want)
		}
	}
}

func TestMarkOf(t *testing.T) {
	for line, want := range map[string]Mark{
		"inotify wd:1 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:7e9e\n": {Device: "8:19"},
		"inotify wd:2 ino:1 sdev:3a mask:100 ignored_mask:0\n":                                                         {Device: "0:58"},
		"fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000\n":                                      {Device: "8:19"},
		"fanotify mnt_id:12 mflags:0 mask:3b ignored_mask:40000000\n":                                                  {MountID: 18},
		"fanotify flags:10 event-flags:0\n":                                                                            {},
		"inotify sdev:zz\n":                                                                                            {},
		"mnt_id:\t12\n":                                                                                                {},
	} {
		device, mountID, ok := markOf([]byte(line))
		if device != want.Device || mountID != want.MountID || ok != (want != Mark{}) {
			t.Errorf("%q: %q %d %v, want %+v", line, device, mountID, ok, want)
		}
	}
}

func FuzzMappedFile(f *testing.F) {
	f.Add([]byte("7f1c-7f1d r-xp 00000000 08:02 173521    /usr/lib/libc.so.6"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, path, ok := mappedFile(line); ok && (len(path) == 0 || path[0] != '/' || len(path) > len(line)) {
			t.Errorf("path %q of %q", path, line)
		}
	})
}
