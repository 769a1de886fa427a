package live

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestDetachedOnlyIfEveryTableWasRead has holds of a mount that is in no mount table: they are called detached where all
// tables were read, and not where one is missing, is only that of a chroot, or the time was up before.
func TestDetachedOnlyIfEveryTableWasRead(t *testing.T) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/mnt", &st); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		unread bool
		ns     uint64
		want   bool
	}{
		"all were read":              {t.Context(), false, st.Ino, true},
		"that of another is lacking": {t.Context(), true, st.Ino, false},
		"its own is lacking":         {t.Context(), false, st.Ino + 1, false},
		"the time was up":            {late, false, st.Ino, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &holdings{pid: os.Getpid(), ns: tt.ns, holds: []hold{{at: &named{}, kind: atMap, device: "4095:1"}}}
			r := resolver{ctx: tt.ctx, fsys: fsys, found: []*holdings{p}, problems: &problems{}, before: &plainPaths{}, unread: tt.unread}
			r.resolve(map[uint64][]int{st.Ino: {os.Getpid()}})
			if p.holds[0].detached != tt.want {
				t.Errorf("detached = %t; tables %v, unread %t", !tt.want, r.tables, r.unread)
			}
			if read := tt.ctx.Err() == nil && !tt.unread; read == r.unread {
				t.Errorf("unread = %t", r.unread)
			}
		})
	}
}

// TestWithoutAReaderTablesAreUnread has a host without /proc, where no mount table can be read.
func TestWithoutAReaderTablesAreUnread(t *testing.T) {
	fsys, err := hostfs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	r := resolver{ctx: t.Context(), fsys: fsys, problems: &problems{}, before: &plainPaths{}}
	if r.resolve(map[uint64][]int{1: {1}}); !r.unread {
		t.Error("its tables count as read")
	}
}
