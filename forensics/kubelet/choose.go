package kubelet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/sorting"
)

// A process is a candidate that is one, with its program.
type process struct {
	Candidate
	program string
}

// choose picks the kubelet that is meant when somebody says "the kubelet of this node", nil if none runs, and the pids
// of the other ones, zombies included.
//
// The kubelet of the node comes before those in containers and in other mount namespaces (kind), and among equals the
// one that was started last: an older one is what a restart could not kill.
func choose(candidates []Candidate, hostMountNS uint64) (chosen *process, others []int) {
	running, zombies := sortOut(candidates)
	sorting.Stable(running, func(a, b process) int {
		return cmp.Or(
			compareBool(a.supervises(), b.supervises()),
			compareBool(a.elsewhere(hostMountNS), b.elsewhere(hostMountNS)),
			compareBool(a.Container, b.Container),
			b.Started.Compare(a.Started),
			cmp.Compare(b.PID, a.PID),
		)
	})
	for i, p := range running {
		if i > 0 && !p.supervises() {
			others = append(others, p.PID)
		}
	}
	others = append(others, zombies...)
	slices.Sort(others)
	if len(running) == 0 {
		return nil, others
	}
	return &running[0], others
}

// sortOut keeps the kubelets among the candidates. A child that has been forked and has not yet become another program
// still shows its parent's command line; where the program is on a dead mount it does so for ever.
func sortOut(candidates []Candidate) (running []process, zombies []int) {
	byPID := map[int]process{}
	for _, c := range candidates {
		if program, ok := IsCandidate(c.Comm, c.Args); ok {
			byPID[c.PID] = process{c, program}
		}
	}
	for _, p := range byPID {
		parent, isChild := byPID[p.PPID]
		switch {
		case isChild && len(p.Args) > 0 && slices.Equal(p.Args, parent.Args):
		case p.dead():
			zombies = append(zombies, p.PID)
		default:
			if p.program == programKubelet {
				p.program = distribution(p, parent.program)
			}
			running = append(running, p)
		}
	}
	return running, zombies
}

// distribution names who started a kubelet that is a process of its own.
func distribution(p process, parent string) string {
	switch {
	case parent == programRKE2 || strings.Contains(p.Executable, "/rancher/rke2/"):
		return programRKE2
	case parent == programK0s || strings.Contains(p.Executable, "/k0s/"):
		return programK0s
	}
	return programKubelet
}

// supervises reports whether the process is rke2 or k0s itself, whose kubelet is a child process.
func (p process) supervises() bool {
	program := programOf(p.Comm, splitTitle(p.Args))
	return program == programRKE2 || program == programK0s
}

func (p process) elsewhere(hostMountNS uint64) bool {
	return hostMountNS != 0 && p.MountNS != 0 && p.MountNS != hostMountNS
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
