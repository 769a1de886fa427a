package procs

import (
	"bytes"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// maxRing bounds what is read of the files of one io_uring: about 10,000 of them.
const maxRing = 1 << 20

// readRing notes the files that are registered with an io_uring (io_uring_show_fdinfo; Linux 6.18, and 6.1):
//
//	UserFiles:	3                UserFiles:	3
//	    0: /data/a\040b             0: a b
//	    1: pipe:[48474872]          1:
//	                                2: <none>
//
// In old kernels, it may wait for the lock of the io_uring.
func (s *scanner) readRing(p *subject, name []byte) {
	dir, file := p.dir, p.alive+"fdinfo/"+string(name)
	text, err := ask(&p.visit, func() ([]byte, error) { return dir.Append(nil, file, maxRing) })
	if p.lost == nil {
		s.trouble("files of io_urings", err)
	}
	_, text, _ = bytes.Cut(text, []byte("\nUserFiles:"))
	text, _, _ = bytes.Cut(text, []byte("\nUserBufs:"))
	unknown := holders.Queued{PID: p.pid, FD: number(name), Ring: true}
	for line := range strings.Lines(string(text)) {
		_, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if strings.HasPrefix(file, "/") {
			if at := s.name([]byte(unescapeRing.Replace(file))); !at.internal {
				s.holds = append(s.holds, hold{at: at, kind: atRing, fd: int32(unknown.FD), byPath: true})
			}
		} else if isBareName(file) {
			unknown.Count++
		}
	}
	if unknown.Count > 0 {
		s.queued = append(s.queued, unknown)
	}
}

// isBareName says whether a name may be that of a file, and not what the kernel calls sockets (UNIX-STREAM, UDPv6), pipes,
// and objects without a name ([eventfd], pipe:[48474872]).
func isBareName(name string) bool {
	protocol := strings.TrimSuffix(name, "v6")
	return name != "" && name != "<none>" && !strings.HasSuffix(name, "]") && protocol != strings.ToUpper(protocol)
}

// unescapeRing undoes the escapes of seq_file_path.
var unescapeRing = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
