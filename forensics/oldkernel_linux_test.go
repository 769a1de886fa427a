package forensics_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have. In the mount namespace that
// they have for it, nobody else is in the root.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t, "-test.skip=^TestHoldersOfRoot$") }
