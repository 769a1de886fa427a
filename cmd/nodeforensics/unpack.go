package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// writerMain is the writing child.
func writerMain(in io.Reader, out io.Writer) int {
	runtime.GC() // its workers need threads: where there are none left, this process ends before it has made a file
	debug.SetGCPercent(-1)
	written, err := unpack(in)
	got := receipt{Written: written}
	if err != nil {
		got.Error = err.Error()
	}
	if json.NewEncoder(out).Encode(got) != nil || err != nil {
		return exitFailed
	}
	return exitDone
}

// unpack writes the files of a parcel, all of them whole or none, and returns their paths.
func unpack(in io.Reader) ([]string, error) {
	reader := bufio.NewReader(in)
	header, err := reader.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var p parcel
	if err := json.Unmarshal(header, &p); err != nil {
		return nil, err
	}
	if p.Make {
		if err := os.MkdirAll(p.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(p.Dir) // which stays the same directory, whatever its path comes to mean
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	dir := &outDir{Root: root}
	defer dir.removeTemporary()
	for _, f := range p.Files {
		if err := dir.add(f.Name, io.LimitReader(reader, f.Size), f.Size); err != nil {
			return nil, err
		}
	}
	names, err := dir.publish(&p)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = filepath.Join(p.Dir, name)
	}
	return names, nil
}

// outDir is the directory that is written to. Others may write to it, too: no link in it is followed and nothing that
// was there is opened or replaced.
type outDir struct {
	*os.Root
	temporary []string // files that are whole and have not got their names yet
}

func (d *outDir) removeTemporary() {
	for _, name := range d.temporary {
		_ = d.Remove(name)
	}
}

// add writes a file that only its owner may read, under a name that nobody can guess.
func (d *outDir) add(name string, r io.Reader, size int64) error {
	temporary := fmt.Sprintf("%s.%s.tmp", name, rand.Text())
	f, err := d.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	d.temporary = append(d.temporary, temporary)
	n, err := io.Copy(f, r)
	if err == nil && n != size {
		err = fmt.Errorf("%s: %w", name, io.ErrUnexpectedEOF)
	}
	return errors.Join(err, f.Close())
}

// maxNumber bounds the names that are tried.
const maxNumber = 100

// publish gives the files their names. If one of them is taken, all get a number: name.html and name.json stay together.
func (d *outDir) publish(p *parcel) (names []string, err error) {
	if p.Replace {
		return d.replace(p)
	}
	for n := 1; n <= maxNumber; n++ {
		if names, err = d.claim(p, n); !errors.Is(err, fs.ErrExist) {
			return names, err
		}
	}
	return nil, err
}

// claim gives each file its name with a number, unless one of them is taken. A hard link never replaces anything, nor does
// it follow a symbolic link; where a file system has none, an empty file keeps the name until all are known to be free.
func (d *outDir) claim(p *parcel, n int) (names []string, err error) {
	var empty []int
	defer func() {
		if err != nil {
			for _, name := range names {
				_ = d.Remove(name)
			}
		}
	}()
	for i, f := range p.Files {
		name := numbered(f.Name, n)
		err := d.Link(d.temporary[i], name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			empty = append(empty, i)
			err = d.createEmpty(name)
		}
		if err != nil {
			return names, err
		}
		names = append(names, name)
	}
	for _, i := range empty {
		if err := d.Rename(d.temporary[i], names[i]); err != nil {
			return names, err
		}
	}
	return names, nil
}

func (d *outDir) createEmpty(name string) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// replace writes over regular files, as a shell's > does, but not over a device or a link.
func (d *outDir) replace(p *parcel) (names []string, err error) {
	for i, f := range p.Files {
		info, err := d.Lstat(f.Name)
		switch {
		case err == nil && !info.Mode().IsRegular():
			return names, fmt.Errorf("%s exists and is not a regular file", f.Name)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return names, err
		}
		if err := d.Rename(d.temporary[i], f.Name); err != nil {
			return names, err
		}
		names = append(names, f.Name)
	}
	return names, nil
}

// numbered is "name-2.html" for the second.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	extension := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), n, extension)
}
