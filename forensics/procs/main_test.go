package procs

import (
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	childMain()
	os.Exit(m.Run())
}
