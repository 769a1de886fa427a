package read

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/errno"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/octal"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// manyCounted are as many mounts on one mount point as prove a stack without the table.
const manyCounted = 3

// manyAlike are as many as are too many, whatever has multiplied them.
const manyAlike = 16

// A mountReader reads mount tables: mount(8), /proc/mounts, /proc/PID/mountinfo, findmnt(8).
type mountReader struct {
	to   *systemText
	name string
	// columns are those of findmnt, if a heading named them.
	columns []string
	// last is the line of the last row. Several says that the command lists more than one namespace or node.
	last    int
	several bool
	number  int // of the line, and how many alike rows uniq has counted there
	times   int
	// points says that "uniq -c" counts mount points alone.
	points bool
	// pid is the process whose table the command prints; 0 is the host.
	pid int
	// target is the mount point that the command names, where its columns do not have it.
	target string
	// long is a target that findmnt has written on a line of its own, with the other columns on the next.
	long string
}

// A mountRow is how often a mount stands in one table.
type mountRow struct {
	point, source, fsType string
}

// A processMount is a row of the table of one process, which need not be in the mount namespace of the host.
type processMount struct {
	pid   int
	mount mounts.Mount
}

// mountTables are the rows of the tables that have no ids.
type mountTables []map[mountRow]int

var (
	// "10.0.0.5:/export on /mnt type nfs4 (rw,relatime,…)"
	mountLine = pattern.New(`^(.*\S) on (/.*?) type ([a-z][\w.-]*) \(([^()]*(?:\([^()]*\)[^()]*)*)\)(?: \[.*\])?$`)
	// "10.0.0.5:/export /mnt nfs4 rw,relatime,… 0 0"
	procMounts = pattern.New(`^(\S+) (/\S*) ([a-z][\w.-]*) ((?:rw|ro)(?:,\S*)?) \d \d$`)
	mountinfo  = pattern.New(`^\d+ \d+ \d+:\d+ \S+ /\S* (?:rw|ro)\S* .*- \S+ \S+( (?:rw|ro)|$)`)
	// "lsof: WARNING: can't stat() fuse.sshfs file system /mnt/x"
	lsofWarning  = pattern.New(`^lsof: WARNING: can't stat\(\) (\S+) file system (/\S.*)$`)
	counted      = pattern.New(`^ +(\d+) (\S+ on /.* type .*|/\S* .*|\S+ /\S* .*)$`)
	tableCommand = pattern.New(`^(?:\S*(?: \S+)?[#$>%] |for |while |sudo |nsenter ).*(?:mount|mnt)`)
	// several are commands that print the tables of more than one namespace or node.
	several = pattern.New(`\b(?:nsenter|xargs|ssh|pdsh|clush|ansible|exec|parallel)\b|;\s*do\b|/proc/\S*[*$\[{]|\s(?:-N|--task|-A)\b`)
	// ofProcess is a command that prints the table of one process.
	ofProcess = pattern.New(`(?:/proc/|\bnsenter\s(?:.*\s)?(?:-t|--target)[ =]?|\bfindmnt\s(?:.*\s)?(?:-N|--task)[ =]?)(\d+)\b`)
	// "findmnt -rno TARGET,SOURCE,FSTYPE", which prints no heading
	findmntCommand = pattern.New(`\bfindmnt\s(?:.*\s)?-\w*o[ =]?([A-Z:-]+(?:,[A-Z:-]+)+)\b`)
	findmntTarget  = pattern.New(`\s(/\S+)\s*$`)
	// countedPoints is a command that takes the mount points of a table and counts them: "awk '{print $5}' /proc/self/mountinfo | sort | uniq -c".
	countedPoints = pattern.New(`(?:mountinfo\b.*(?:\$5\b|-f ?5\b)|(?:\$5\b|-f ?5\b).*mountinfo\b|(?:/mounts|/mtab)\b.*(?:\$2\b|-f ?2\b)|(?:\$2\b|-f ?2\b).*(?:/mounts|/mtab)\b|\bmount\b.*\|.*(?:\$3\b|-f ?3\b)|\bfindmnt\b.*\bTARGET\b).*\|\s*uniq -\w*c`)
	countedPoint  = pattern.New(`^\s*(\d{1,7})\s+(/\S+)$`)
	// tree are what findmnt draws before a target.
	tree = strings.NewReplacer("├─", "", "└─", "", "│ ", "", "│", "", "|-", "", "`-", "")
)

