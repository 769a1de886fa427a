package live

import (
	"sync"
	"time"
)

// patienceSteps is in how many steps the patience for one call runs out. A program that is stopped, or a machine that
// pauses, loses one of them at most however long that takes: an answer that came in the meantime is still heard.
const patienceSteps = 16

// A watch times the system calls of one probe, of which each may take as long as the patience lasts.
type watch struct {
	now      func() time.Time
	patience time.Duration
	expired  func() // called once, when a call has taken that long

	mu      sync.Mutex
	call    string // the call under way, or the last one
	began   time.Time
	number  int // of calls begun and ended, to tell late timers from current ones
	running bool
	steps   int           // that the call under way has lasted
	total   time.Duration // of the calls that have ended
	slowest string
	longest time.Duration
}

// progress is what a watch shows.
type progress struct {
	call    string        // under way or last; "" before the first
	waited  time.Duration // for the call under way
	awake   time.Duration // of that, while this program was running
	total   time.Duration // of the calls that have ended
	slowest string        // of those
}

// enter says that a call begins, and that the one before has ended.
func (w *watch) enter(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	w.call, w.began, w.running, w.steps = call, w.now(), true, 0
	w.wait(w.number, patienceSteps)
}

// leave says that the last call has ended.
func (w *watch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *watch) end() {
	w.number++
	if !w.running {
		return
	}
	w.running = false
	took := w.now().Sub(w.began)
	w.total += took
	if took >= w.longest {
		w.slowest, w.longest = w.call, took
	}
}

// wait lets one step go by, and then the others.
func (w *watch) wait(number, steps int) {
	time.AfterFunc(w.patience/patienceSteps+1, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.number != number:
		case steps == 1:
			w.steps = patienceSteps
			w.expired()
		default:
			w.steps++
			w.wait(number, steps-1)
		}
	})
}

func (w *watch) read() progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := progress{call: w.call, total: w.total, slowest: w.slowest}
	if w.running {
		p.waited = w.now().Sub(w.began)
		p.awake = w.patience * time.Duration(w.steps) / patienceSteps
	}
	return p
}
