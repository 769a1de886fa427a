package testfuse

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// brokenT is a test that can only fail.
type brokenT struct{ testing.TB }

func (brokenT) Helper()                           {}
func (brokenT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestAwaitReturnsWhenTheConditionComesTrue(t *testing.T) {
	calls := 0
	await(brokenT{}, "the third call", time.Hour, func() bool { calls++; return calls == 3 })
	if calls != 3 {
		t.Errorf("the condition was asked %d times, want 3", calls)
	}
}

func TestAwaitNamesWhatItWaitedFor(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "waiting for godot") {
			t.Errorf("failed with %q, want it to name godot", got)
		}
	}()
	await(brokenT{}, "godot", 0, func() bool { return false })
}
