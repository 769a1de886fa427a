//go:build oldkernel

package backing_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have. A real disk has a kernel of its
// own.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t, "-test.skip=^TestOnRealDisks$") }
