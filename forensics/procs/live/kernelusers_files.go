package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/octal"
)

// loops reads the files of loop devices.
func (u *users) loops() error {
	entries, err := u.fsys.ReadDir("/sys/block", maxDisks)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, "loop") {
			continue
		}
		text, err := u.fsys.ReadFile("/sys/block/"+e.Name+"/loop/backing_file", maxPathFile)
		if err != nil {
			continue // not in use
		}
		file := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), " (deleted)")
		u.path(file, holders.KernelUser{Use: holders.UseLoop, What: "/dev/" + e.Name, UsedBy: u.usersOf(e.Name), Blocks: true, Detail: file})
	}
	return err
}

// usersOf lists what is mounted from a loop device or its partitions, and what has it as a part: device-mapper, md.
func (u *users) usersOf(disk string) (list []string) {
	number, _ := u.fsys.ReadFile("/sys/block/"+disk+"/dev", maxPathFile)
	for i := range u.table.Mounts {
		if m := &u.table.Mounts[i]; m.Device == string(bytes.TrimSpace(number)) || m.Source == "/dev/"+disk || strings.HasPrefix(m.Source, "/dev/"+disk+"p") { // btrfs and partitions have other numbers
			list = append(list, m.MountPoint)
		}
	}
	holders, _ := u.fsys.ReadDir("/sys/block/"+disk+"/holders", maxDisks)
	for _, h := range holders {
		list = append(list, "/dev/"+h.Name)
	}
	return list
}

// swaps reads /proc/swaps, proc_swaps(5). Partitions are files of the file system that holds /dev, and not meant.
func (u *users) swaps() error {
	text, err := u.fsys.ReadFile("/proc/swaps", maxList)
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte{' '})
		if fields := bytes.Fields(rest); len(fields) > 0 && string(fields[0]) == "file" {
			file := string(octal.Unescape(bytes.Clone(name)))
			u.path(file, holders.KernelUser{Use: holders.UseSwap, What: file, Blocks: true, Detail: "needs swapoff first"})
		}
	}
	return err
}

// exports reads what nfsd exports; the file system nfsd is mounted where a server runs.
func (u *users) exports() error {
	text, err := u.fsys.ReadFile("/proc/fs/nfsd/exports", maxList)
	for line := range bytes.Lines(text) {
		name, clients, _ := bytes.Cut(bytes.TrimSpace(line), []byte{'\t'})
		if len(name) > 0 && name[0] == '/' {
			file := string(octal.Unescape(bytes.Clone(name)))
			u.path(file, holders.KernelUser{Use: holders.UseExport, What: file, Blocks: true, Detail: "exported to " + string(clients)})
		}
	}
	return err
}

// sockets finds those that are bound in the network namespace of the reader.
func (u *users) sockets() error {
	sockets, err := u.bound, error(nil)
	if sockets == nil {
		sockets, err = readBoundSockets(u.fsys, "/proc/net/unix")
	}
	for _, s := range sockets {
		u.path(s.Name, holders.KernelUser{Use: holders.UseSocket, What: s.Name, Socket: s.Inode, Blocks: true, Detail: fmt.Sprintf("socket:[%d]", s.Inode)})
	}
	return err
}

// disks finds what is stacked on the disk of a mount.
func (u *users) disks() error {
	stackedOn := map[string][]string{}
	for i := range u.table.Mounts {
		m := &u.table.Mounts[i]
		if m.Class != mounts.ClassBlock || strings.HasPrefix(m.Device, "0:") {
			continue
		}
		stacked, known := stackedOn[m.Device]
		if !known {
			entries, err := u.fsys.ReadDir("/sys/dev/block/"+m.Device+"/holders", maxDisks)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for _, e := range entries {
				stacked = append(stacked, e.Name)
			}
			stackedOn[m.Device] = stacked
		}
		for _, name := range stacked {
			u.add(*m, holders.KernelUser{Use: holders.UseDevice, What: "/dev/" + name, Detail: "stacked on the same disk"})
		}
	}
	return nil
}
