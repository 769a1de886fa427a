//go:build oldkernel

package live

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t) }
