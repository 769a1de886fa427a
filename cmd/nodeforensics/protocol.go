package main

import (
	"iter"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
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
	Options collect.Options `json:"options"`
	Timeout time.Duration   `json:"timeout"`
	// Holders are what to look for holders of, and nothing else; empty is a whole examination.
	Holders [][]byte `json:"holders,omitempty"`
}

// frame is one line of JSON from the child. The parent waits for Done, never for the end of the pipe or of the child:
// a thread that is stuck in the kernel keeps both.
type frame struct {
	Part     *forensics.Evidence `json:"part,omitempty"`
	Rest     *rest               `json:"rest,omitempty"`
	Progress string              `json:"progress,omitempty"`
	Done     bool                `json:"done,omitempty"`
	Error    string              `json:"error,omitempty"`
}

// rest is more of the last part: pod directories, or goroutines of a dump. What is large comes in pieces, so that neither
// process holds its JSON.
type rest struct {
	PodDirs []kubelet.PodDir `json:",omitempty"`

	// Dump is its index among the dumps of the part, of which there are Of.
	Dump, Of   int
	Goroutines []goroutines.Goroutine
	// Last says that these are the last, and Truncated what the dump then says of itself.
	Last, Truncated bool
}

// How many goroutines of a dump, pods and pod directories stand in one frame.
const (
	goroutinesAtOnce = 256
	podsAtOnce       = 1024
)

// frames are what hands over a part: itself with the beginning of its lists, then the rest of them. A dump whose rest does
// not arrive says that it is cut. What is said of pods, their coverage, comes with the last of them.
func frames(part forensics.Evidence) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for len(part.Pods) > podsAtOnce { // pods are added to those that came before
			if !yield(frame{Part: &forensics.Evidence{Pods: part.Pods[:podsAtOnce]}}) {
				return
			}
			part.Pods = part.Pods[podsAtOnce:]
		}
		dirs := part.PodDirs
		part.PodDirs = dirs[:min(len(dirs), podsAtOnce):min(len(dirs), podsAtOnce)]
		whole := part.Dumps
		part.Dumps = slices.Clone(whole)
		for i := range whole {
			if len(whole[i].Goroutines) > goroutinesAtOnce {
				part.Dumps[i].Goroutines, part.Dumps[i].Truncated = whole[i].Goroutines[:goroutinesAtOnce], true
			}
		}
		if !yield(frame{Part: &part}) {
			return
		}
		for from := podsAtOnce; from < len(dirs); from += podsAtOnce {
			if !yield(frame{Rest: &rest{PodDirs: dirs[from:min(from+podsAtOnce, len(dirs))]}}) {
				return
			}
		}
		for i, d := range whole {
			for from := goroutinesAtOnce; from < len(d.Goroutines); from += goroutinesAtOnce {
				to := min(from+goroutinesAtOnce, len(d.Goroutines))
				more := rest{nil, i, len(whole), d.Goroutines[from:to], to == len(d.Goroutines), d.Truncated}
				if !yield(frame{Rest: &more}) {
					return
				}
			}
		}
	}
}

// addTo adds the rest to what was merged before it.
func (r *rest) addTo(e *forensics.Evidence) {
	e.PodDirs = append(e.PodDirs, r.PodDirs...)
	at := len(e.Dumps) - r.Of + r.Dump
	if r.Dump < 0 || r.Dump >= r.Of || at < 0 {
		return
	}
	d := &e.Dumps[at]
	d.Goroutines = append(d.Goroutines, r.Goroutines...)
	if r.Last {
		d.Truncated = r.Truncated
	}
}

// A stringPool makes equal strings one: a dump has few functions and many frames.
type stringPool map[string]string

func (p stringPool) share(goroutines []goroutines.Goroutine) {
	for i := range goroutines {
		g := &goroutines[i]
		p.one(&g.State)
		for j := range g.Frames {
			p.one(&g.Frames[j].Func)
			p.one(&g.Frames[j].File)
		}
		if g.CreatedBy != nil {
			p.one(&g.CreatedBy.Func)
			p.one(&g.CreatedBy.File)
		}
	}
}

// share shares the strings of goroutines and pods in a frame.
func (f frame) share(p stringPool) {
	if f.Rest != nil {
		p.share(f.Rest.Goroutines)
	}
	if f.Part != nil {
		for i := range f.Part.Dumps {
			p.share(f.Part.Dumps[i].Goroutines)
		}
		for i := range f.Part.Pods {
			pod := &f.Part.Pods[i]
			for _, s := range []*string{&pod.Namespace, &pod.Source, &pod.Phase, &pod.Kind, &pod.OwnerKind} {
				p.one(s)
			}
		}
	}
}

func (p stringPool) one(s *string) {
	if known, ok := p[*s]; ok {
		*s = known
		return
	}
	p[*s] = *s
}

// What the Go runtime means when it ends a program.
const (
	tooFewProcesses   = "not enough free processes and threads (ulimit -u, pids.max of the cgroup, kernel.pid_max)"
	tooFewDescriptors = "not enough free file descriptors (ulimit -n)"
)
