package live

import (
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
)

// maxRing bounds what is read of the files of one io_uring: about 10,000 of them.
const maxRing = 1 << 20

// readRing notes the files that are registered with an io_uring. In old kernels, it may wait for the lock of the io_uring.
func (s *scanner) readRing(p *subject, name []byte) {
	dir, file := p.dir, p.alive+"fdinfo/"+string(name)
	text, err := ask(&p.visit, func() ([]byte, error) { return dir.Append(nil, file, maxRing) })
	if p.lost == nil {
		s.trouble("files of io_urings", err)
	}
	fd := number(name)
	paths, unknown := procfd.ParseRing(text)
	for _, path := range paths {
		if at := s.name([]byte(path)); !at.internal {
			s.holds = append(s.holds, hold{at: at, kind: atRing, fd: int32(fd), byPath: true})
		}
	}
	if unknown > 0 {
		s.queued = append(s.queued, holders.Queued{PID: p.pid, FD: fd, Count: unknown, Ring: true})
	}
}
