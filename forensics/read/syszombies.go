package read

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// zombies are what texts say of processes in state Z.
type zombies struct {
	total int             // by the last count of all
	of    map[int]int     // by parent, where that was counted
	rows  []procs.Process // that are listed with their parent
	seen  map[int]bool    // their pids
	names []processRow    // processes that are listed without a state
	old   map[int]bool    // parents of zombies that were started on another day
}

// take adds what another text has; the counts of the last one hold.
func (z *zombies) take(y zombies) {
	if y.total > 0 {
		z.total = y.total
	}
	if len(y.of) > 0 {
		z.of = y.of
	}
	for _, p := range y.rows {
		z.add(p)
	}
	z.names = append(z.names, y.names...)
	for parent := range y.old {
		z.isOld(parent)
	}
}

// isOld notes that a zombie of a parent was started on another day.
func (z *zombies) isOld(parent int) {
	if z.old == nil {
		z.old = map[int]bool{}
	}
	z.old[parent] = true
}

const (
	// manyZombies are as many as a check reports, and fewListed how many a listing shows at least that tells whose the others are.
	manyZombies, fewListed = 100, 3
	// alikeZombies are enough of one program in a listing of which nobody has said how many there are: it is most often filtered and cut.
	alikeZombies = 8
	// tooManyZombies are as many as it reports of all parents together.
	tooManyZombies = 1000
)

// A zombieReader reads how many zombies there are, by the head of top(1) or by what uniq(1) or awk(1) has counted of ps(1), and how many
// each parent has.
type zombieReader struct {
	to      *systemText
	name    string
	columns []string // of what "uniq -c" counts
	all     bool     // they are zombies, as the command has selected
	last    bool     // the count stands behind the column
	number  bool     // a number follows: that of all zombies
	parent  int      // or that of the children of one
	rows    int      // since the command
	second  bool     // another command stands before it on the line
	picked  []string // the processes whose parents a command prints
	above   []branch // the processes of a tree that a row may be below
}

// A branch is a row of the tree that "ps f" draws, and how far it is from the left.
type branch struct {
	pid, depth int
	command    string
}

var (
	topZombies = pattern.New(`^(?:Tasks|Threads): .*\b(\d+) zombie`)
	// selectsZ is how a command selects zombies: by the column STAT, or by what ps writes behind their names.
	selectsZ = pattern.New(`\[?d\]?efunct|\^\s*\[?Z|["']Z|/Z\+?/|\[z?Zz?\]|-\w*w\w*\s+Z\b`)
	inverted = pattern.New(`^\s*grep\s+(?:-\w+\s+)*-\w*v|!~`)
	awkPrint = pattern.New(`\bprint\b([^}]*)`)
	awkField = pattern.New(`\$(\d)`)
	// awkCount is how awk(1) counts by a column, and awkTotals how it prints that: the number first, or the column.
	awkCount  = pattern.New(`\w\[(\$\d(?:(?:\s*"[^"]*"\s*|\s*,\s*|\s+)\$\d)*)\](?:\+\+|\s*\+=\s*1)`)
	awkTotals = pattern.New(`\bprint\s*\(?\s*(?:\w+\[\w+\]|(\w+)[,\s"\\t:]+\w+\[\w+\])`)
	countOnly = pattern.New(`^\d{1,7}$`)
	// resultBeside is what somebody has written behind a command: "ps -ef | grep defunct | wc -l  -> 17409".
	resultBeside = pattern.New(`^(.*?\b(?:wc -l|grep -\w*c\w*\b.*?))\s*(?:->|=>|==>|→|⇒|[:=#]|says|gives|shows|prints)\s*(\d{1,7})(?: processes)?(?:\.(?: .*)?)?$`)
	ofParent     = pattern.New(`\s--ppid[ =](\d+)`)
	parentsOf    = pattern.New(`\bps\s+-o\s*ppid=?\s+(?:-p\s*|--pid[ =])?(\d+(?:[ ,]+\d+)*)$`)
	onlyState    = pattern.New(`\s-?\w*o[ =]?(?:stat|state|s)=?\s*$`)
	// zombieRow is one of "ps -ef": UID PID PPID C STIME TTY TIME CMD.
	zombieRow = pattern.New(`^\S+\s+(\d+)\s+(\d+)\s+\d+\s+(\S+)\s+\S+\s+[\d:-]+\s+(?:[ |]*\\_ )?\[(.*)\] \\?<defunct>$`)
	// shimRow is such a row of the shim of a container.
	shimRow = pattern.New(`^\S+\s+(\d+)\s+\d+\s+\d+\s+\S+\s+\S+\s+[\d:-]+\s+((?:\S*/)?(?:containerd-shim|docker-containerd-shim|conmon)\b.*)$`)
	// treeRow is one of "ps fax" or "ps auxf": [USER] PID [%CPU %MEM VSZ RSS] TTY STAT [START] TIME COMMAND.
	treeRow = pattern.New(`^\s*(?:[\w+.-]+\s+)?(\d+)\s+(?:[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+)?(?:\?|\w+/?\d*)\s+([DIRSTXZt][<NLsl+W]*)\s+(?:[\w:]+\s+)?\d+:\d\d ([ |]*\\_ )?(\S.*)$`)
)

