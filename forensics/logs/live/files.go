package live

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// FileSource is a file of the node that is examined.
func FileSource(fsys *hostfs.FS, name, origin string) logs.Source {
	return logs.Source{Path: name, Origin: origin, Open: func(context.Context) (io.ReadCloser, error) { return openFile(fsys, name) }}
}

// file is an open log that may grow, be cut or be replaced.
type file struct {
	*hostfs.File
	fsys *hostfs.FS
	name string
	ino  uint64
	at   int64
}

func openFile(fsys *hostfs.FS, name string) (*file, error) {
	canonical, err := fsys.Resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := fsys.Lstat(canonical)
	if err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(canonical)
	if err != nil {
		return nil, err
	}
	return &file{File: f, fsys: fsys, name: name, ino: info.Ino}, nil
}

// Read implements [io.Reader] from where Seek has gone.
func (f *file) Read(p []byte) (int, error) {
	for {
		n, err := f.ReadAt(p, f.at)
		f.at += int64(n)
		if n > 0 || err != nil || len(p) == 0 {
			if n > 0 && errors.Is(err, io.EOF) {
				err = nil // the next one says it
			}
			return n, err
		}
	}
}

// Seek implements [io.Seeker], from the start only.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return f.at, errors.ErrUnsupported
	}
	f.at = offset
	return offset, nil
}

// Changed says how the log changed since it was opened.
func (f *file) Changed(read int64) string {
	if read < f.Size() {
		return "it was truncated while it was read"
	}
	canonical, err := f.fsys.Resolve(f.name)
	if err != nil {
		return "it was removed while it was read"
	}
	if info, err := f.fsys.Lstat(canonical); err == nil && info.Ino != f.ino {
		return "it was rotated while it was read: newer lines are in another file"
	}
	return ""
}

const (
	// maxRotated bounds the files of one log.
	maxRotated = 40
	// maxLogDir bounds the names of a directory that are looked at.
	maxLogDir = 20_000
)

// rotated is what logrotate, lumberjack and the kubelet put behind a log's name, or before its extension.
var rotated = pattern.New(`^[.-][0-9][0-9T:.Z_-]*(?:log)?(?:\.(?:gz|zst))?$`)

// unread is what a log may be compressed with that is not read here.
var unread = pattern.New(`^[.-][0-9][0-9T:.Z_-]*(?:log)?\.(?:xz|bz2|lz4|Z)$`)

// rotation are the files of a log, oldest first: name and what it was called before, as far as something was written to
// it since. The notes are files that cannot be read.
func rotation(fsys *hostfs.FS, name, origin string, since time.Time) (sources []logs.Source, notes []logs.File) {
	dir, base := path.Split(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	return series(fsys, path.Clean(dir), origin, since, func(entry string) (belongs, readable bool) {
		if entry == base {
			return true, true
		}
		for _, prefix := range []string{base, stem} {
			if suffix, ok := strings.CutPrefix(entry, prefix); ok && prefix != "" {
				if rotated.MatchString(suffix) {
					return true, true
				}
				if unread.MatchString(suffix) {
					return true, false
				}
			}
		}
		return false, false
	})
}

// klogFiles are the files that klog and glog write into a directory, oldest first: "kubelet.host.user.log.INFO.time.pid"
// holds the lines of all severities.
func klogFiles(fsys *hostfs.FS, dir, program, origin string, since time.Time) ([]logs.Source, []logs.File) {
	return series(fsys, dir, origin, since, func(entry string) (belongs, readable bool) {
		belongs = strings.HasPrefix(entry, program+".") && strings.Contains(entry, ".log.INFO.")
		return belongs, belongs
	})
}

// series lists the files of a directory that belong to one log, oldest first.
func series(fsys *hostfs.FS, dir, origin string, since time.Time, isFile func(string) (belongs, readable bool)) (sources []logs.Source, notes []logs.File) {
	entries, err := fsys.ReadDir(dir, maxLogDir)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		return nil, nil
	}
	type written struct {
		name string
		at   time.Time
	}
	var files []written
	for _, entry := range entries {
		belongs, readable := isFile(entry.Name)
		if !belongs {
			continue
		}
		name := path.Join(dir, entry.Name)
		canonical, err := fsys.Resolve(name) // container logs are symlinks
		if err != nil {
			continue
		}
		info, err := fsys.Lstat(canonical)
		if err != nil || !info.Mode.IsRegular() || info.Size == 0 || info.ModTime.Before(since) {
			continue
		}
		if !readable {
			notes = append(notes, logs.File{Path: name, Origin: origin, Status: "malformed", Detail: "this compression format is not supported"})
			continue
		}
		files = append(files, written{name, info.ModTime})
	}
	sorting.Stable(files, func(a, b written) int { return a.at.Compare(b.at) })
	if drop := len(files) - maxRotated; drop > 0 {
		notes = append(notes, logs.File{Path: path.Join(dir, "…"), Origin: origin, Status: "truncated", Detail: "too many files: the oldest were skipped"})
		files = files[drop:]
	}
	for _, f := range files {
		sources = append(sources, FileSource(fsys, f.name, origin))
	}
	return sources, notes
}
