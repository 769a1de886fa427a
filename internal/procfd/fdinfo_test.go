package procfd

import (
	"testing"
)

func TestNumber(t *testing.T) {
	const text = "pos:\t0\nflags:\t02100002\nmnt_id:\t59\nino:\t7\nfuse_connection:\t46\n"
	for key, want := range map[string]uint64{"mnt_id:": 59, "fuse_connection:": 46, "none:": 0, "no": 0} {
		if got := Number([]byte(text), key); got != want {
			t.Errorf("%s %d, want %d", key, got, want)
		}
	}
}

func TestParseMark(t *testing.T) {
	for line, want := range map[string]struct {
		Device  string
		MountID int
	}{
		"inotify wd:1 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:7e9e\n": {Device: "8:19"},
		"inotify wd:2 ino:1 sdev:3a mask:100 ignored_mask:0\n":                                                         {Device: "0:58"},
		"fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000\n":                                      {Device: "8:19"},
		"fanotify mnt_id:12 mflags:0 mask:3b ignored_mask:40000000\n":                                                  {MountID: 18},
		"fanotify flags:10 event-flags:0\n":                                                                            {},
		"inotify sdev:zz\n":                                                                                            {},
		"mnt_id:\t12\n":                                                                                                {},
	} {
		device, mountID, ok := ParseMark([]byte(line))
		if device != want.Device || mountID != want.MountID || ok != (want.Device != "" || want.MountID != 0) {
			t.Errorf("%q: %q %d %v, want %+v", line, device, mountID, ok, want)
		}
	}
}

func TestMaybeKernelMount(t *testing.T) {
	info := []byte("pos:\t0\nflags:\t0500002\nmnt_id:\t9\n") // with O_LARGEFILE, as of a file that a program opened
	for name, want := range map[string]bool{"/null": true, "/nullable": false, "/dev/null": false, "/file": false} {
		if got := MaybeKernelMount(name, info); got != want {
			t.Errorf("%s may be on a mount of the kernel's own: %v, want %v", name, got, want)
		}
	}
}
