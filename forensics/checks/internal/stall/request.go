package stall

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Request is a request that a program other than the kubelet serves (a container runtime, a CSI driver), and that is blocked.
type Request struct {
	Goroutine
	// Service and Method name it: see goroutines.Goroutine.Serves.
	Service, Method string
	// Program and PID are the server.
	Program string
	PID     int
	// Below is the thread of a child process or of runc that it waits for, and that waits for a file system. Nil if its own thread does,
	// or if it is not known.
	Below *procs.Thread
}

// Requests lists the blocked requests of services ("runtime.", "csi.Node"): those whose thread waits for a file system first, because others
// wait for a lock or an answer behind them, then the proven ones, then the longest.
func Requests(p *forensics.Pass, services ...string) []Request {
	all := forensics.Once(p, "blocked requests", func() []Request {
		var found []Request
		inferred := map[int]bool{} // one of those that wait for a child has it
		for s := range Others(p) {
			r, ok := blockedRequest(p, s)
			if !ok || r.Wait.Kind == WaitChild && !r.Proven && inferred[r.PID] {
				continue
			}
			inferred[r.PID] = inferred[r.PID] || r.Wait.Kind == WaitChild && !r.Proven
			found = append(found, r)
		}
		sorting.Stable(found, compareRequests)
		return found
	})
	var found []Request
	for _, r := range all {
		if slices.ContainsFunc(services, func(s string) bool { return strings.HasPrefix(r.Service, s) }) {
			found = append(found, r)
		}
	}
	return found
}

// stopLimit is longer than usual grace periods, in seconds.
const stopLimit = 15 * 60

func compareRequests(a, b Request) int {
	if a, b := a.Blocker() != nil, b.Blocker() != nil; a != b {
		if a {
			return -1
		}
		return 1
	}
	return Compare(a.Goroutine, b.Goroutine)
}

// blockedRequest judges one goroutine. A thread that waits in a file system proves it for every request. A wait for something else is
// usual for those that may take long (an image pull, an exec), and so is the wait for a child process that runs (mkfs, mount), up to childLimit.
func blockedRequest(p *forensics.Pass, s Stack) (Request, bool) {
	r := Request{Program: s.Of.Program, PID: s.Of.PID}
	w := WaitOf(s.Goroutine)
	if r.Service, r.Method = s.Goroutine.Serves(); r.Method == "" {
		switch {
		case w.Kind == waitShim && actsOnTask(w.Call):
			r.Service, r.Method = "tasks.Tasks", w.Call // of containerd itself, when a container has ended
		case w.Kind == WaitFile && r.Program == "containerd" && servesSome(s.Goroutine), w.Kind == WaitLock && r.Program == "containerd" && cutLong(s.Goroutine):
			r.Service, r.Method = "tasks.", "a request"
		case w.Kind == WaitFile && HasFrame(s.Goroutine, monitorOf02): // which then sees none
			r.Service, r.Method = "tasks.", "a container's event"
		default:
			return r, false
		}
	}
	switch {
	case w.Kind == waitNothing, r.Service == "task.Task" && !actsOnTask(r.Method):
		return r, false
	}
	switch w.Kind {
	case WaitFile:
		t, ok := Stalled(p, s)
		r.Goroutine = t
		if t.Thread == nil && s.Goroutine.Thread != 0 { // its thread was seen, and does not wait for a file system
			return r, false
		}
		return r, ok && t.Proven
	case WaitChild, waitShim:
		if w.Kind == waitShim && !actsOnTask(w.Call) {
			break
		}
		if t, why := threadBelow(p, w, r.PID); t != nil {
			r.Goroutine = Goroutine{Stack: s, Wait: w, WaitAtLeast: p.Model.Waited(*t), Why: why}
			r.Below, r.Proven = t, w.PID != 0
			return r, true
		}
	}
	t, ok := Stalled(p, s)
	if w.Kind == WaitChild && (r.Service != "csi.Node" || t.Seconds < commandLimit(s.Goroutine)) {
		return r, false
	}
	r.Goroutine = t
	// A stop ends after its grace period and a kill; what waits for another one's lock for longer waits for a container that does not end.
	behind := r.Wait.Kind == WaitLock && r.Method == "StopContainer" && t.Seconds >= stopLimit
	return r, ok && t.Proven && (!TakesLong(r.Method) || behind)
}

