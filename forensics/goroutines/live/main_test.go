package live

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

func TestMain(m *testing.M) {
	testvm.Main()
	testfuse.Main()
	os.Exit(m.Run())
}