func (r *mountReader) line(s string, number int) {
	text := strings.TrimSpace(s)
	r.number, r.times = number, 1
	if r.points {
		if m := countedPoint.FindStringSubmatch(s); m != nil {
			r.times = max(1, atoi(m[1]))
			r.add(mounts.Mount{MountPoint: plain(m[2])})
			return
		}
	}
	if m := counted.FindStringSubmatch(s); m != nil { // of "uniq -c"
		r.times, text = max(1, atoi(m[1])), m[2]
	}
	if tableCommand.MatchString(text) {
		r.several, r.pid = several.MatchString(text), 0
		if m := ofProcess.FindStringSubmatch(text); m != nil && m[1] != "1" {
			r.pid = atoi(m[1])
		}
	}
	r.points = countedPoints.MatchString(text) && !several.MatchString(text)
	if m := findmntCommand.FindStringSubmatch(text); m != nil {
		r.columns, r.target = strings.Split(strings.ToUpper(m[1]), ","), ""
		if t := findmntTarget.FindStringSubmatch(text); t != nil && !slices.Contains(r.columns, "TARGET") {
			r.target = t[1]
		}
		return
	}
	if words := strings.Fields(text); r.target != "" && len(words) > 0 && len(words) == len(r.columns) && words[0] != r.columns[0] && !prompt.MatchString(text) {
		text = r.target + " " + text
		r.columns, r.target = append([]string{"TARGET"}, r.columns...), ""
	}
	if m := lsofWarning.FindStringSubmatch(text); m != nil { // which it writes of any mount that it may not ask
		r.add(mounts.Mount{MountPoint: m[2], FSType: m[1]})
		return
	}
	switch {
	case !strings.Contains(text, "/"):
		r.heading(text)
		return
	case r.columns == nil && !strings.Contains(text, "rw") && !strings.Contains(text, "ro"):
		return
	case strings.Contains(text, " on ") && strings.HasSuffix(strings.TrimRight(text, "]"), ")"):
		if m := mountLine.FindStringSubmatch(text); m != nil {
			r.add(mounts.Mount{Source: m[1], MountPoint: m[2], FSType: m[3], Options: m[4]})
			return
		}
	case mountinfo.MatchString(text):
		if mountinfo.FindStringSubmatch(text)[1] == "" { // which somebody has cut off
			text += " rw"
		}
		list, _ := mounts.Parse(bytes.NewReader([]byte(text)))
		for _, m := range list {
			r.add(m)
		}
		return
	}
	if n := len(text); n < 4 || text[n-2] != ' ' {
		r.findmnt(text)
	} else if m := procMounts.FindStringSubmatch(text); m != nil {
		r.add(mounts.Mount{Source: plain(m[1]), MountPoint: plain(m[2]), FSType: plain(m[3]), Options: m[4]})
	}
}

// plain undoes the escapes of /proc/mounts.
func plain(s string) string { return string(octal.Unescape([]byte(s))) }

// heading remembers the columns of findmnt.
func (r *mountReader) heading(text string) {
	words := strings.Fields(text)
	switch {
	case len(words) > 1 && slices.Contains(words, "TARGET") && text == strings.ToUpper(text):
		r.columns = words
	case text != "" && r.columns != nil && !strings.ContainsAny(text, "├└│"):
		r.columns = nil
	}
}

// options begin with whether a file system can be written.
var mountOptions = pattern.New(`^(?:rw|ro)(?:,\S*)?$`)

