package stall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// lockWait says which lock a goroutine waits for. The address is that of the sync.Mutex or sync.RWMutex.
func lockWait(g goroutines.Goroutine) (Wait, bool) {
	w := Wait{Kind: WaitLock}
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
				w.Lock = a
			}
		case s.typ != "" || !strings.HasPrefix(s.name, "runtime_Semacquire"):
			return Wait{}, false // a WaitGroup, a Cond
		case w.Lock == 0:
			w.Lock = semaphoreOwner(g.Frames[i:])
		}
	}
	if !found || w.frame >= len(g.Frames) {
		return Wait{}, false
	}
	w.Call = g.Frames[w.frame].Func
	return w, true
}

// semaphoreOwner is the lock of the semaphore that a goroutine sleeps on, where only that address was printed: the
// methods of the lock were inlined. In sync.Mutex the semaphore is at offset 4; in sync.RWMutex those of writers and
// readers are at 8 and 12.
func semaphoreOwner(frames []goroutines.Frame) uint64 {
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
func firstPointer(f goroutines.Frame) uint64 {
	words := f.Words()
	if len(words) == 0 || !words[0].Known || words[0].Uncertain || words[0].Value < 1<<12 {
		return 0
	}
	return words[0].Value
}

// LockHolder is the goroutine that most likely has a lock.
type LockHolder struct {
	Stack Stack
	wait  Wait
	// Why is the evidence for that.
	Why string
}

// maxStruct is the largest offset of a lock in its struct.
const maxStruct = 64 << 10

// holderOf finds the goroutine that has the lock which waiter waits for. Go does not record that, so it is an inference: the waiter calls
// Lock in a method of the object that contains the lock. A blocked goroutine in a method of the same object that does not wait for this
// lock most likely has it. The Kubelet object has several locks and most goroutines in its methods: there only the same method, or its
// partner, counts. A method that is a goroutine's loop has no lock while it works.
func holderOf(p *forensics.Pass, waiter Stack, w Wait) (LockHolder, bool) {
	frame := waiter.Goroutine.Frames[w.frame]
	method := splitSymbol(frame.Func)
	object := firstPointer(frame) // 0 where the dump does not know it
	if method.typ == "" || w.Lock == 0 && object == 0 || w.Lock != 0 && object != 0 && !within(w.Lock, object) {
		return LockHolder{}, false
	}
	// Many goroutines may wait for the same lock, which has one holder.
	type question struct {
		dump         int
		lock, object uint64
		method       symbol
	}
	known := forensics.Once(p, "holders of locks", func() map[question]*LockHolder { return map[question]*LockHolder{} })
	q := question{waiter.Dump, w.Lock, object, method}
	h, ok := known[q]
	if !ok {
		h = findHolder(p, waiter.Dump, w.Lock, object, method)
		known[q] = h
	}
	if h == nil {
		return LockHolder{}, false
	}
	return *h, true
}

// findHolder picks the longest blocked of the goroutines that can have the lock; nil if there is none.
func findHolder(p *forensics.Pass, dump int, lock, object uint64, waiter symbol) *LockHolder {
	var found *LockHolder
	last := int32(-1)
	for _, c := range methodsOf(p, dump, waiter).around(lock, object) {
		if c.goroutine == last { // its first frame has been judged
			continue
		}
		s := stackOf(p, dump, int(c.goroutine))
		f := s.Goroutine.Frames[c.frame].Func
		w, m := WaitOf(s.Goroutine), splitSymbol(f)
		switch {
		case w.Kind == WaitLock && (w.Lock == lock || w.Lock == 0): // it waits for the same lock, or may
			continue
		case m.typ == "Kubelet" && m.name != waiter.name && !partners(m.name, waiter.name):
			continue
		}
		last = c.goroutine
		if found == nil || s.Goroutine.WaitMinutes > found.Stack.Goroutine.WaitMinutes {
			found = &LockHolder{s, w, fmt.Sprintf("it is in %s of the same object (0x%x)", ShortSymbol(f), c.object)}
		}
	}
	return found
}

// within says whether a lock can be part of an object; one whose address is not known can.
func within(lock, object uint64) bool { return lock == 0 || lock >= object && lock-object <= maxStruct }

// A methodCall is a frame of a blocked goroutine in a method of an object.
type methodCall struct {
	object           uint64
	goroutine, frame int32
}

// methodCalls are those of one type's methods in a dump, by the address of the object.
type methodCalls []methodCall

// around are the calls on an object or, where its address is not known, on those that can contain the lock, in the order of the dump.
func (list methodCalls) around(lock, object uint64) methodCalls {
	low, high := object, object
	if object == 0 {
		low, high = lock-min(lock, maxStruct), lock
	}
	from, _ := slices.BinarySearchFunc(list, low, func(c methodCall, at uint64) int { return cmp.Compare(c.object, at) })
	to := from
	for to < len(list) && list[to].object <= high {
		to++
	}
	found := slices.Clone(list[from:to])
	sorting.Stable(found, methodCall.compare)
	return found
}

func (c methodCall) compare(d methodCall) int {
	return cmp.Or(cmp.Compare(c.goroutine, d.goroutine), cmp.Compare(c.frame, d.frame))
}

// A typeIn is a type with methods, in a dump.
type typeIn struct {
	dump     int
	pkg, typ string
}

// methodsOf lists the calls of the methods of a type.
func methodsOf(p *forensics.Pass, dump int, of symbol) methodCalls {
	return forensics.Once(p, "calls of methods", func() map[typeIn]methodCalls {
		by := map[typeIn]methodCalls{}
		for _, dump := range p.Model.LatestDumps() {
			for i := range p.Evidence.Dumps[dump].Goroutines {
				addMethods(by, dump, int32(i), &p.Evidence.Dumps[dump].Goroutines[i])
			}
		}
		for _, list := range by {
			sorting.Stable(list, func(a, b methodCall) int { return cmp.Or(cmp.Compare(a.object, b.object), a.compare(b)) })
		}
		return by
	})[typeIn{dump, of.pkg, of.typ}]
}

// addMethods adds the methods that a goroutine is in. One that is a goroutine's loop is left out, and a closure, which has no
// receiver.
func addMethods(by map[typeIn]methodCalls, dump int, i int32, g *goroutines.Goroutine) {
	if g.ID == 0 || WaitOf(*g).Kind == waitNothing { // it rests or runs
		return
	}
	for j, f := range g.Frames {
		m := splitSymbol(f.Func)
		if m.typ == "" || isLoop(m.name) || strings.Contains(f.Func, ".func") {
			continue
		}
		if words := f.Words(); len(words) > 0 && words[0].Known {
			of := typeIn{dump, m.pkg, m.typ}
			by[of] = append(by[of], methodCall{words[0].Value, i, int32(j)})
		}
	}
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
