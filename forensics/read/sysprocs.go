package read

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A processRow is one line of ps(1).
type processRow struct {
	pid, tid int
	ppid     int    // 0 where the listing has none
	ofThread bool   // pid is that of a thread, which may be another one than the first of its process
	state    string // "D+", "Ssl"
	wchan    string
	args     []string
	// old says that it was started at least two minutes before, or on another day.
	old bool
	// killed says that the text shows a SIGKILL to it before.
	killed bool
	// again says that another file shows it blocked, too.
	again bool
	// pending says that a SIGKILL waits for it, as the kernel shows that.
	pending bool
	saved   string
	text    string // that it is in, and the listing there
	table   int
}

func (p processRow) blocked() bool { return strings.HasPrefix(p.state, "D") }

// kernel says whether it is a kernel thread, whose name ps writes in brackets.
func (p processRow) kernel() bool {
	return len(p.args) > 0 && strings.HasPrefix(p.args[0], "[") && strings.HasSuffix(p.args[len(p.args)-1], "]")
}

func (p processRow) comm() string {
	if len(p.args) == 0 {
		return ""
	}
	return strings.Trim(path.Base(p.args[0]), "-[]:")
}

// short says whether the program ends within a moment unless it waits for a file system.
func (p processRow) short() bool {
	switch name := p.comm(); name {
	case "df", "ls", "stat", "umount", "mount", "fusermount", "fusermount3", "findmnt", "mountpoint", "lsof", "fuser", "test", "blkid", "readlink", "ionice", "nfsstat", "umount2":
		return true
	default:
		return strings.HasPrefix(name, "umount.") || strings.HasPrefix(name, "mount.")
	}
}

// createsContainer says whether it is what runc leaves in a new container until its program starts: nobody pauses that.
func (p processRow) createsContainer() bool {
	return p.comm() == "runc" && len(p.args) > 1 && p.args[1] == "init" || len(p.args) > 0 && strings.HasPrefix(p.args[0], "runc:[")
}

// paths are the arguments that are absolute paths of files, with the last one first for programs that mount.
func (p processRow) paths() []string {
	var list []string
	for i, a := range p.args {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(value, "/") {
			a = value
		}
		if i > 0 && strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "//") && !strings.HasPrefix(a, "/dev/") {
			list = append(list, path.Clean(a))
		}
	}
	return list
}

// A processReader reads what ps(1) prints, with a heading, or by the columns that the command names.
type processReader struct {
	to      *systemText
	name    string
	columns []string
	command int  // the line of the command that named the columns
	threads bool // what top calls PID is that of a thread (top -H)
	tables  int
	strange int // lines since the last row
	killed  map[int]bool
}

// isState says whether a column has the states of processes.
func isState(column string) bool { return column == "STAT" || column == "S" || column == "STATE" }

var (
	psHeading = pattern.New(`^(?:[A-Z%][A-Z0-9%_]* +)+(?:CMD|COMMAND|ARGS|COMM|WCHAN)[A-Z ]*$|^PID\s.*\b(?:STAT|S|WCHAN)\b`)
	psCommand = pattern.New(`\bps\b.*?\s-?\w*o[\s=]*['"]?([a-z0-9_%]+(?:[,:=]+[A-Za-z0-9_%]+)+)`)
	psAux     = pattern.New(`^(\S+)\s+(\d+)\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+(?:\?|\S+)\s+([DRSTtZIX][<NLsl+W]*)\s+(\S+)\s+\d+:\d\d\s+(\S.*)$`)
	psElf     = pattern.New(`^\d ([DRSTtZIX]) \S+\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+\S+\s+\S+\s+\d+\s+(\S+)\s+([A-Z][a-z]{2} ?\d\d|\d\d:\d\d|\d{4})\s+\S+\s+[\d:-]+\s+(\S.*)$`)
	psState   = pattern.New(`^[DRSTtZIX][<NLsl+W]*$`)
	topHead   = pattern.New(`^(?:Tasks: |Threads: )|(?:^|[\s/])top\s+(?:-\w+\s+)*-\w*H`)
	numbers   = pattern.New(`\b(?:PID|TID|LWP|SPID)\b`)
	elapsed   = pattern.New(`^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$`)
	onADay    = pattern.New(`^(?:[A-Z][a-z]{2} ?\d{1,2}|\d{4}|[A-Z][a-z]{2}\d{4})$`)
)

