package mounts

import (
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	testvm.Main()
	testfuse.Main()
	os.Exit(m.Run())
}
