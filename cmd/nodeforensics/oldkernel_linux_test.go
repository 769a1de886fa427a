//go:build oldkernel

package main

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestOnOldKernel runs the tests of holders, and of each way in which a mount or disk does not answer, without the system calls
// that an old kernel does not have.
func TestOnOldKernel(t *testing.T) {
	testvm.RunTestsOld(t, "-test.run=^TestHolders|^TestAHealthyNode|^TestAKilledServer|^TestAFrozen|^TestAMount|^TestADiskThat|^TestAFileOn|"+
		"^TestAServer|^TestOneDeadServer|^TestLockedFile|^TestFetchOnOpen|^TestACloseIs")
}