func (r *processReader) line(s string, number int) {
	text := strings.TrimSpace(s)
	if m := continued.FindStringSubmatch(text); m != nil {
		r.goOn(atoi(m[1]))
	}
	if topHead.MatchString(text) {
		r.threads = !strings.HasPrefix(text, "Tasks:")
	}
	if strings.Contains(text, "kill ") {
		r.killed = killedBy(text, r.killed)
	}
	if r.columns == nil && !strings.Contains(text, "PID") && !strings.Contains(text, "LWP") && !strings.Contains(text, "TID") && !strings.Contains(text, "ps ") && !secondIsNumber(text) {
		if m := psElf.FindStringSubmatch(text); m != nil { // ps -elf, without the heading
			r.add(processRow{pid: atoi(m[2]), ppid: atoi(m[3]), state: m[1], wchan: strings.Trim(m[4], "-?"), old: onADay.MatchString(m[5]), args: strings.Fields(m[6])}, number)
		}
		return
	}
	if m := psAux.FindStringSubmatch(text); m != nil {
		r.add(processRow{pid: atoi(m[2]), state: m[3], old: onADay.MatchString(m[4]), args: withoutTree(strings.Fields(m[5]))}, number)
		return
	}
	if m := psCommand.FindStringSubmatch(text); m != nil {
		r.columns = nil
		for c := range strings.SplitSeq(m[1], ",") {
			c, _, _ = strings.Cut(c, ":")
			c, _, _ = strings.Cut(c, "=")
			r.columns = append(r.columns, strings.ToUpper(c))
		}
		r.tables++
		r.command = number
		return
	}
	if psHeading.MatchString(text) && numbers.MatchString(text) {
		columns := strings.Fields(text)
		if slices.ContainsFunc(columns, isState) || r.columns == nil || number > r.command+3 {
			r.columns = columns
			r.tables++
		}
		return
	}
	if r.columns == nil {
		return
	}
	if r.row(text, number) {
		r.strange = 0
	} else if r.strange++; r.strange > 3 { // the listing has ended
		r.columns, r.strange = nil, 0
	}
}

// secondIsNumber says whether the second word is a number, as in the rows of "ps aux".
func secondIsNumber(s string) bool {
	_, rest, ok := strings.Cut(s, " ")
	word, _, more := strings.Cut(strings.TrimLeft(rest, " "), " ")
	return ok && more && word != "" && strings.Trim(word, "0123456789") == ""
}

// row reads a line by the columns; the last one is the rest of the line.
func (r *processReader) row(text string, number int) bool {
	words := strings.Fields(text)
	row, pid := processRow{}, false
	for i, c := range r.columns {
		if len(words) == 0 {
			break
		}
		word := words[0]
		words = words[1:]
		switch c {
		case "PID", "TGID":
			n, err := strconv.Atoi(word)
			if err != nil {
				return false
			}
			row.pid, pid = n, true
		case "PPID":
			row.ppid = atoi(word)
		case "TID", "LWP", "SPID":
			row.tid = atoi(word)
		case "STAT", "S", "STATE":
			if !psState.MatchString(word) {
				return false
			}
			row.state = word
		case "WCHAN", "WCHAN32":
			row.wchan = strings.Trim(word, "-?")
		case "ELAPSED", "ETIME":
			row.old = row.old || longer(word) || atoi(word) >= 120 // which is the heading of etimes, too
		case "ETIMES":
			row.old = row.old || atoi(word) >= 120
		case "STARTED", "LSTART", "START", "STIME":
			if len(word) == 3 && len(words) >= 4 && strings.Contains(words[2], ":") { // "Mon Jul 1 10:00:00 2024"
				words = words[4:]
			} else if len(word) == 3 && len(words) > 0 && onADay.MatchString(word+" "+words[0]) { // "Jun 02"
				words, row.old = words[1:], true
			}
			row.old = row.old || onADay.MatchString(word)
		case "CMD", "COMMAND", "ARGS", "COMM":
			row.args = withoutTree(append([]string{word}, words...))
			if i < len(r.columns)-1 {
				row.args = row.args[:1]
			}
		}
	}
	if row.ofThread = !pid && row.tid != 0 || r.threads && row.tid == 0; !pid {
		row.pid = row.tid
	}
	switch z := &r.to.zombies; {
	case row.pid != 0 && row.state != "":
		r.add(row, number)
	case row.pid != 0 && len(row.args) > 0 && len(z.names) < mostSaved:
		z.names = append(z.names, row)
	}
	return row.pid != 0
}

