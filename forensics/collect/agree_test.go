package collect

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

func TestTakeThreads(t *testing.T) {
	goroutine := func(id int64, minutes, thread int, function string) goroutines.Goroutine {
		return goroutines.Goroutine{ID: id, Count: 1, WaitMinutes: minutes, Thread: thread, Frames: []goroutines.Frame{{Func: function, Line: 7}}}
	}
	dump := func(list ...goroutines.Goroutine) *forensics.Dump {
		return &forensics.Dump{Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: list}}
	}
	own := dump(goroutine(1, 5, 0, "os.Stat"), goroutine(2, 0, 0, "main.run"), goroutine(3, 9, 0, "main.wait"), goroutine(4, 3, 0, "main.gone"))
	memory := dump(goroutine(1, 5, 101, "os.Stat"), goroutine(2, 0, 102, "main.other"), goroutine(3, 9, 103, "main.moved"))
	same, of := takeThreads(own, memory)
	if same != 1 || of != 3 {
		t.Errorf("%d of %d that wait are the same, want 1 of 3", same, of)
	}
	for i, want := range []int{101, 0, 0, 0} {
		if got := own.Goroutines[i].Thread; got != want {
			t.Errorf("goroutine %d is on thread %d, want %d", own.Goroutines[i].ID, got, want)
		}
	}
}
