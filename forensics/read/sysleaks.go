package read

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A leakReader finds searches of all mount tables for one mount: "grep -l NAME /proc/*/mountinfo" names the processes in whose namespace it is,
// and "grep NAME /proc/mounts" shows that the host lacks it.
type leakReader struct {
	to   *systemText
	name string
	// everywhere was searched for in all tables by the command above, onHost in the table of the host.
	everywhere, onHost string
	// of is what was searched for in the table of process.
	of      string
	process int
}

// A tableSearch is what was searched for, the first process that has it, and what shows that the host has it or not.
type tableSearch struct {
	name       string
	pid        int
	lacks, has bool
	everywhere bool   // all tables were searched
	whole      bool   // and all that have it were printed, so also that of the first process
	device     string // of the mount, where a row shows it
}

var (
	allTables = pattern.New(`\bgrep\s+(?:-\w+\s+)*["']?([\w.:~/-]{4,}) ?["']?\s+/proc/[*\[][^\s/]*/(?:task/\*/)?mount(?:s|info)\b`)
	tableOf   = pattern.New(`^/proc/(\d+|self|thread-self)/(?:task/\d+/)?mount(?:s|info)\b`)
	// ofOther is a search in the table of one process.
	ofOther = pattern.New(`\b(?:cat\s+/proc/(\d+)/mount(?:s|info)\s*\|\s*grep\s+(?:-\w+\s+)*["']?([\w.:~/-]{4,})["']?|grep\s+(?:-\w+\s+)*["']?([\w.:~/-]{4,})["']?\s+/proc/(\d+)/mount(?:s|info))\s*$`)
	// asRoot is a search by who can read all tables.
	asRoot = pattern.New(`(?:#|\bsudo)\s+grep\b`)
	// leftOut is what somebody puts in place of lines.
	leftOut = pattern.New(`^[\[(<]?(?:\.\.+|…|snip\b|cut\b)`)
	// writable is in each row of a table, and tells it from the next command.
	writable  = pattern.New(`\b(?:rw|ro)\b`)
	hostTable = pattern.New(`(?:\bgrep\s+(?:-[cFEi]+\s+)*["']?([\w.:~/-]{3,})["']?\s+/proc/(?:self/|1/|\$\$/)?mount(?:s|info)|\b(?:mount|findmnt)\b[^|]*\|\s*grep\s+(?:-[cFEi]+\s+)*["']?([\w.:~/-]{4,})["']?|\bfindmnt\s+(?:-\w+\s+)*(/[^\s|]+))\s*$`)
	// emptyTable is what somebody notes behind a command that has printed nothing.
	emptyTable = pattern.New(`\s+(?:-+>|=>|→|#)\s*\(?(?:nothing|empty|none|no output|rien|vide|nichts|leer|nada|vac[ií]o|niente|пусто|ничего|无|空|なし)\)?\s*$`)
)

func (r *leakReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	if m := noMount.FindStringSubmatch(text); m != nil { // which internal/kubectl has made of such a search
		r.to.search(m[1]).lacks = true
		return
	}
	if mountinfo.MatchString(text) {
		r.row(text)
	}
	if r.process > 1 && strings.Contains(text, r.of) && writable.MatchString(text) {
		if at := r.to.search(r.of); at.pid == 0 {
			at.pid = r.process
			r.to.saw(forensics.SourceHolders, r.name)
		}
	}
	r.of, r.process = "", 0
	if m := ofOther.FindStringSubmatch(text); m != nil && atoi(m[1]+m[4]) > 1 {
		r.of, r.process = m[2]+m[3], atoi(m[1]+m[4])
		return
	}
	if r.onHost != "" {
		at := r.to.search(r.onHost)
		at.lacks = prompt.MatchString(text) || atoi(text) == 0 && (!strings.Contains(text, r.onHost) || !writable.MatchString(text))
		at.has = at.has || !at.lacks
		r.onHost = ""
	}
	if m := tableOf.FindStringSubmatch(text); m != nil && r.everywhere != "" {
		at := r.to.search(r.everywhere)
		if pid := atoi(m[1]); pid < 2 {
			at.has = true
		} else if at.pid == 0 {
			at.pid = pid
			r.to.saw(forensics.SourceHolders, r.name)
		}
		return
	}
	if r.everywhere != "" && strings.HasPrefix(text, "grep: /proc/") { // a process that has ended, or a namespace that is gone
		return
	}
	if r.everywhere != "" && leftOut.MatchString(text) {
		r.to.search(r.everywhere).whole = false
	}
	r.everywhere = ""
	command := text
	if at := emptyTable.FindStringIndex(text); at != nil {
		command = text[:at[0]]
	}
	if m := allTables.FindStringSubmatch(text); m != nil {
		r.everywhere = m[1]
		at := r.to.search(m[1])
		at.everywhere, at.whole = true, asRoot.MatchString(text) && !strings.Contains(text, "|")
	} else if m := hostTable.FindStringSubmatch(command); m != nil {
		r.onHost = m[1] + m[2] + m[3]
		r.to.search(r.onHost).lacks = true // if nothing follows
		if command != text {
			r.onHost = ""
		}
	}
}

// row notes the device of a mount that was searched for.
func (r *leakReader) row(text string) {
	_, from, _ := strings.Cut(text, " - ")
	for i := range r.to.searches {
		if words := strings.Fields(from); strings.Contains(text, r.to.searches[i].name) && len(words) > 1 {
			r.to.searches[i].device = words[1]
		}
	}
}

func (x *systemText) search(name string) *tableSearch {
	name = strings.TrimPrefix(name, "/dev/")
	i := slices.IndexFunc(x.searches, func(s tableSearch) bool { return s.name == name })
	if i < 0 {
		i = len(x.searches)
		x.searches = append(x.searches, tableSearch{name: name})
	}
	return &x.searches[i]
}

// nowhere says whether all tables were searched, and none has it.
func (s tableSearch) nowhere() bool { return s.everywhere && s.pid == 0 && !s.has }

// addLeaks adds the mounts that other mount namespaces have, and the host lacks. Those have a device whose disk some command has found busy.
func (x *systemText) addLeaks(e *forensics.Evidence) {
	for _, s := range x.searches {
		if !s.lacks && !s.whole || s.has || s.pid == 0 {
			continue
		}
		if e.MountUse == nil {
			e.MountUse = &forensics.MountUse{}
		}
		e.MountUse.Found = append(e.MountUse.Found, holders.Holder{PID: s.pid, Path: s.name, Device: firstOf(x.lazy.busyDisk(s.name), firstOf(x.lazy.busyDisk(s.device), x.lazy.busyDir(s.name)))})
		if row := x.arguments(s.pid); row.pid != 0 {
			e.Processes = append(e.Processes, procs.Process{PID: s.pid, Comm: row.comm(), State: "S", Command: row.args, UID: -1})
			x.saw(forensics.SourceProcesses, x.seen[forensics.SourceHolders])
		}
	}
}