func (r *zombieReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	if r.tree(s) {
		return
	}
	if m := topZombies.FindStringSubmatch(text); m != nil {
		r.count(atoi(m[1]))
		return
	}
	if strings.Contains(text, "ps ") && strings.Contains(text, "|") {
		if m := resultBeside.FindStringSubmatch(text); m != nil {
			r.command(m[1])
			r.rest(m[2])
			return
		}
		r.command(text)
		return
	}
	if m := parentsOf.FindStringSubmatch(text); m != nil {
		r.picked, r.number, r.columns = strings.FieldsFunc(m[1], func(c rune) bool { return c == ' ' || c == ',' }), false, nil
		return
	}
	if len(r.picked) > 0 && text != "PPID" {
		r.parentOf(text)
		return
	}
	if m := shimRow.FindStringSubmatch(text); m != nil && len(r.to.zombies.names) < mostSaved {
		r.to.zombies.names = append(r.to.zombies.names, processRow{pid: atoi(m[1]), args: strings.Fields(m[2])})
		return
	}
	if m := zombieRow.FindStringSubmatch(text); m != nil {
		r.to.zombies.add(procs.Process{PID: atoi(m[1]), PPID: atoi(m[2]), Comm: m[4]})
		if onADay.MatchString(m[3]) {
			r.to.zombies.isOld(atoi(m[2]))
		}
		r.to.saw(forensics.SourceProcesses, r.name)
		return
	}
	r.rest(text)
}

// parentOf takes the parent of the next process that a command named, if a listing above has it as a zombie.
func (r *zombieReader) parentOf(text string) {
	pid := atoi(r.picked[0])
	if r.picked = r.picked[1:]; !countOnly.MatchString(text) {
		r.picked = nil
		return
	}
	if row := r.to.arguments(pid); strings.HasPrefix(row.state, "Z") {
		r.to.zombies.add(procs.Process{PID: pid, PPID: atoi(text)})
		r.to.saw(forensics.SourceProcesses, r.name)
	}
}

// tree takes a row of a tree of processes, where the parent of a zombie is above it.
func (r *zombieReader) tree(s string) bool {
	m := treeRow.FindStringSubmatch(s)
	if m == nil {
		r.above = nil
		return false
	}
	r.number, r.columns = false, nil
	row := branch{atoi(m[1]), len(m[3]), m[4]}
	for n := len(r.above); n > 0 && r.above[n-1].depth >= row.depth; n-- {
		r.above = r.above[:n-1]
	}
	if n := len(r.above); n > 0 && m[2][0] == 'Z' && m[3] != "" {
		parent, z := r.above[n-1], &r.to.zombies
		if len(z.names) < mostSaved && !z.seen[row.pid] {
			z.names = append(z.names, processRow{pid: parent.pid, args: strings.Fields(parent.command)})
		}
		z.add(procs.Process{PID: row.pid, PPID: parent.pid, Comm: strings.Trim(row.command, "[]")})
		r.to.saw(forensics.SourceProcesses, r.name)
	}
	r.above = append(r.above, row)
	return true
}

// rest takes a line that a command has printed.
func (r *zombieReader) rest(text string) {
	switch r.rows++; {
	case r.number:
		if r.number = false; !countOnly.MatchString(text) {
			return
		}
		if r.parent == 0 {
			r.count(atoi(text))
			return
		}
		if z := &r.to.zombies; len(z.of) < mostSaved {
			if z.of == nil {
				z.of = map[int]int{}
			}
			z.of[r.parent] = atoi(text)
			r.to.saw(forensics.SourceProcesses, r.name)
		}
	case r.columns != nil && !r.counted(strings.Fields(text)) && (r.rows > 1 || !r.second):
		r.columns = nil
	}
}

// count notes the number of all zombies. Where they are few, what was seen before is over.
func (r *zombieReader) count(n int) {
	if r.to.zombies.total = n; n < manyZombies {
		r.to.zombies.of, r.to.zombies.rows, r.to.zombies.seen = nil, nil, nil
	}
	r.to.saw(forensics.SourceProcesses, r.name)
}

