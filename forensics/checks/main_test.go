package checks

import (
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}
