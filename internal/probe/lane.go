package probe

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A Lane makes one call after another that may block, on the goroutine that uses it. [Do] needs another goroutine and two
// changes of threads for each call, which takes longer than reading a file of procfs; a Lane needs an atomic word and a
// timer.
//
// The price is how a call is given up: the goroutine that makes it is lost with it, and another one continues with the rest
// of the work, see [Lane.Call]. A Lane belongs to one goroutine at a time; [NewLane] makes one.
type Lane struct {
	group *Group
	tid   int
	leave func()
	turn  atomic.Uint64 // odd during a call; who makes it even owns the lane, and all that its user owns
}

// NewLane binds the calling goroutine to its thread until [Lane.Close], so that the thread can be named while it is stuck.
// A nil group keeps no record.
func NewLane(g *Group) *Lane {
	if g == nil {
		g = &Group{}
	}
	l := &Lane{group: g}
	l.enter()
	return l
}

func (l *Lane) enter() { l.leave = onThread(func(tid int) { l.tid = tid }) }

// Close unbinds the goroutine that owns the lane.
func (l *Lane) Close() { l.leave() }

// Call runs call and says whether it has returned. If it has not, the calling goroutine owns nothing any more: it has to
// return without touching anything that call or lost may use. For then wait, which is asked whenever the limit is over, has
// answered false; the call is among the outstanding ones under its key; and lost runs on a goroutine that owns the lane now.
//
// While a call with the same key has not returned, in whatever lane, nothing is run: back is true, and err is [ErrBusy].
func (l *Lane) Call(key string, limit time.Duration, wait func(tid int) bool, call, lost func()) (back bool, err error) {
	if l.group.busy(key) {
		return true, fmt.Errorf("%s: %w", key, ErrBusy)
	}
	record, turn := &Call{Key: key, TID: l.tid, Since: time.Now()}, l.turn.Add(1)
	var check func()
	check = func() {
		switch {
		case l.turn.Load() != turn:
		case wait(record.TID):
			time.AfterFunc(limit, check)
		default:
			l.group.abandon(key, record)
			if !l.turn.CompareAndSwap(turn, turn+1) {
				l.group.done(key) // it has returned just now
				return
			}
			l.group.giveUp()
			go func() {
				l.enter()
				lost()
			}()
		}
	}
	timer := time.AfterFunc(limit, check)
	defer timer.Stop()
	call()
	if !l.turn.CompareAndSwap(turn, turn+1) {
		l.group.done(key)
		return false, nil
	}
	return true, nil
}