// findmnt reads "└─/mnt  10.0.0.5:/export  nfs4  rw,relatime,…": by the heading, or without one the usual columns.
func (r *mountReader) findmnt(text string) {
	columns, long := r.columns, r.long
	if r.long = ""; long != "" && len(strings.Fields(tree.Replace(text))) == len(columns)-1 {
		text = long + " " + tree.Replace(text)
	}
	at := max(0, slices.Index(columns, "TARGET"))
	if at == 0 && text[0] != '/' && !strings.ContainsAny(text[:min(len(text), 16)], "├└│|`") {
		return
	}
	text = strings.TrimSpace(tree.Replace(text))
	words := strings.Fields(text)
	if len(words) == 1 && len(columns) > 1 && columns[0] == "TARGET" && words[0][0] == '/' {
		r.long = words[0]
		if r.last == r.number-1 {
			r.last = r.number // it does not end the table
		}
		return
	}
	if columns == nil {
		columns = []string{"TARGET", "SOURCE", "FSTYPE", "OPTIONS"}
	}
	if len(words) != len(columns) || words[at][0] != '/' {
		return
	}
	var m mounts.Mount
	for i, c := range columns {
		switch c {
		case "TARGET":
			m.MountPoint = words[i]
		case "SOURCE":
			m.Source, _, _ = strings.Cut(words[i], "[") // of a bind mount: the directory in brackets
		case "FSTYPE":
			m.FSType = words[i]
		case "OPTIONS", "FS-OPTIONS", "VFS-OPTIONS":
			if !mountOptions.MatchString(words[i]) {
				return
			}
			m.Options = words[i]
		}
	}
	if m.FSType != "" && (r.columns != nil || m.Options != "") || at > 0 && strings.HasPrefix(m.Source, "/dev/") {
		r.add(m)
	}
}

func (r *mountReader) add(m mounts.Mount) {
	if len(r.to.mounts)+len(r.to.processMounts) >= mostSaved || m.MountPoint == "" {
		return
	}
	if m.Device == "" {
		r.count(mountRow{path.Clean(m.MountPoint), m.Source, m.FSType})
		if r.points && r.times < manyCounted { // a mount point alone says nothing
			return
		}
		m.MountPoint, m.Root = path.Clean(m.MountPoint), "/"
		m.Class = mounts.ClassOf(m.FSType)
		m.Device = superblock(m)
		if m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE {
			m.SuperOptions = m.Options
		}
	}
	if r.pid != 0 {
		r.to.processMounts = append(r.to.processMounts, processMount{r.pid, m})
	} else {
		r.to.mounts = append(r.to.mounts, m)
	}
	r.to.saw(forensics.SourceMounts, r.name)
}

// ofHost are the mounts of the host. The table of a process is taken for it where the text has no other: that may be the kubelet's.
func (x *systemText) ofHost() []mounts.Mount {
	list := slices.Clone(x.mounts)
	for _, row := range x.processMounts {
		named := func(s tableSearch) bool {
			return s.lacks && !s.has && (strings.Contains(row.mount.MountPoint, s.name) || strings.HasSuffix(row.mount.Source, "/"+s.name))
		}
		if len(x.mounts) == 0 && !slices.ContainsFunc(x.searches, named) {
			list = append(list, row.mount)
		}
	}
	return list
}

// count notes how often a mount stands in a table, which ends with the first other line.
func (r *mountReader) count(row mountRow) {
	x := r.to
	if r.last == 0 || r.number > r.last+1 {
		x.tables = append(x.tables, map[mountRow]int{})
	}
	if r.last = r.number; !r.several && row.fsType != "autofs" {
		x.tables[len(x.tables)-1][row] += r.times
	}
}

// stacked says how many mounts are stacked on a mount point, by the table that shows the most; 1 where that is not certain. A directory that is
// mounted onto itself shows all mounts below it again, and all equally often: two rows alone prove nothing, and only many rows do if all are alike.
func (t mountTables) stacked(row mountRow) int {
	most := 1
	for _, table := range t {
		n, others, alike := table[row], 0, 0
		above := false
		for other, k := range table {
			switch {
			case other == row:
			case strings.HasPrefix(row.point, other.point+"/"):
				above = true
			case strings.HasPrefix(other.point, "/var/lib/kubelet/"):
				others++
				if k == n {
					alike++
				}
			}
		}
		if others > 0 && alike == others && n < manyAlike || (above || others == 0) && n == 2 {
			continue
		}
		most = max(most, n)
	}
	return most
}