// withoutTree is a command line without the branches that "ps f" draws before it.
func withoutTree(words []string) []string {
	for len(words) > 1 && (words[0] == "|" || words[0] == `\_`) {
		words = words[1:]
	}
	return words
}

// longer says whether "[[dd-]hh:]mm:ss" is two minutes or more.
func longer(etime string) bool {
	m := elapsed.FindStringSubmatch(etime)
	return m != nil && (atoi(m[1]) > 0 || atoi(m[2]) > 0 || atoi(m[3]) >= 2)
}

func (r *processReader) add(row processRow, number int) {
	if row.comm() == "ps" || row.comm() == "grep" || row.comm() == "awk" || len(r.to.rows) >= 10*mostSaved {
		return
	}
	if row.state[0] == 'Z' && row.ppid != 0 {
		r.to.zombies.add(procs.Process{PID: row.pid, PPID: row.ppid, Comm: row.comm()})
		r.to.saw(forensics.SourceProcesses, r.name)
	}
	row.killed = r.killed[row.pid]
	row.saved, row.text, row.table = savedAt(r.name, number), r.name, r.tables
	r.to.rows = append(r.to.rows, row)
	r.to.saw(forensics.SourceThreads, r.name)
}

// waiting are the threads that wait for more than a moment, as far as the texts show that: each stack that somebody took of a
// thread that waits for a server, of one that was killed or has ended, hung tasks, and programs that have run for minutes and need none. On a busy node a few threads wait
// for a disk at any moment, and a kernel thread for its journal.
func (x *systemText) waiting() []procs.Thread {
	var list, local []procs.Thread
	ended := x.endedFirst()
	for _, s := range x.stacks {
		t := s.Thread
		t.Dying = ended[t.PID] && t.TID != t.PID && !t.PIDUnknown && !t.Wait.Killable()
		row := x.arguments(t.PID)
		t.Comm = firstOf(t.Comm, row.comm())
		if t.State == "" {
			t.State = strings.TrimRight(row.state, "<NLsl+W")
		}
		switch {
		case t.Dying && t.State != "S":
			list = append(list, t)
		case s.Wait.Kind == procs.WaitFreezer && row.createsContainer() && (row.old || len(x.frozen) > 0):
			list = append(list, t)
		case s.hung, s.Wait.Kind != procs.WaitUnknown && remote(s.Wait), row.short() && row.old, s.killed && s.Wait.Unkillable(), row.pending && s.Wait.Kind != procs.WaitUnknown,
			s.Wait.Kind == procs.WaitExit && s.Wait.Unkillable() && !s.sampled:
			list = append(list, t)
		case s.Wait.Kind == procs.WaitUnknown: // thawed
		case s.Wait.Kind == procs.WaitFreezer: // which somebody may have meant
		case !isKernelThread(t.Comm) && s.Wait.Kind != procs.WaitWriteback && s.Wait.Kind != procs.WaitFileLock:
			local = append(local, t)
		}
	}
	stacked := map[int]bool{}
	for _, s := range x.stacks {
		stacked[s.PID] = true
	}
	stacks, atOnce, most := len(local), map[listing]int{}, 0
	for _, row := range x.rows {
		wait, ok := procs.ThreadWait(row.state[:1], row.wchan, "", nil)
		if i := slices.IndexFunc(list, func(t procs.Thread) bool { return t.TID == row.pid && t.WaitFrom == "hung-task" && len(t.Stack) > 0 }); i >= 0 && row.blocked() {
			list[i].WChan = row.wchan // which says that a listing shows it still
		}
		if stacked[row.pid] || row.kernel() && wait.Kind != procs.WaitExit { // a process that ends has no command line any more, either
			continue
		}
		dying := row.blocked() && ended[row.pid] && row.tid != 0 && row.tid != row.pid && !wait.Killable()
		if !ok && !dying {
			continue
		}
		tid := row.tid
		if tid == 0 {
			tid = row.pid
		}
		t := procs.Thread{Dying: dying, PID: row.pid, TID: tid, PIDUnknown: row.ofThread, Comm: row.comm(), State: row.state[:1], WChan: row.wchan, Stack: []string{}, Wait: wait, Saved: row.saved}
		seconds, hung := x.hung[tid]
		if hung = hung && row.blocked(); hung { // a listing shows that it has not ended since the kernel's report
			t.WaitSeconds, t.WaitFrom = &seconds, "hung-task"
		}
		switch {
		case dying, hung, row.pending, (wait.Kind == procs.WaitFreezer || row.blocked()) && row.createsContainer() && row.old,
			row.killed && row.blocked() && wait.Unkillable(), remote(wait) && (row.short() || x.selected(row)), row.blocked() && (row.again || row.short() && row.old),
			wait.Kind == procs.WaitExit && wait.Unkillable() && row.old:
			list = append(list, t)
		case remote(wait), row.blocked() && (row.short() || x.selected(row)):
			local = append(local, t)
			at := listing{row.text, row.table}
			atOnce[at]++
			most = max(most, atOnce[at])
		}
	}
	if stacks+most >= fewBlocked {
		list = append(list, local...)
	}
	return list
}

