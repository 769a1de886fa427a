// Package stats measures volumes.
package stats

import "syscall"

type volumeStatCalculator struct {
	path   string
	latest uint64
}

// New makes one.
func New(path string) *volumeStatCalculator { return &volumeStatCalculator{path: path} }

// StartOnce starts its goroutine.
func (s *volumeStatCalculator) StartOnce() {
	go func() {
		for {
			s.calcAndStoreStats()
		}
	}()
}

func (s *volumeStatCalculator) calcAndStoreStats() {
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.path, &st); err == nil {
		s.latest = st.Blocks
	}
}
