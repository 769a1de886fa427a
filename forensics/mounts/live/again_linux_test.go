package live

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have, beside the others, before which it
// stands.
func TestOnOldKernel(t *testing.T) {
	wait := testvm.StartTestsOld(t)
	t.Parallel()
	wait()
}
