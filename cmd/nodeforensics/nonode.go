package main

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// noNodeNote is for a machine that is no node.
const noNodeNote = `No kubelet runs here, and nothing says that one should.
  To judge files that were saved on a node:  nodeforensics analyze FILE…
  To examine the mounted disk of a node:     nodeforensics --root DIR
`

// isNoNode says whether this machine has no kubelet and nothing of one: no process, no unit, no directory with pods. It is not known
// where processes could not be read.
func isNoNode(e *forensics.Evidence) bool {
	if k := e.Kubelet; k != nil && (k.PID != 0 || k.Expected != "" || len(k.Impostors) > 0) {
		return false
	}
	processes, kubelet := false, e.Kubelet != nil
	for _, s := range e.Coverage {
		switch s.Source {
		case forensics.SourceProcesses:
			processes = s.Status == forensics.SourceRead
			if !processes {
				return false
			}
		case forensics.SourceKubelet:
			kubelet = kubelet || s.Status == forensics.SourceAbsent
		}
	}
	hasPods := len(e.PodDirs) > 0 || slices.ContainsFunc(e.Processes, func(p procs.Process) bool { return p.PodUID != "" })
	return processes && kubelet && !hasPods
}