// command learns from a command line what is printed below it.
func (r *zombieReader) command(text string) {
	stages := strings.Split(strings.TrimRight(text, " ;`"), "|")
	last := strings.TrimSpace(stages[len(stages)-1])
	r.columns, r.rows, r.last, r.second = nil, 0, false, strings.Contains(stages[0], ";")
	r.all = slices.ContainsFunc(stages[1:], func(s string) bool { return selectsZ.MatchString(s) && !inverted.MatchString(s) })
	r.all = r.all || onlyState.MatchString(stages[0]) && strings.Contains(last, "Z")
	r.number = r.all && (strings.HasPrefix(last, "grep -c") || strings.HasPrefix(last, "wc -l"))
	r.parent = 0
	if m := ofParent.FindStringSubmatch(stages[0]); m != nil {
		r.parent = atoi(m[1])
	}
	m := psCommand.FindStringSubmatch(stages[0])
	if m == nil {
		if onlyState.MatchString(stages[0]) && strings.Contains(text, "uniq -c") {
			r.columns = []string{"STAT"}
		}
		return
	}
	columns := strings.Split(strings.ToUpper(m[1]), ",")
	for i := range columns {
		columns[i] = strings.TrimRight(columns[i], ":=0123456789")
	}
	by, printed := awkCount.FindStringSubmatch(text), awkTotals.FindStringSubmatch(text)
	if by != nil && printed != nil {
		r.columns, r.last = chosen(columns, by[1]), printed[1] != ""
		return
	}
	if !strings.Contains(text, "uniq -c") {
		return
	}
	for _, s := range stages[1:] {
		p := awkPrint.FindStringSubmatch(s)
		if p == nil {
			continue
		}
		columns = chosen(columns, p[1])
	}
	r.columns = columns
}

// chosen are the columns that a program of awk(1) names by their numbers.
func chosen(columns []string, program string) (list []string) {
	for _, f := range awkField.FindAllStringSubmatch(program, -1) {
		if n := atoi(f[1]); n >= 1 && n <= len(columns) {
			list = append(list, columns[n-1])
		}
	}
	return list
}

// counted reads a row of "uniq -c": a number, and the columns.
func (r *zombieReader) counted(words []string) bool {
	if n := len(words); r.last && n > 1 {
		words = append([]string{words[n-1]}, words[:n-1]...)
	}
	if len(words) < 2 || len(words) <= min(len(r.columns), 2) || !countOnly.MatchString(words[0]) {
		return false
	}
	n, parent, dead := atoi(words[0]), 0, r.all
	for i, c := range r.columns[:min(len(r.columns), len(words)-1)] {
		switch word := words[i+1]; {
		case isState(c) && !psState.MatchString(word), c == "PPID" && !countOnly.MatchString(word):
			return false
		case isState(c):
			dead = word[0] == 'Z'
		case c == "PPID":
			parent = atoi(word)
		}
	}
	z := &r.to.zombies
	switch {
	case !dead:
	case !slices.Contains(r.columns, "PPID"):
		if slices.ContainsFunc(r.columns, isState) {
			r.count(n)
		}
	case len(z.of) < mostSaved:
		if z.of == nil || r.rows == 1 {
			z.of = map[int]int{}
		}
		z.of[parent] += n
		r.to.saw(forensics.SourceProcesses, r.name)
	}
	return true
}

// add notes one that is listed.
func (z *zombies) add(p procs.Process) {
	if z.seen == nil {
		z.seen = map[int]bool{}
	}
	if len(z.rows) < 10*mostSaved && !z.seen[p.PID] {
		z.seen[p.PID] = true
		z.rows = append(z.rows, p)
	}
}

// parent is that of all zombies that are listed; 0 where they have several, or are too few to tell.
func (z *zombies) parent() int {
	if len(z.rows) < fewListed || slices.ContainsFunc(z.rows, func(p procs.Process) bool { return p.PPID != z.rows[0].PPID }) {
		return 0
	}
	return z.rows[0].PPID
}

// alike is how many zombies of one program are listed that have a parent; 0 where they are of several.
func (z *zombies) alike(parent int) (n int) {
	name := ""
	for _, p := range z.rows {
		switch {
		case p.PPID != parent:
		case p.Comm == "" || name != "" && p.Comm != name:
			return 0
		default:
			name = p.Comm
			n++
		}
	}
	return n
}

// addZombies adds the zombies where a parent has many, and the parent. Those that were only counted have no pids.
func (x *systemText) addZombies(e *forensics.Evidence) {
	z, list := x.zombies, []procs.Process{}
	if len(e.Processes) > 0 {
		return
	}
	of := z.of
	if parent := z.parent(); len(of) == 0 && parent != 0 {
		of = map[int]int{parent: max(z.total, len(z.rows))}
	} else if len(of) == 0 {
		of = map[int]int{}
		for _, p := range z.rows {
			of[p.PPID]++
		}
	}
	var parents []int
	for parent, n := range of {
		if n >= manyZombies || z.total == 0 && parent > 1 && (n >= alikeZombies && z.alike(parent) >= alikeZombies || z.old[parent] && cri.IsShim(x.arguments(parent).comm())) {
			parents = append(parents, parent)
		}
	}
	if len(parents) == 0 && z.total >= tooManyZombies {
		parents, of = []int{0}, map[int]int{0: z.total}
	}
	slices.Sort(parents)
	for _, parent := range parents {
		list = append(list, procs.Process{PID: -len(list) - 1, PPID: parent, State: "Z", UID: -1, Command: []string{}, Alike: of[parent] - 1})
		row := x.arguments(parent)
		if row.pid > 0 {
			list = append(list, procs.Process{PID: parent, Comm: row.comm(), State: strings.TrimRight(row.state, "<NLsl+W"), UID: -1, Command: row.args})
		}
	}
	e.Processes = append(e.Processes, list...)
}
