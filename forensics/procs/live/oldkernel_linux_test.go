//go:build oldkernel

package live

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have. That only names in memory are
// looked up cannot be had there.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t, "-test.skip=^TestLinksThatAreNotInMemory$") }