// toolError is "df: '/mnt': Stale file handle", "ls: cannot access '/mnt/x': Transport endpoint is not connected".
var toolError = pattern.New(`^(?:[-\w]+: (?:line \d+: )?)?(?:/\S*/)?(df|ls|stat|cp|mv|cat|du|find|rm|cd|test|touch|mkdir|rsync|tar|head|tail|umount|fusermount3?|fuse|mountpoint|findmnt|chown|chmod): (?:[^/'‘"“]*)['‘"“]?(/[^'’"”:]*)['’"”]?: (\S.*)$`)

// nearError is that of a path within the directory that the shell is in.
var nearError = pattern.New(`^(?:[-\w]+: (?:line \d+: )?)?(?:cd|ls|stat|df|du|cat|rm): (?:cannot [a-z ]+|reading directory )?['‘"“]?(\.|\w[\w./-]*)['’"”]?: (\w[\w ]+)$`)

// bareError is the same where somebody has left out the name of the tool.
var bareError = pattern.New(`^cannot (?:access|open|stat|statx|read|remove)[^/'‘"“]*['‘"“](/[^'’"”:]*)['’"”]: (\S.*)$`)

// interrupted is a call of a runtime that a signal has ended (ERESTARTSYS): it did not return by itself.
var interrupted = pattern.New(`failed to stat \\?['"](/[^'"\\]+)\\?['"]:? errno=512\b`)

// pythonError is how Python prints the error of a call on a path.
var pythonError = pattern.New(`^ *\w*Error: \[Errno \d+\] ([^:'"]+): b?['"](/[^'"]*)['"]\s*$`)

// An errorReader finds what a tool says of a path of a file system that does not work.
type errorReader struct {
	to   *systemText
	name string
}

func (r *errorReader) line(s string, _ int) {
	x := r.to
	s = strings.TrimLeft(s, " ") // a tab is what klog puts before the output of a pod's probe
	if m := interrupted.FindStringSubmatch(s); m != nil && len(x.errors) < mostSaved {
		x.errors = append(x.errors, pathCall{path: path.Clean(m[1]), call: "stat", pending: true, said: true})
		x.saw(forensics.SourceHealth, r.name)
		return
	}
	i := strings.Index(s, "/")
	if strings.HasPrefix(s, "cannot ") && len(x.errors) < mostSaved {
		if m := bareError.FindStringSubmatch(s); m != nil {
			x.failed(r.name, m[1], m[2])
		}
		return
	}
	if m := nearError.FindStringSubmatch(strings.TrimSpace(s)); m != nil && i < 0 && len(x.errors) < mostSaved {
		where := m[1]
		if where == "." {
			where = hearsay.Unnamed
		}
		x.failed(r.name, where, m[2])
		return
	}
	if m := pythonError.FindStringSubmatch(s); m != nil && len(x.errors) < mostSaved {
		x.failed(r.name, m[2], m[1])
		return
	}
	if i < 4 || strings.LastIndex(s[:i], ": ") < 2 || s[0] < '-' || !strings.Contains(s[i:], ": ") || len(x.errors) >= mostSaved || errno.Of(s[i:]) == "" {
		return
	}
	m := toolError.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || strings.Contains(m[3], "`") { // a quotation in prose
		return
	}
	x.failed(r.name, m[2], m[3])
}

// failed notes the error of a call on a path.
func (x *systemText) failed(name, where, text string) {
	switch code := errno.Of(text); code {
	case "ESTALE", "ENOTCONN", "ESHUTDOWN", "EHOSTDOWN", "EIO", "EUCLEAN":
		x.errors = append(x.errors, pathCall{path: path.Clean(where), errno: code, text: strings.TrimRight(text, ". ")})
		x.saw(forensics.SourceHealth, name)
	}
}
