package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// registered finds the files that somebody has told the kernel to use, and that it keeps open: images that are mounted
// without a loop device, and what binfmt_misc and uprobes list where their file systems are mounted below /proc or /sys. Those of
// other user namespaces have a binfmt_misc of their own (Linux 6.7). All are told by the path that was given.
func (u *users) registered() {
	seen := map[string]bool{}
	for i := range u.table.Mounts {
		m := &u.table.Mounts[i]
		if m.FSType == "erofs" && strings.HasPrefix(m.Device, "0:") { // no block device
			u.path(m.Source, holders.KernelUser{Use: holders.UseImage, What: m.MountPoint, UserMount: m.ID, Blocks: true, Detail: m.Source})
		}
		inKernel := strings.HasPrefix(m.MountPoint, "/sys/") || strings.HasPrefix(m.MountPoint, "/proc/") // elsewhere, the way may hang
		if m.Class != mounts.ClassPseudo || !inKernel || m.Root != "/" || seen[m.Device] || !u.index.Visible(m.ID) {
			continue
		}
		seen[m.Device] = true
		var err error
		switch m.FSType {
		case "binfmt_misc":
			err = u.interpreters(m.MountPoint)
		case "tracefs":
			err = u.uprobes(m.MountPoint + "/uprobe_events")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.errs = append(u.errs, fmt.Errorf("kernel users of mounts: %w", err))
		}
	}
}

// interpreters reads binfmt_misc (Documentation/admin-guide/binfmt-misc.rst). Only with flag F it has the file open.
func (u *users) interpreters(dir string) error {
	entries, err := u.fsys.ReadDir(dir, maxDisks)
	for _, e := range entries {
		if e.Name == "register" || e.Name == "status" {
			continue
		}
		text, err := u.fsys.ReadFile(path.Join(dir, e.Name), maxPathFile)
		if err != nil {
			continue // removed meanwhile
		}
		var file string
		open := false
		for line := range bytes.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
			switch key {
			case "interpreter":
				file = value
			case "flags:":
				open = strings.Contains(value, "F")
			}
		}
		if open {
			u.path(file, holders.KernelUser{Use: holders.UseBinfmt, What: path.Join(dir, e.Name), Blocks: true, Detail: file})
		}
	}
	return err
}

// tracingPatience is how long the list of uprobes may take: it is read under a lock of all tracing, which is held while a
// probe is put into a program, and that page of the program is read.
const tracingPatience = time.Second

// uprobes reads the uprobe events of tracefs (Documentation/trace/uprobetracer.rst):
//
//	p:group/event /bin/bash:0x0000000000030000 arg1=%di
func (u *users) uprobes(name string) error {
	ctx, cancel := context.WithTimeout(u.ctx, tracingPatience)
	defer cancel()
	text, err := probe.Do(ctx, nil, name, func() ([]byte, error) { return u.fsys.ReadFile(name, maxList) })
	for line := range strings.Lines(string(text)) {
		event, rest, _ := strings.Cut(line, " ")
		where, _, _ := strings.Cut(rest, " ")
		_, event, _ = strings.Cut(event, ":")
		if at := strings.LastIndex(where, ":0x"); at > 0 {
			u.path(where[:at], holders.KernelUser{Use: holders.UseUprobe, What: event, Blocks: true, Detail: where[:at]})
		}
	}
	return err
}
