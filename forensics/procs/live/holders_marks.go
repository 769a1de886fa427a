package live

import (
	"bytes"
	"errors"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
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
		device, mountID, ok := procfd.ParseMark(line)
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
