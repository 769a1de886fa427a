package live

import "encoding/binary"

// Bounds of a stack: bytes that are read of it, and functions on it.
const (
	maxStack  = 1 << 20
	maxFrames = 20_000
)

// A place is an address in a function: many goroutines are at the same.
type place struct {
	f     *function
	pc    uint64
	delta int32  // of the stack pointer from where the function was called
	known bool   // the difference is
	calls []call // at the address before it, where it was called from
	read  bool   // the calls were
}

// place looks an address up; nil where no function is there.
func (p *program) place(pc uint64) *place {
	if at, ok := p.places[pc]; ok {
		return at
	}
	if p.ended != nil && p.ended() {
		return nil
	}
	if p.places == nil || len(p.places) > maxFunctions {
		p.places = map[uint64]*place{}
	}
	var at *place
	if f, err := p.function(pc); err == nil {
		at = &place{f: f, pc: pc}
		at.delta, at.known = p.value(f, f.pcsp, pc)
	}
	p.places[pc] = at
	return at
}

// callsAt are those of a place: of the call that returns there or, where nothing was called, of the place itself.
func (p *program) callsAt(at *place, called bool) []call {
	if !called || at.pc == at.f.entry {
		return p.calls(at.f, at.pc)
	}
	if !at.read {
		at.calls, at.read = p.calls(at.f, at.pc-1), true
	}
	return at.calls
}

// stack unwinds a goroutine, innermost function first. whole is false where it ends before the goroutine's beginning.
func (p *program) stack(x g) (list []*place, whole bool) {
	p.stackRead = 0
	if x.sp < x.low || x.sp >= x.high {
		return nil, false
	}
	data := p.stackBytes(int(min(x.high-x.sp, maxStack)))
	if p.bytes(x.sp, data) != nil {
		return nil, false
	}
	p.stackRead = len(data)
	word := func(at uint64) (uint64, bool) {
		if at < x.sp || at-x.sp+8 > uint64(len(data)) {
			return 0, false
		}
		return binary.LittleEndian.Uint64(data[at-x.sp:]), true
	}
	list = p.frames[:0]
	defer func() { p.frames = list[:0] }()
	pc, lr := x.pc, x.lr
	for at := x.sp; len(list) < maxFrames; {
		in := p.place(pc)
		if in == nil {
			return list, false
		}
		switch in.f.name {
		case "runtime.goexit", "runtime.rt0_go", "runtime.mstart", "runtime.mstart0", "runtime.mstart1":
			return list, true
		}
		list = append(list, in)
		if !in.known || in.delta < 0 {
			return list, false
		}
		above, ok := at+uint64(in.delta), false
		switch {
		case !p.arch.usesLR:
			pc, ok = word(above)
			above += 8
		case in.delta == 0: // it has not stored the register yet
			pc, ok = lr, lr != 0
		default:
			pc, ok = word(at)
		}
		lr = 0
		if !ok || pc == 0 {
			return list, false
		}
		at = above
	}
	return list, false
}

// stackBytes is room for a stack, the same each time.
func (p *program) stackBytes(n int) []byte {
	if n > cap(p.stackRoom) {
		p.stackRoom = make([]byte, n)
	}
	return p.stackRoom[:n]
}

// visible are the calls of a stack that a dump shows, innermost first.
func (p *program) visible(list []*place) []call {
	calls := p.shownCalls[:0]
	callee := "" // the call before, also where it is not shown
	for i, at := range list {
		if len(calls) > maxFrames { // also with what is said to be inlined
			break
		}
		for _, c := range p.callsAt(at, callee != "runtime.sigpanic") {
			last := len(calls) == 0 && i == len(list)-1 // a goroutine of the runtime alone
			hidden := !shown(c.name) && !last
			if c.wrapper && !panics(callee) { // runtime.elideWrapperCalling
				hidden = true
			}
			if callee = c.name; hidden {
				continue
			}
			if !c.inlined {
				c.offset = at.pc - at.f.entry
			}
			calls = append(calls, c)
		}
	}
	p.shownCalls = calls[:0]
	return calls
}

// panics says whether a function is one that shows that a wrapper itself panicked.
func panics(name string) bool {
	return name == "runtime.gopanic" || name == "runtime.sigpanic" || name == "runtime.panicwrap"
}
