package live

import (
	"encoding/binary"
	"strings"
	"time"
)

// The states of a goroutine (runtime2.go).
const (
	statusIdle      = 0
	statusRunnable  = 1
	statusRunning   = 2
	statusSyscall   = 3
	statusWaiting   = 4
	statusDead      = 6
	statusCopystack = 8
	statusPreempted = 9
	statusLeaked    = 10
	statusScan      = 0x1000
)

var statusNames = map[uint32]string{
	statusRunnable: "runnable", statusRunning: "running", statusSyscall: "syscall", statusWaiting: "waiting", statusCopystack: "copystack",
	statusPreempted: "preempted", statusLeaked: "leaked",
}

// A g is a goroutine as the runtime has it.
type g struct {
	addr            uint64
	low, high       uint64 // its stack
	sp, pc, lr      uint64
	status          uint32
	id, parent      int64
	waitSince       int64
	reason          byte
	locked          bool
	creation, start uint64
	thread          int // as the process's own PID namespace numbers it; 0 where it is on none
	inSyscall       bool
}

// readG reads a goroutine; ok is false for one that has ended, and for one that cannot be read, with an error.
func (p *program) readG(addr uint64) (x g, ok bool, err error) {
	if p.room == nil {
		p.room = make([]byte, p.gSize)
	}
	data := p.room
	if err = p.bytes(addr, data); err != nil && p.elsewhere(err) {
		err = p.bytes(addr, data)
	}
	if err != nil {
		return g{}, false, err
	}
	word := func(at int) uint64 {
		if at < 0 {
			return 0
		}
		return binary.LittleEndian.Uint64(data[at:])
	}
	x = g{
		addr: addr, low: word(0), high: word(8), sp: word(p.gSched + p.bufSP), pc: word(p.gSched + p.bufPC), lr: word(p.gSched + p.bufLR),
		status: binary.LittleEndian.Uint32(data[p.gStatus:]) &^ statusScan,
		id:     int64(word(p.gID)), parent: int64(word(p.gParent)), waitSince: int64(word(p.gWaitSince)), reason: data[p.gWaitReason],
		locked: word(p.gLockedM) != 0, creation: word(p.gPC), start: word(p.gStart),
	}
	if statusNames[x.status] == "" || x.id <= 0 || x.id > maxID || x.high <= x.low || x.high-x.low > maxStackSize {
		return g{}, false, nil
	}
	if sp := word(p.gSyscallSP); sp != 0 {
		x.sp, x.pc, x.inSyscall = sp, word(p.gSyscallPC), true
	}
	if m := word(p.gM); m != 0 {
		id, err := p.fresh64(m + uint64(p.mProcID))
		current, err2 := p.fresh64(m + uint64(p.mCurG))
		if err == nil && err2 == nil && current == addr && id > 0 && id <= maxPID {
			x.thread = int(id)
		}
	}
	return x, true, nil
}

const (
	maxStackSize = 4 << 30 // the runtime's limit is 1 GB (debug.SetMaxStack)
	maxPID       = 1 << 22
	maxID        = 1 << 48 // no program has started so many
)

// fresh64 is a word that changes, and so is not kept.
func (p *program) fresh64(addr uint64) (uint64, error) {
	var b [8]byte
	err := p.bytes(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// state is what the runtime prints between brackets (runtime.goroutineheader), and for how many minutes.
func (p *program) state(x g, list []*place, now time.Duration) (state string, minutes int) {
	state = statusNames[x.status]
	if x.status == statusWaiting && int(x.reason) < len(p.waits) && p.confirmed(p.waits[x.reason], list) && p.waits[x.reason] != "" {
		state = p.waits[x.reason]
	}
	if (x.status == statusWaiting || x.status == statusSyscall) && x.waitSince > 0 {
		minutes = max(0, int((now-time.Duration(x.waitSince))/time.Minute))
	}
	return state, minutes
}

// system says whether a goroutine is the runtime's own, which dumps leave out (runtime.isSystemGoroutine). One that runs finalizers or
// cleanups is not while it is in one.
func (p *program) system(x g, calls []call) bool {
	at := p.place(x.start)
	if at == nil {
		return false
	}
	switch at.f.name {
	case "runtime.main", "runtime.handleAsyncEvent", "runtime.corostart":
		return false
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		for _, c := range calls {
			if !strings.HasPrefix(c.name, "runtime.") {
				return false
			}
		}
	}
	return strings.HasPrefix(at.f.name, "runtime.")
}
