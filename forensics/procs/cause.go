package procs

import (
	"strings"
	"sync"
)

// A cause is what a function in a kernel stack means: the fields of a Wait that do not depend on the thread.
type cause struct {
	Kind    WaitKind
	FS      string
	Kill    string
	Meaning string
	io      bool // it waits for a page or block: the frames further out tell whose
}

// Values of Wait.Kill.
const (
	killable   = "yes"
	unkillable = "no"
)

// wait makes the Wait of a cause. A file system that the cause names itself has precedence.
func (c *cause) wait(function, fs string) Wait {
	if c.FS != "" {
		fs = c.FS
	}
	return Wait{Kind: c.Kind, FS: fs, Function: function, Kill: c.Kill, Meaning: c.Meaning}
}

// A family are functions that mean the same.
type family struct {
	cause *cause
	names string // separated by white space
}

// anyFrames are the functions that decide wherever in the stack they are, unless one further in does.
var anyFrames = sync.OnceValue(func() map[string]*cause { return index(families) })

// topFrames are the functions that decide only where a thread sleeps in them directly: they do many things, but the
// only thing that they themselves wait for is one lock.
var topFrames = sync.OnceValue(func() map[string]*cause { return index(topFamilies) })

func index(families []family) map[string]*cause {
	causes := map[string]*cause{}
	for _, f := range families {
		for name := range strings.FieldsSeq(f.names) {
			causes[name] = f.cause
		}
	}
	return causes
}

// prefixCause recognises the functions of a file system by their prefix, if they are not among the families.
func prefixCause(name string) *cause {
	for i := range prefixes {
		p := &prefixes[i]
		for prefix := range strings.FieldsSeq(p.names) {
			if strings.HasPrefix(name, prefix) {
				return p.cause
			}
		}
	}
	return nil
}

const serverIO = "The file's data cannot be read or written because the server has not answered."

// The causes that the classification itself names, and those of more than one family.
var (
	blockIO = cause{WaitBlock, "", unkillable, "A disk has not answered: a page or block is being read or written.", false}
	pageIO  = cause{WaitBlock, "", "", "A page or block is being read or written; the I/O has not finished.", true}
	fsLock  = cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked a file, directory or superblock, and waits itself.", false,
	}
	frozenFS = cause{
		WaitFrozen, "", unkillable,
		"The file system is frozen (fsfreeze, a snapshot being taken): writes wait until it is thawed.", false,
	}
	vforked = cause{WaitExit, "", killable, "The process started a child with vfork. The child has not yet called exec or ended.", false}
	// SIGKILL ends the writing of a dump (fs/coredump.c, dump_interrupted), unless that waits for something itself.
	dumped     = cause{WaitExit, "", "", "A core dump is being written, and the other threads of the process wait for it.", false}
	cgroupLock = cause{
		WaitCgroup, "", "",
		"Another thread has locked the cgroup hierarchy: starting, ending and moving processes waits.", false,
	}
)
