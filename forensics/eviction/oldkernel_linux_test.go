package eviction

import (
	"github.com/nodeforensics/nodeforensics/internal/testvm"
	"testing"
)

// TestOnOldKernel runs the other tests without the system calls that an old kernel does not have.
func TestOnOldKernel(t *testing.T) { testvm.RunTestsOld(t) }
