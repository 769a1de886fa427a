package live

import (
	"encoding/binary"
	"os"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// hasJournal says whether there are journal files below a directory: <dir>/<machine>/system.journal.
func hasJournal(fsys *hostfs.FS, dir string) bool {
	machines, _ := fsys.ReadDir(dir, 100)
	for _, m := range machines {
		files, _ := fsys.ReadDir(path.Join(dir, m.Name), 1000)
		for _, f := range files {
			if strings.HasSuffix(f.Name, ".journal") {
				return true
			}
		}
	}
	return false
}

// maxJournalFiles bounds the files of another machine's journal; journald itself keeps 100 (journald.conf(5), SystemMaxFiles=).
const maxJournalFiles = 250

// journalFiles opens the files of a journal, the newest where there are too many. Links are followed as that machine
// would.
func journalFiles(fsys *hostfs.FS, dir string) (files []*os.File) {
	var all []*hostfs.File
	machines, _ := fsys.ReadDir(dir, 100)
	for _, m := range machines {
		entries, _ := fsys.ReadDir(path.Join(dir, m.Name), 1000)
		for _, e := range entries {
			if strings.HasSuffix(strings.TrimSuffix(e.Name, "~"), ".journal") {
				if f, err := fsys.OpenFile(path.Join(dir, m.Name, e.Name)); err == nil {
					if !isWholeJournal(f) {
						_ = f.Close()
						continue
					}
					all = append(all, f)
				}
			}
		}
	}
	sorting.Stable(all, func(a, b *hostfs.File) int { return b.ModTime().Compare(a.ModTime()) })
	for i, f := range all {
		if i < maxJournalFiles {
			if dup, err := f.Dup(); err == nil {
				files = append(files, dup)
			}
		}
		_ = f.Close()
	}
	return files
}

// isWholeJournal says whether journalctl opens a file; of several that it is given, one that it does not open keeps it from
// all. The header is that of "Journal File Format" of systemd's documents: a signature, and at 88 and 96 the sizes of the
// header and of what follows, which a file has that was not cut when its machine died.
func isWholeJournal(f *hostfs.File) bool {
	var head [104]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) || string(head[:8]) != "LPKSHHRH" {
		return false
	}
	header, arena := binary.LittleEndian.Uint64(head[88:]), binary.LittleEndian.Uint64(head[96:])
	size := uint64(f.Size())
	return header >= 208 && header <= size && arena <= size-header
}
