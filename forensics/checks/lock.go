package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/stackdump"
)

// lockWait says which lock a goroutine waits for. The address is that of the sync.Mutex or sync.RWMutex.
func lockWait(g stackdump.Goroutine) (wait, bool) {
	w := wait{kind: waitLock}
	found := false
	for i, f := range g.Frames {
		s := splitSymbol(f.Func)
		if s.pkg != "sync" && s.pkg != "internal/sync" {
			w.frame = i
			break
		}
		w.frame = i + 1
		switch {
		case s.typ == "Mutex", s.typ == "RWMutex":
			found = true
			if a := firstPointer(f); a != 0 {
				w.lock = a
			}
		case s.typ != "" || !strings.HasPrefix(s.name, "runtime_Semacquire"):
			return wait{}, false // a WaitGroup, a Cond
		case w.lock == 0:
			w.lock = semaphoreOwner(g.Frames[i:])
		}
	}
	if !found || w.frame >= len(g.Frames) {
		return wait{}, false
	}
	w.call = g.Frames[w.frame].Func
	return w, true
}

// semaphoreOwner is the lock of the semaphore that a goroutine sleeps on, where only that address was printed: the
// methods of the lock were inlined. In sync.Mutex the semaphore is at offset 4; in sync.RWMutex those of writers and
// readers are at 8 and 12.
func semaphoreOwner(frames []stackdump.Frame) uint64 {
	a := firstPointer(frames[0])
	if a == 0 {
		return 0
	}
	a &^= 7
	for _, f := range frames[1:] {
		switch splitSymbol(f.Func).typ {
		case "Mutex":
			return a // also that of the writers within an RWMutex, its first field
		case "RWMutex":
			return a - 8
		}
	}
	return 0
}

// firstPointer is the first argument of a call, the receiver of a method, where the dump knows it for certain.
func firstPointer(f stackdump.Frame) uint64 {
	words := f.Words()
	if len(words) == 0 || !words[0].Known || words[0].Uncertain || words[0].Value < 1<<12 {
		return 0
	}
	return words[0].Value
}

// holder is who most likely holds a lock.
type holder struct {
	stack stack
	wait  wait
	// why says on what that rests.
	why string
}

// maxStruct is how far into a struct a lock of its can lie.
const maxStruct = 64 << 10

// holderOf looks for the goroutine that holds the lock which waiter waits for. Go does not record that, so it is an
// inference: the waiter calls Lock in a method of an object that the lock lies in; a goroutine that is in a method of
// the same object, does not itself wait for this lock, and stands still, holds it most likely. The Kubelet object has
// several locks and most goroutines on its methods: there only the same method, or its partner, counts. A method that is
// a goroutine's loop holds no lock while it does its work.
func holderOf(p *forensics.Pass, waiter stack, w wait) (holder, bool) {
	frame := waiter.goroutine.Frames[w.frame]
	method := splitSymbol(frame.Func)
	object := firstPointer(frame) // 0 where the dump does not know it
	if method.typ == "" || w.lock == 0 && object == 0 || w.lock != 0 && object != 0 && !within(w.lock, object) {
		return holder{}, false
	}
	var found []holder
	for s := range eachStack(p) {
		if s.dump != waiter.dump || s.goroutine.ID == waiter.goroutine.ID || s.goroutine.ID == 0 {
			continue
		}
		other := waitOf(s.goroutine)
		if other.kind == waitNothing || other.kind == waitLock && (other.lock == w.lock || other.lock == 0) {
			continue // it rests or runs; or it is a fellow sufferer, or perhaps one
		}
		if f, at, ok := inObject(s.goroutine, w.lock, object, method); ok {
			found = append(found, holder{s, other, fmt.Sprintf("it is in %s of the same object, 0x%x", shortSymbol(f), at)})
		}
	}
	if len(found) == 0 {
		return holder{}, false
	}
	return slices.MaxFunc(found, func(a, b holder) int {
		return cmp.Compare(a.stack.goroutine.WaitMinutes, b.stack.goroutine.WaitMinutes)
	}), true
}

// within says whether a lock can lie in an object; one whose address is not known can.
func within(lock, object uint64) bool { return lock == 0 || lock >= object && lock-object <= maxStruct }

// inObject finds a frame of a method of the object that the lock lies in.
func inObject(g stackdump.Goroutine, lock, object uint64, waiter symbol) (function string, at uint64, ok bool) {
	for _, f := range g.Frames {
		s := splitSymbol(f.Func)
		if s.typ != waiter.typ || s.pkg != waiter.pkg || isLoop(s.name) || strings.Contains(f.Func, ".func") {
			continue // a closure has no receiver
		}
		if s.typ == "Kubelet" && s.name != waiter.name && !partners(s.name, waiter.name) {
			continue
		}
		words := f.Words()
		if len(words) == 0 || !words[0].Known || object != 0 && words[0].Value != object || !within(lock, words[0].Value) {
			continue
		}
		return f.Func, words[0].Value, true
	}
	return "", 0, false
}

// isLoop knows the names of methods that are a goroutine's loop (managePodLoop, podWorkerLoop, syncLoopIteration, ...).
func isLoop(method string) bool {
	switch method {
	case "Run", "Start", "run", "syncLoopIteration":
		return true
	}
	return strings.HasSuffix(method, "Loop")
}

// partners says whether two methods of Kubelet take the same lock: syncNodeStatusMux (pkg/kubelet/kubelet_node_status.go,
// 1.13 to 1.36).
func partners(a, b string) bool {
	nodeStatus := []string{"syncNodeStatus", "fastStatusUpdateOnce", "fastNodeStatusUpdate"}
	return slices.Contains(nodeStatus, a) && slices.Contains(nodeStatus, b)
}

// shortSymbol drops the import path: "kubelet.(*podWorkers).UpdatePod".
func shortSymbol(s string) string {
	end := len(s)
	if i := strings.IndexAny(s, "(["); i >= 0 {
		end = i
	}
	return s[strings.LastIndexByte(s[:end], '/')+1:]
}
