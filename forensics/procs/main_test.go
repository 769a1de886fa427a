package procs

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	childMain()
	os.Exit(m.Run())
}
