//go:build oldkernel

package hostfs

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have: none is used by mistake. The
// race needs such a call itself.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t, "-test.skip=^TestRace") }
