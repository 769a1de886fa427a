package mounts

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
	"github.com/nodeforensics/nodeforensics/forensics/testvm"
)

func TestMain(m *testing.M) {
	testvm.Main()
	testfuse.Main()
	os.Exit(m.Run())
}
