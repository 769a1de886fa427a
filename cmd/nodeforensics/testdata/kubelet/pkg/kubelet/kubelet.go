// Package kubelet has the sync loop and its housekeeping.
package kubelet

import (
	"sync/atomic"
	"time"
)

// housekeepingPeriod is 2 s in a real kubelet (pkg/kubelet/kubelet.go).
const housekeepingPeriod = 200 * time.Millisecond

// Kubelet is what runs.
type Kubelet struct {
	RootDir      string
	Pods         []string
	StalledAfter time.Duration

	lastIteration atomic.Pointer[time.Time]
}

// Run is the entry of the sync loop.
//
//go:noinline
func (kl *Kubelet) Run(updates <-chan struct{}) {
	kl.syncLoop(updates)
}

//go:noinline
func (kl *Kubelet) syncLoop(updates <-chan struct{}) {
	housekeeping := time.NewTicker(housekeepingPeriod)
	defer housekeeping.Stop()
	for {
		now := time.Now()
		kl.lastIteration.Store(&now)
		if !kl.syncLoopIteration(updates, housekeeping.C) {
			return
		}
	}
}

//go:noinline
func (kl *Kubelet) syncLoopIteration(updates <-chan struct{}, housekeeping <-chan time.Time) bool {
	select {
	case _, open := <-updates:
		return open
	case <-housekeeping:
		return kl.HandlePodCleanups() == nil
	}
}

// SyncLoopHealthy is the syncloop check of /healthz.
func (kl *Kubelet) SyncLoopHealthy() bool {
	last := kl.lastIteration.Load()
	return last == nil || time.Since(*last) < kl.StalledAfter
}