// servesSome says whether a gRPC server has started a goroutine, of which the frames that would tell the request were cut off, and those of
// the server with them.
func servesSome(g goroutines.Goroutine) bool {
	const server = "google.golang.org/grpc.(*Server)."
	return g.CreatedBy != nil && strings.HasPrefix(g.CreatedBy.Func, server+"serveStreams") &&
		!slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool { return strings.HasPrefix(f.Func, server) })
}

// cutLong says whether a goroutine, of which the outer frames were cut off, has waited for a lock for longer than any holder needs one.
func cutLong(g goroutines.Goroutine) bool {
	return g.ID > 1 && g.CreatedBy == nil && len(g.Frames) > 0 && 60*g.WaitMinutes >= stopLimit
}

// csiTimeout is when the kubelet gives a call of a CSI driver up, in seconds (pkg/volume/csi/csi_plugin.go). To replay the journal of a large
// file system may take a minute.
const csiTimeout = 2 * 60

// commandLimit is how long a command of a CSI driver takes at most, in seconds: those that mount, unmount and look at a disk are short, one that
// formats a disk is not, and a check of a large file system has no limit.
func commandLimit(g goroutines.Goroutine) float64 {
	limit := float64(stopLimit)
	for _, f := range g.Frames {
		s := splitSymbol(f.Func)
		if !strings.HasPrefix(s.pkg, "k8s.io/") || !strings.Contains(s.pkg, "mount") {
			continue
		}
		switch name := strings.ToLower(s.name); {
		case strings.Contains(name, "repair"), strings.Contains(name, "fsck"):
			return math.Inf(1)
		case name == "getdiskformat", name == "domount", strings.HasPrefix(name, "unmount"), strings.HasPrefix(name, "mount"):
			limit = csiTimeout
		}
	}
	return limit
}

// Blocker is the thread that waits in a file system for the request: its own, or that of a process which it waits for. Nil where none is
// known.
func (r *Request) Blocker() *procs.Thread {
	if r.Below != nil {
		return r.Below
	}
	if r.Wait.Kind == WaitFile {
		return r.Thread
	}
	return nil
}

// Causes are what leads to the mount: its goroutine, whose thread waits there, or the thread below it; or the process that it waits for.
func (r *Request) Causes() []forensics.Entity {
	switch {
	case r.Below != nil:
		return []forensics.Entity{forensics.ThreadEntity(*r.Below)}
	case r.Wait.Kind == WaitFile:
		return []forensics.Entity{r.Entity()}
	}
	if r.Wait.Kind == WaitChild && r.Wait.PID != 0 {
		return []forensics.Entity{{Kind: forensics.KindProcess, ID: strconv.Itoa(r.Wait.PID)}}
	}
	return nil
}

// Unanswered says for a headline which requests are not answered, for how long, and why: " has not answered CreateContainer for 12 min
// (blocked by CephFS 10.0.0.5:6789:/k8s)". The first is the worst.
func Unanswered(p *forensics.Pass, list []Request) string {
	s := " has not answered " + Methods(list) + list[0].HowLong()
	if by := list[0].by(p); by != "" {
		s += " (blocked" + by + ")"
	}
	return s
}

func (r *Request) by(p *forensics.Pass) string {
	switch {
	case r.Below != nil:
		return OnWhat(p, *r.Below)
	case r.Wait.Kind == waitShim:
		return " by its shim"
	case r.Wait.Kind == WaitLock:
		return " by the lock of " + LockOwner(r.Wait)
	case r.Wait.Kind == WaitFile && r.Thread == nil:
		return " in a file system call"
	}
	by, _, _ := strings.Cut(r.Goroutine.by(p), " (no answer")
	return by
}

// Says is the chain in a sentence: "goroutine 285 (serves CreateContainer) = thread 28394/28400 is in newfstatat(…), on CephFS …".
func (r *Request) Says(p *forensics.Pass) string {
	s := r.Sentence(p)
	if t := r.Below; t != nil {
		name := ""
		if process, ok := p.Model.Process(t.PID); ok {
			name = " (" + process.Comm + ")"
		}
		s += "; thread " + forensics.ThreadEntity(*t).ID + name + " " + ThreadCall(p, *t)
	}
	return findings.Capital(s) + "."
}

