package kubelet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A choice is what [Choose] makes of the candidates.
type choice struct {
	// Kubelet is the kubelet of this node, nil if none runs. Program is the
	// one that it is of, see [Instance.Program].
	Kubelet *Candidate
	Program string
	// Others are the pids of the other ones, zombies included.
	Others    []int
	Impostors []Impostor
}

// A process is a candidate that is one, with its program.
type process struct {
	Candidate
	program string
}

// Choose picks the kubelet of the node, never an impostor.
//
// A proven candidate comes before an undetermined one, and the kubelet of the node before those in containers and in other mount namespaces
// (kind). Among equals the one that was started last comes first: an older one is a process that a restart could not kill. hostMountNS is
// the inode of the host's mount namespace, 0 if unknown.
func Choose(candidates []Candidate, hostMountNS uint64) choice {
	believed, impostors := believe(candidates, hostMountNS)
	running, zombies := sortOut(believed)
	sorting.Stable(running, func(a, b process) int {
		return cmp.Or(
			compareBool(a.Undetermined, b.Undetermined),
			compareBool(a.supervises(), b.supervises()),
			compareBool(a.InOtherMountNS(hostMountNS), b.InOtherMountNS(hostMountNS)),
			compareBool(a.Container, b.Container),
			b.Started.Compare(a.Started),
			cmp.Compare(b.PID, a.PID),
		)
	})
	c := choice{Impostors: impostors}
	for i, p := range running {
		if i > 0 && !p.supervises() {
			c.Others = append(c.Others, p.PID)
		}
	}
	c.Others = append(c.Others, zombies...)
	slices.Sort(c.Others)
	if len(running) > 0 {
		c.Kubelet, c.Program = &running[0].Candidate, running[0].program
	}
	return c
}

// believe separates the candidates that may be kubelets from those that only call themselves so. An undetermined candidate in another mount
// namespace than the host's counts as an impostor: its paths would refer to its own files.
func believe(candidates []Candidate, hostMountNS uint64) (believed []Candidate, impostors []Impostor) {
	for _, c := range candidates {
		if _, ok := IsCandidate(c.Comm, c.Args); !ok {
			continue
		}
		if c.Doubt != "" && (!c.Undetermined || c.InOtherMountNS(hostMountNS)) {
			impostors = append(impostors, Impostor{c.PID, c.Doubt})
		} else {
			believed = append(believed, c)
		}
	}
	sorting.Stable(impostors, func(a, b Impostor) int { return cmp.Compare(a.PID, b.PID) })
	return believed, impostors
}

// sortOut keeps the kubelets among the candidates. A child that has been forked and has not yet become another program
// still shows its parent's command line; where the program is on a dead mount it does so for ever.
func sortOut(candidates []Candidate) (running []process, zombies []int) {
	byPID := map[int]process{}
	for _, c := range candidates {
		program, _ := IsCandidate(c.Comm, c.Args)
		byPID[c.PID] = process{c, program}
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
