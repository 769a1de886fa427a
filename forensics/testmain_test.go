package forensics_test

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}
