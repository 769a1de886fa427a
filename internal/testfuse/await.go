package testfuse

import (
	"testing"
	"time"
)

// awaitLimit is how long a condition may take to come true on a machine that is busy with other tests. It is no
// measure of anything: a test that needs it all has failed.
const awaitLimit = 2 * time.Minute

// Await polls cond until it is true. It is for what the kernel announces to nobody, such as a thread reaching a wait.
// If that does not happen, the test fails with a message that names what was awaited.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	await(t, what, awaitLimit, cond)
}

func await(t testing.TB, what string, limit time.Duration, cond func() bool) {
	t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(limit); !cond(); {
		if time.Now().After(deadline) {
			t.Fatalf("testfuse: gave up waiting for %s after %s", what, limit)
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}
