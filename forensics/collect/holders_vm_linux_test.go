//go:build download

package collect_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestHeldOnAnotherKernel looks for what no link in /proc shows on the kernel of Debian 12 (Linux 6.1), which tells less of it.
func TestHeldOnAnotherKernel(t *testing.T) {
	if !testvm.Inside() {
		testvm.Run(t, testvm.Machine{Packages: []string{"coreutils"}, Modules: []string{"fuse"}})
		return
	}
	t.Run("io_uring", TestHeldByRing)
	t.Run("queue", TestHeldInQueue)
	t.Run("ending", TestHeldByEnding)
	t.Run("copies", TestBusyByCopy)
}