// endedFirst are the processes of which a list of threads shows the first one as ended, and another one not.
func (x *systemText) endedFirst() map[int]bool {
	first, others := map[int]bool{}, map[int]bool{}
	for _, row := range x.rows {
		switch {
		case row.tid == row.pid || row.tid == 0 && !row.ofThread:
			first[row.pid] = strings.HasPrefix(row.state, "Z")
		case row.tid != 0:
			others[row.pid] = others[row.pid] || !strings.HasPrefix(row.state, "Z")
		}
	}
	for pid, ended := range first {
		first[pid] = ended && others[pid]
	}
	return first
}

// A listing is one that somebody made, in a text: others may be of another moment.
type listing struct {
	text  string
	table int
}

// continued is a command that lets a stopped process go on.
var continued = pattern.New(`\bkill +(?:-18|-CONT|-SIGCONT|-s +(?:18|CONT|SIGCONT)) +(\d+)`)

// goOn notes that somebody has let a stopped process go on.
func (r *processReader) goOn(pid int) {
	for i := range r.to.rows {
		if row := &r.to.rows[i]; row.pid == pid && row.state[0] == 'T' {
			row.state = "S"
		}
	}
}

// addServers adds the FUSE servers that a listing of processes shows as stopped or traced, with the file systems that their command lines
// name, if somebody waits for a FUSE file system, or if the server is a known client.
func (x *systemText) addServers(e *forensics.Evidence) {
	if len(e.Processes) > 0 || e.MountUse != nil && len(e.MountUse.FUSE.Superblocks) > 0 {
		return
	}
	waits := func(t procs.Thread) bool { return t.Saved != "" && t.Wait.Kind == procs.WaitFUSE }
	waitedFor := slices.ContainsFunc(e.Threads, waits)
	var use forensics.FUSEUse
	last := map[int]string{}
	for _, row := range x.rows {
		last[row.pid] = row.state[:1]
	}
	for _, row := range x.rows {
		if state := last[row.pid]; state != "T" && (state != "t" || !waitedFor) || state != row.state[:1] || !waitedFor && !fsfamily.ServesFUSE(row.comm()) {
			continue
		}
		for _, point := range row.paths() {
			device, mounted := point, false
			for _, m := range e.Mounts.Mounts {
				if m.MountPoint == point && m.Class == mounts.ClassFUSE {
					device, mounted = m.Device, true
				}
			}
			if !mounted {
				waitedAt := func(t procs.Thread) bool {
					return waits(t) && t.Device == "" && (t.Path == point || strings.HasPrefix(t.Path, point+"/"))
				}
				client := fsfamily.ServesFUSE(row.comm()) && path.Clean(lastOperand(row.args)) == point
				if !client && !poduid.Path.MatchString(point) && !strings.HasSuffix(point, "/globalmount") && !slices.ContainsFunc(e.Threads, waitedAt) {
					continue
				}
				e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{
					ID: -len(e.Mounts.Mounts) - 1, Device: point, MountPoint: point, Root: "/", FSType: "fuse." + row.comm(), Source: row.comm(), Class: mounts.ClassFUSE,
				})
			}
			use.Superblocks = append(use.Superblocks, device)
			use.Devices = append(use.Devices, holders.FUSEDevice{PID: row.pid})
			use.Named = append(use.Named, forensics.FUSENamed{PID: row.pid, Device: device})
			e.Processes = append(e.Processes, procs.Process{PID: row.pid, Comm: row.comm(), State: row.state[:1], Command: row.args, UID: -1})
			break
		}
	}
	if len(use.Superblocks) == 0 {
		return
	}
	if e.MountUse == nil {
		e.MountUse = &forensics.MountUse{}
	}
	e.MountUse.FUSE = use
	x.saw(forensics.SourceHolders, x.seen[forensics.SourceThreads])
	x.saw(forensics.SourceProcesses, x.seen[forensics.SourceThreads])
	if len(use.Superblocks) == 1 {
		for i := range e.Threads {
			if t := &e.Threads[i]; t.Saved != "" && t.Wait.Kind == procs.WaitFUSE && t.Device == "" {
				t.Device = use.Superblocks[0]
			}
		}
	}
}

