package goroutines

import (
	"bytes"
	"strings"
)

// scratch is the goroutine being read. Its memory is used again for the next
// one; goroutine makes a copy that lasts.
type scratch struct {
	Goroutine        // Frames and their strings, except Args
	args      []byte // the arguments of all frames, one behind the other
	spans     []span // where the arguments of each frame stand in args
	creator   Frame
	created   bool
	// unavailable says that the runtime did not print the stack of a goroutine that ran (runtime/traceback.go).
	unavailable bool
	surplus     Frame // takes the location of a frame beyond the limit
	loose       int   // bytes of strings that no other goroutine shares
}

type span struct{ from, to int }

func (s *scratch) reset() {
	*s = scratch{
		Goroutine: Goroutine{Count: 1, Frames: s.Frames[:0]},
		args:      s.args[:0],
		spans:     s.spans[:0],
	}
}

// push adds a frame, further out than those before, and returns it. It is valid
// until the next one is added.
func (s *scratch) push(f Frame, args []byte) *Frame {
	if len(s.Frames) >= maxFrames {
		s.Elided++
		return &s.surplus
	}
	from := len(s.args)
	switch {
	case string(args) == inlinedArgs:
		f.Args, f.Inlined = inlinedArgs, true
	case len(args) <= maxArgs:
		s.args = append(s.args, args...)
	}
	s.Frames = append(s.Frames, f)
	s.spans = append(s.spans, span{from, len(s.args)})
	return &s.Frames[len(s.Frames)-1]
}

// dropRuntime cuts the runtime's own frames off both ends, unless there are no
// others: runtime.gopark and such, which debug=0 and GOTRACEBACK=system show and
// the other forms hide, and runtime.main and runtime.goexit. All forms then
// agree. A running goroutine keeps them: they tell why the program died.
func (s *scratch) dropRuntime() {
	n := len(s.Frames)
	if n == 0 || s.State == "running" {
		return
	}
	from, to := 0, n
	for from < n && isRuntimeFunc(s.Frames[from].Func) && s.Frames[from].Func != "runtime.cgocall" {
		from++
	}
	for to > from && isStackEnd(s.Frames[to-1].Func) {
		to--
	}
	if from == n || from == 0 && to == n {
		return
	}
	s.Frames = s.Frames[:copy(s.Frames, s.Frames[from:to])]
	s.spans = s.spans[:copy(s.spans, s.spans[from:to])]
}

// isStackEnd knows what stands below the first function of a goroutine.
func isStackEnd(name string) bool { return name == "runtime.goexit" || name == "runtime.main" }

func isRuntimeFunc(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") ||
		strings.HasPrefix(name, "runtime/internal/")
}

// inlinedArgs stands for the arguments of a call that was inlined.
const inlinedArgs = "..."

// goroutine copies s. All arguments become one string, all frames one slice of the slab.
func (s *scratch) goroutine(slab *frameSlab) Goroutine {
	g := s.Goroutine
	g.Frames = slab.take(len(s.Frames))
	copy(g.Frames, s.Frames)
	args := string(s.args)
	for i, sp := range s.spans {
		if sp.to > sp.from {
			g.Frames[i].Args = args[sp.from:sp.to]
		}
	}
	if s.created {
		creator := slab.take(1)
		creator[0] = s.creator
		g.CreatedBy = &creator[0]
	}
	return g
}

// The sizes that [Digester.Bytes] counts in, in bytes; strings that many frames share are not counted.
const (
	goroutineSize = 160
	frameSize     = 72
	kindSize      = 96
	dumpSize      = 4 << 10
)

// size is what a copy takes, in bytes.
func (s *scratch) size() int {
	n := goroutineSize + frameSize*(len(s.Frames)+1) + len(s.args) + s.loose
	for key, value := range s.Labels {
		n += 64 + len(key) + len(value)
	}
	return n
}

// overwrite puts s in the place of a copy of a goroutine with the same stack, without new memory for its frames.
func (s *scratch) overwrite(g *Goroutine) {
	frames, creator := g.Frames, g.CreatedBy
	*g = s.Goroutine
	g.Frames, g.CreatedBy = frames, creator
	args := string(s.args)
	for i, sp := range s.spans {
		g.Frames[i] = s.Frames[i]
		if sp.to > sp.from {
			g.Frames[i].Args = args[sp.from:sp.to]
		}
	}
}

// copy takes a goroutine back.
func (s *scratch) copy(g *Goroutine) {
	s.reset()
	frames := s.Frames
	s.Goroutine, s.Frames = *g, frames
	s.CreatedBy = nil
	for _, f := range g.Frames {
		args := f.Args
		f.Args = ""
		if f.Inlined {
			args = inlinedArgs
		}
		s.push(f, []byte(args))
	}
	if g.CreatedBy != nil {
		s.creator, s.created = *g.CreatedBy, true
	}
}

// lock is what tells the lock that s waits for from others: the first argument of sync's functions that the dump knows for
// certain, which is the address of the lock or of a part of it. It is empty where s waits for none, or none is known.
func (s *scratch) lock() string {
	if s.State == "" || !waitsForLock(s.Frames) {
		return ""
	}
	for i := range s.Frames {
		if !strings.HasPrefix(s.Frames[i].Func, "sync.") && !strings.HasPrefix(s.Frames[i].Func, "internal/sync.") {
			break
		}
		first, _, _ := bytes.Cut(s.args[s.spans[i].from:s.spans[i].to], []byte(","))
		if bytes.HasPrefix(first, []byte("0x")) && !bytes.HasSuffix(first, []byte("?")) {
			return string(first)
		}
	}
	return ""
}

// frameSlab hands out slices of frames from larger blocks.
type frameSlab struct{ free []Frame }

const slabFrames = 2048

// take returns n frames; never nil, which would be null in JSON.
func (s *frameSlab) take(n int) []Frame {
	if n == 0 {
		return []Frame{}
	}
	if n > len(s.free) {
		if n > slabFrames/8 {
			return make([]Frame, n)
		}
		s.free = make([]Frame, slabFrames)
	}
	frames := s.free[:n:n]
	s.free = s.free[n:]
	return frames
}
