package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestWhatWasGivenUpMayStillSpeak: work that was given up at the deadline goes on beside the end of the program, and what it says then is
// dropped.
func TestWhatWasGivenUpMayStillSpeak(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	a := &app{out: newTerminal(file), err: newTerminal(file)}
	var late sync.WaitGroup
	late.Go(func() {
		for range 20 {
			a.complain("late")
		}
	})
	if err := a.err.flush(); err != nil {
		t.Error(err)
	}
	a.complain("at the end")
	late.Wait()
	if got := a.status.Load(); got != exitFailed {
		t.Errorf("exit status %d", got)
	}
	if err := a.err.flush(); err != nil {
		t.Error(err)
	}
}
