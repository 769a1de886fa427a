package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestMappings reads the maps of processes with very many, or with very long names.
func TestMappings(t *testing.T) {
	line := func(device, path string) string { return "7f1c-7f1d r-xp 00000000 " + device + " 17   " + path + "\n" }
	many := func(n int, dir func(int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line("08:02", fmt.Sprintf("%s/file-%d", dir(i), i)))
		}
		return b.String()
	}
	library, long := line("08:02", "/lib/libc.so.6"), strings.Repeat("/long", maxMapLine/4)
	for name, c := range map[string]struct {
		text string
		want int    // files
		last string // the path of the last one
		cut  bool
	}{
		"in turns":          {strings.Repeat(library+line("08:02", "/lib/b"), 60_000) + line("00:2e", "/lib/b"), 3, "/lib/b", false},
		"one directory":     {many(100_000, func(int) string { return "/data" }) + line("08:02", "/vol/last"), -1, "/vol/last", false},
		"many directories":  {many(20_000, func(i int) string { return fmt.Sprint("/data/", i) }), -1, "", true},
		"a long path":       {library + line("00:2e", long) + library + line("00:2e", "/last"), 3, "/last", false},
		"its end is cut":    {library + "7f1c-7f1d r-xp 00000000 08:02 17   /last", 2, "/last", false},
		"nothing is mapped": {"7ffc-7ffd rw-p 00000000 00:00 0    [stack]\n", 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "maps"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			fsys, err := hostfs.Open(root)
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = fsys.Close() }()
			dir, err := fsys.OpenDir("/")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dir.Close() }()
			m := newMappings()
			err = m.read(dir, "maps")
			if (err != nil) != c.cut {
				t.Errorf("error %v, cut %v", err, c.cut)
			}
			if c.want >= 0 && len(m.files) != c.want {
				t.Errorf("%d files, want %d", len(m.files), c.want)
			}
			if n := len(m.files); c.last != "" && (n == 0 || string(m.paths[m.start(n-1):]) != c.last) {
				t.Errorf("the last of %d is not %s", n, c.last)
			}
			if size := len(m.paths) + nameCost*len(m.files); size > 2*maxMapped+maxPath+nameCost || cap(m.buf) > maxMapLine {
				t.Errorf("%d bytes are kept", size)
			}
		})
	}
}
