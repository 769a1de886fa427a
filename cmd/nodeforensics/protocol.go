package main

import (
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// The first arguments that make this program one of its own children.
const (
	childArg  = "__collect"
	writerArg = "__write"
	readerArg = "__read"
)

// order is what the parent tells the collecting child on its standard input: one line of JSON. The pipe stays open;
// its end means that the child is to stop with what it has.
type order struct {
	Options forensics.Options `json:"options"`
	Timeout time.Duration     `json:"timeout"`
	// Holders are what to look for holders of, and nothing else; empty is a whole examination.
	Holders [][]byte `json:"holders,omitempty"`
}

// frame is one line of JSON from the child. The parent waits for Done, never for the end of the pipe or of the child:
// a thread that is stuck in the kernel keeps both.
type frame struct {
	Part     *forensics.Evidence `json:"part,omitempty"`
	Progress string              `json:"progress,omitempty"`
	Done     bool                `json:"done,omitempty"`
	Error    string              `json:"error,omitempty"`
}

// What the Go runtime means when it ends a program.
const (
	tooFewProcesses   = "there are too few free processes and threads (ulimit -u, pids.max of its cgroup, kernel.pid_max)"
	tooFewDescriptors = "there are too few free descriptors (ulimit -n)"
)
