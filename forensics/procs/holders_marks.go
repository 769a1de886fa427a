package procs

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// maxMarks bounds what is read of one descriptor's marks: about 1,500 of them.
const maxMarks = 128 << 10

// readMarks reads what a descriptor of inotify or fanotify watches.
func (s *scanner) readMarks(p *subject, name []byte, kind string) {
	text, err := p.dir.Append(s.c.buf[:0], p.alive+"fdinfo/"+string(name), maxMarks)
	s.c.buf = text[:0]
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		s.trouble("marks", err)
		return
	}
	first := len(s.marks)
	for line := range bytes.Lines(text) {
		device, mountID, ok := markOf(line)
		if !ok {
			continue
		}
		m := holders.Mark{PID: p.pid, FD: number(name), Kind: kind, Device: device, MountID: mountID, Count: 1}
		for i := first; ; i++ {
			if i == len(s.marks) {
				s.marks = append(s.marks, m)
				break
			}
			if s.marks[i].Device == device && s.marks[i].MountID == mountID {
				s.marks[i].Count++
				break
			}
		}
	}
}

// markOf reads one line of fdinfo (fs/notify/fdinfo.c, Linux 3.8), in which all numbers but wd are hexadecimal:
//
//	inotify wd:1 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:7e9e0000640d1b6d
//	fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000 fhandle-bytes:8 fhandle-type:1 f_handle:69f90400
//	fanotify mnt_id:12 mflags:0 mask:3b ignored_mask:40000000
func markOf(line []byte) (device string, mountID int, ok bool) {
	if !bytes.HasPrefix(line, []byte("inotify ")) && !bytes.HasPrefix(line, []byte("fanotify ")) {
		return "", 0, false
	}
	for _, word := range bytes.Fields(line) {
		key, value, _ := bytes.Cut(word, []byte{':'})
		n, err := strconv.ParseUint(string(value), 16, 32)
		if err != nil {
			continue
		}
		switch string(key) {
		case "sdev": // as the kernel counts, MKDEV of include/linux/kdev_t.h
			return fmt.Sprintf("%d:%d", n>>20, n&0xfffff), 0, true
		case "mnt_id":
			return "", int(n), true
		}
	}
	return "", 0, false
}
