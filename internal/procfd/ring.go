package procfd

import (
	"bytes"
	"strings"
)

// ParseRing reads which files are registered with an io_uring (io_uring_show_fdinfo; Linux 6.18, and 6.1) out of
// /proc/PID/fdinfo/N:
//
//	UserFiles:	3                UserFiles:	3
//	    0: /data/a\040b             0: a b
//	    1: pipe:[48474872]          1:
//	                                2: <none>
//
// paths are those of which the kernel tells the path; unknown counts those of which it tells the name alone.
func ParseRing(info []byte) (paths []string, unknown int) {
	_, info, _ = bytes.Cut(info, []byte("\nUserFiles:"))
	info, _, _ = bytes.Cut(info, []byte("\nUserBufs:"))
	for line := range strings.Lines(string(info)) {
		_, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if strings.HasPrefix(file, "/") {
			paths = append(paths, unescapeRing.Replace(file))
		} else if isBareName(file) {
			unknown++
		}
	}
	return paths, unknown
}

// isBareName says whether a name may be that of a file, and not what the kernel calls sockets (UNIX-STREAM, UDPv6), pipes,
// and objects without a name ([eventfd], pipe:[48474872]).
func isBareName(name string) bool {
	protocol := strings.TrimSuffix(name, "v6")
	return name != "" && name != "<none>" && !strings.HasSuffix(name, "]") && protocol != strings.ToUpper(protocol)
}

// unescapeRing undoes the escapes of seq_file_path.
var unescapeRing = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
