package live

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// journalDevice returns the device ("253:1") of the file system whose journal or log a kernel thread writes, which is a
// part of its name: "jbd2/sda1-8" (fs/jbd2/journal.c) and "xfsaild/dm-0" (fs/xfs/xfs_trans_ail.c). Before Linux 5.17 names
// end after 15 bytes, so that a long one names no device.
func journalDevice(fsys *hostfs.FS, comm string) string {
	name, ok := strings.CutPrefix(comm, "xfsaild/")
	if journal, is := strings.CutPrefix(comm, "jbd2/"); is {
		name, ok = journal, false
		if at := strings.LastIndexByte(journal, '-'); at > 0 {
			name, ok = journal[:at], true // what follows is the inode of the journal
		}
	}
	if !ok || strings.Contains(name, "/") || name == ".." {
		return ""
	}
	text, err := fsys.ReadFile("/sys/class/block/"+name+"/dev", limitSmall)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// flushedDevice returns the superblock that a kernel thread writes back, from its name: "kworker/u8:1+flush-0:45", where
// the plus says that it is at work.
func flushedDevice(comm string) string {
	_, device, _ := strings.Cut(comm, "+flush-")
	return device
}
