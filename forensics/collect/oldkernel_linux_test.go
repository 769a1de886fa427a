//go:build oldkernel

package collect_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have. In the mount namespace that they
// have for it, nobody else is in the root. Those that take long are left out where such a call makes no difference: a virtual
// machine has its own kernel, and a table that takes too long to write is read in one way.
func TestOnOldKernel(t *testing.T) {
	testvm.RunTestsOld(t, "-test.skip=^(TestHoldersOfRoot|TestHeldOnAnotherKernel|TestStackOfMountsCostsNothingElse)$")
}
