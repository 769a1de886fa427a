package procs

import (
	"bytes"
	"strings"
)

// maxRing bounds what is read of the files of one io_uring: about 10,000 of them.
const maxRing = 1 << 20

// readRing notes the files that are registered with an io_uring (io_uring_show_fdinfo, Linux 5.12; before, their names alone):
//
//	UserFiles:	3
//	    0: /data/a\040b
//	    2: pipe:[48474872]
//
// Before Linux 5.11, it may wait for the lock of the io_uring.
func (s *scanner) readRing(p *subject, name []byte) {
	dir, file := p.dir, p.alive+"fdinfo/"+string(name)
	text, err := ask(&p.visit, func() ([]byte, error) { return dir.Append(nil, file, maxRing) })
	if p.lost == nil {
		s.trouble("files of io_urings", err)
	}
	_, text, _ = bytes.Cut(text, []byte("\nUserFiles:"))
	text, _, _ = bytes.Cut(text, []byte("\nUserBufs:"))
	for line := range bytes.Lines(text) {
		if _, path, ok := bytes.Cut(line, []byte(": /")); ok {
			path := unescapeRing.Replace("/" + string(bytes.TrimSuffix(path, []byte{'\n'})))
			if at := s.name([]byte(path)); !at.internal {
				s.holds = append(s.holds, hold{at: at, kind: atRing, fd: int32(number(name)), byPath: true})
			}
		}
	}
}

// unescapeRing undoes the escapes of seq_file_path.
var unescapeRing = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// readQueue notes the descriptors in the queue of a socket (unix_show_fdinfo, Linux 5.8).
func (s *scanner) readQueue(p *subject, name []byte) {
	if !s.queues {
		return
	}
	info, err := s.c.head(p.dir, p.alive+"fdinfo/"+string(name))
	if n := infoNumber(info, "scm_fds:"); err == nil && n != 0 {
		s.queued = append(s.queued, Queued{p.pid, number(name), int(n)})
	}
}
