package live

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}