// lastOperand is the last argument that is no option, and no value of -o.
func lastOperand(args []string) string {
	for i := len(args) - 1; i > 0; i-- {
		if !strings.HasPrefix(args[i], "-") && args[i-1] != "-o" {
			return args[i]
		}
	}
	return args[0]
}

// fewBlocked is how many threads wait at one moment in more than chance.
const fewBlocked = 3

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// remote says whether a wait is one for a server.
func remote(w procs.Wait) bool {
	switch w.Kind {
	case procs.WaitServer, procs.WaitRetry, procs.WaitFUSE, procs.WaitAutofs, procs.WaitFrozen:
		return true
	}
	return false
}

// isKernelThread tells kernel threads of file systems and disks by their names.
func isKernelThread(comm string) bool {
	return slices.ContainsFunc([]string{"jbd2/", "kworker/", "xfsaild/", "kswapd", "khugepaged", "btrfs-", "flush-", "txg_", "md", "dm_", "loop", "nfsd"}, func(prefix string) bool {
		return strings.HasPrefix(comm, prefix)
	})
}

// selected says whether somebody chose the rows of a listing: all are in state D, or it is of one row.
func (x *systemText) selected(row processRow) bool {
	n := 0
	for _, r := range x.rows {
		if r.text == row.text && r.table == row.table {
			if n++; !r.blocked() && !strings.HasPrefix(r.state, "Z") {
				return false
			}
		}
	}
	return n > 0
}
