package live

import (
	"bytes"
	"errors"
	"fmt"
)

// errGone says that the memory that was opened is no more: the process has ended or runs another program (execve(2)), which has its own.
var errGone = errors.New("its memory no longer exists: it has ended, or has become another program")

// attempts is how often a goroutine is read that goes on meanwhile.
const attempts = 3

// settled reads a goroutine and its stack, innermost function first. Where something of it changed meanwhile it is read again: else its
// stack could be put together from two. One that never stands still has a stack of nothing. ok is false for one that has ended.
func (p *program) settled(addr uint64, threads map[int]thread) (x g, list []*place, whole, ok bool, err error) {
	for range attempts {
		if x, ok, err = p.readG(addr); !ok {
			return x, nil, false, false, err
		}
		now := p.onThread(x, threads)
		list, whole = p.stack(now)
		again, ok, _ := p.readG(addr)
		if ok && again == x && x.status != statusCopystack && p.onThread(again, threads) == now && p.sameStack(now) {
			return now, list, whole, true, nil
		}
	}
	x.pc, x.sp, p.stackRead = 0, 0, 0
	return x, nil, false, true, nil
}

// onThread is a goroutine that runs, with the registers of its thread: what the runtime has saved is old.
func (p *program) onThread(x g, threads map[int]thread) g {
	if on, known := threads[x.thread]; known && !x.inSyscall && x.status == statusRunning {
		if x.sp, x.pc, x.lr = on.sp, on.pc, 0; p.registers != nil {
			x.sp, x.pc = p.registers(on.tid)
		}
	}
	return x
}

// sameStack says whether the stack that was just read still has what was read.
func (p *program) sameStack(x g) bool {
	n := p.stackRead
	if n == 0 {
		return true
	}
	if n > cap(p.stackAgain) {
		p.stackAgain = make([]byte, cap(p.stackRoom))
	}
	return p.bytes(x.sp, p.stackAgain[:n]) == nil && bytes.Equal(p.stackAgain[:n], p.stackRoom[:n])
}

// there says whether the memory still is.
func (p *program) there() error {
	var word [8]byte
	if p.bytes(p.modules[0].addr, word[:]) != nil {
		return errGone
	}
	return nil
}

// elsewhere has the mappings read once more for an address that is in none: the program has grown since.
func (m *memory) elsewhere(err error) bool {
	if m.remap == nil || !errors.Is(err, errOutside) || m.remapped >= attempts {
		return false
	}
	m.remapped++
	list, err := m.remap()
	if err == nil {
		m.maps = list
	}
	return err == nil
}

// left says what was not read.
func left(read, all int, err error) error {
	return fmt.Errorf("after %d of %d goroutines: %w", read, all, err)
}
