package main

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testvm"
)

// TestOnOldKernel runs the tests of verdicts and holders without the system calls that an old kernel does not have. Left out is
// what takes long and asks nothing else of the kernel than the others do.
func TestOnOldKernel(t *testing.T) {
	testvm.RunTestsOld(t, "-test.run=^TestHolders|^TestA[A-Z]|^TestOneDeadServer|^TestLockedFile|^TestFetchOnOpen",
		"-test.skip=^TestASlowDisk|^TestADeadDiskIsFound|^TestASignal|^TestASavedRun|^TestACapturedDisk|^TestAnInterrupt")
}
