//go:build download

package testvm

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// An archive is an initramfs: cpio in the form "newc" (Documentation/driver-api/early-userspace/buffer-format.rst).
// Everything in it belongs to root. The first error stays.
type archive struct {
	out     *bufio.Writer
	entries int
	dirs    map[string]bool
	err     error
}

// The types of entries, as in st_mode.
const (
	typeDir  = 0o040000
	typeFile = 0o100000
	typeLink = 0o120000
)

func newArchive(w io.Writer) *archive {
	return &archive{out: bufio.NewWriterSize(w, 1<<20), dirs: map[string]bool{".": true}}
}

// add writes one entry, and the directories that it needs.
func (a *archive) add(name string, mode int, data []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if dir := path.Dir(name); !a.dirs[dir] && name != trailer {
		a.add(dir, typeDir|0o755, nil)
	}
	a.dirs[name] = true
	a.entries++
	var header strings.Builder
	header.WriteString("070701")
	for _, field := range []int{a.entries, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0} {
		fmt.Fprintf(&header, "%08x", field)
	}
	header.WriteString(name + "\x00")
	a.write([]byte(header.String()))
	a.write(data)
}

// write fills up to four bytes.
func (a *archive) write(data []byte) {
	if a.err == nil {
		_, a.err = a.out.Write(append(data, make([]byte, -len(data)&3)...))
	}
}

// file adds a file of this machine.
func (a *archive) file(name, from string) {
	data, err := os.ReadFile(from)
	if err != nil {
		a.err = errors.Join(a.err, err)
		return
	}
	a.add(name, typeFile|0o755, data)
}

// tree adds what is below a directory of this machine.
func (a *archive) tree(dir string) {
	err := filepath.WalkDir(dir, func(from string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(from, dir)
		if err != nil || name == "" {
			return err
		}
		switch entry.Type() {
		case fs.ModeDir:
			a.add(name, typeDir|0o755, nil)
		case fs.ModeSymlink:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			a.add(name, typeLink|0o777, []byte(target))
		case 0:
			a.file(name, from)
		}
		return a.err
	})
	a.err = errors.Join(a.err, err)
}

const trailer = "TRAILER!!!"

func (a *archive) close() error {
	a.add(trailer, 0, nil)
	if a.err == nil {
		a.err = a.out.Flush()
	}
	return a.err
}

// pack writes the files of a directory as a tar.gz, and unpack reads it.
func pack(w io.Writer, dir string) error {
	zip := gzip.NewWriter(w)
	list := tar.NewWriter(zip)
	return errors.Join(list.AddFS(os.DirFS(dir)), list.Close(), zip.Close())
}

func unpack(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	list := tar.NewReader(zip)
	for {
		header, err := list.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) || header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(list)
		if err != nil {
			return err
		}
		name := filepath.Join(dir, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
			return err
		}
	}
}