// Quotes are the goroutine and the threads.
func (r *Request) Quotes(p *forensics.Pass) []forensics.Ref {
	refs := r.refs(p)
	if r.Below != nil {
		refs = append(refs, ThreadRef(*r.Below))
	}
	return refs
}

// WaitingPods are the pods that wait for the request: the one whose directory its thread is in, whose container runc makes, or whose
// sandbox or container the path names; else, for CreateContainer, those whose container is not there yet. None where that is not known.
func (r *Request) WaitingPods(p *forensics.Pass) []string {
	t := r.Blocker()
	if t == nil {
		return nil
	}
	if uid, _ := forensics.PodOf(t.Path); uid != "" {
		return []string{uid}
	}
	if r.Below != nil && t.PID != r.PID {
		if process, ok := p.Model.Process(t.PID); ok && process.PodUID != "" && isOCIRuntime(process.Comm) {
			return []string{process.PodUID}
		}
	}
	if uid := podOfBundle(p.Evidence, t.Path); uid != "" {
		return []string{uid}
	}
	if m, ok := p.Model.Mount(t.MountID); ok {
		if uid, _ := forensics.PodOf(m.MountPoint); uid != "" {
			return []string{uid}
		}
	}
	if r.Method == createContainer {
		return podsWithoutContainer(p, r.PID)
	}
	return nil
}

const createContainer = "CreateContainer"

// podsWithoutContainer are the pods that wait for a runtime to create a container: they have a sandbox, and a directory of a container that
// the runtime does not have. The kubelet makes that directory right before it asks (kubelet_pods.go, GenerateRunContainerOptions).
// A pod whose container the runtime refuses again and again looks the same. So there must not be more of them than blocked calls.
func podsWithoutContainer(p *forensics.Pass, pid int) []string {
	if ok, _ := p.Evidence.Saw(forensics.SourceRuntime); !ok {
		return nil
	}
	calls := 0
	for _, r := range Requests(p, "runtime.") {
		if r.PID == pid && r.Method == createContainer {
			calls++
		}
	}
	made, boxed := map[string]bool{}, map[string]bool{}
	for _, c := range p.Evidence.Containers {
		made[c.PodUID+"/"+c.Name] = true
	}
	for _, s := range p.Evidence.Sandboxes {
		boxed[s.PodUID] = s.PodUID != ""
	}
	var pods []string
	for _, d := range p.Evidence.PodDirs {
		if boxed[d.UID] && slices.ContainsFunc(d.Containers, func(name string) bool { return !made[d.UID+"/"+name] }) {
			pods = append(pods, d.UID)
		}
	}
	if len(pods) > calls {
		return nil
	}
	return pods
}

// podOfBundle is the pod of the sandbox or container whose id is in a path of the runtime:
// /run/containerd/io.containerd.runtime.v2.task/k8s.io/ID, …/io.containerd.grpc.v1.cri/sandboxes/ID, …/containers/storage/overlay-containers/ID.
func podOfBundle(e *forensics.Evidence, path string) string {
	const idLength = 64
	for name := range strings.SplitSeq(path, "/") {
		if len(name) != idLength {
			continue
		}
		for _, s := range e.Sandboxes {
			if s.ID == name {
				return s.PodUID
			}
		}
		for _, c := range e.Containers {
			if c.ID == name || c.SnapshotKey == name {
				return c.PodUID
			}
		}
	}
	return ""
}

// Methods lists what is blocked, for a headline: "CreateContainer and 2 other calls".
func Methods(list []Request) string {
	var names []string
	for _, r := range list {
		names = findings.Union(names, []string{r.Method})
	}
	if len(names) <= 2 {
		return strings.Join(names, " and ")
	}
	return names[0] + " and " + Number(len(names)-1) + " other calls"
}

// ByServer groups requests by the process that serves them, in order.
func ByServer(list []Request) [][]Request {
	var found [][]Request
	for _, r := range list {
		i := slices.IndexFunc(found, func(g []Request) bool { return g[0].PID == r.PID && g[0].Program == r.Program })
		if i < 0 {
			found = append(found, nil)
			i = len(found) - 1
		}
		found[i] = append(found[i], r)
	}
	return found
}
