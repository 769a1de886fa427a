package collect

import (
	"os"
	"sync"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// TestAnAbandonedReaderKeepsItsTables has a reader of processes go on when another has begun, as after its time was up: under
// the race detector they must share no table.
func TestAnAbandonedReaderKeepsItsTables(t *testing.T) {
	c, err := newCollector(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	abandoned := c.procsOptions()
	next := c.procsOptions()
	var both sync.WaitGroup
	for i, table := range []func(int, uint64) *mounts.Index{abandoned.Table, next.Table} {
		both.Go(func() {
			for n := range 50 {
				if table(os.Getpid(), uint64(100*i+n+2)) == nil {
					t.Error("the table of this process was not found")
				}
			}
		})
	}
	both.Wait()
}
