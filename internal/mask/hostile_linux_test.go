package mask_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// processor is what this process has had of the processor.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// A pod starts 2,000 processes whose command lines were made to take long to mask. Before there was a budget, eight of them
// took a minute, and the report was empty.
func TestHostileCommandLinesDoNotTakeTheRunsTime(t *testing.T) {
	words := []string{"key=", "token=,", "a:b@", `token=\\\"`, "redis-cli a ", "password=a,", `secrets="map[a:{`, "%25%25", "密码:", `token='token="`}
	e := forensics.NewEvidence()
	for i := range 500 {
		word := words[i%len(words)]
		e.Processes = append(e.Processes, procs.Process{PID: i + 1, Command: []string{"x", strings.Repeat(word, 128<<10/len(word))}})
	}
	began := processor(t)
	if _, err := mask.Until(t.Context(), &e, []byte("key"), false); err != nil {
		t.Fatal(err)
	}
	took := processor(t) - began
	t.Logf("%v", took)
	if took > 10*time.Second {
		t.Errorf("masking took %v", took)
	}
	for _, p := range e.Processes {
		if len(p.Command) != 2 || !strings.HasSuffix(p.Command[1], " bytes not shown)") || len(p.Command[1]) > 128<<10 {
			t.Fatalf("the command line of %d ends in %q", p.PID, p.Command[1][max(0, len(p.Command[1])-80):])
		}
	}
}
