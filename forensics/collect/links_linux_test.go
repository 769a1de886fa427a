package collect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestAskedElsewhere follows a link, but none on a file system that the table has and this program does not see there, as in
// a container that sees the host's processes.
func TestAskedElsewhere(t *testing.T) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	table, err := mountslive.Read(t.Context(), fsys, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := collector{opt: Options{}.withDefaults(), fs: fsys}
	resolved := func() []forensics.Query {
		_, here := c.sameHere(t.Context(), &table)
		return c.resolved(t.Context(), []string{link}, &table, here)
	}
	want := []forensics.Query{{Query: link, Path: filepath.Join(dir, "target")}}
	if diff := cmp.Diff(want, resolved()); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	for i := range table.Mounts {
		table.Mounts[i].Device, table.Mounts[i].Class = "8:255", mounts.ClassBlock
	}
	if got := resolved(); len(got) != 0 {
		t.Errorf("paths %+v by a table that says other things", got)
	}
}
