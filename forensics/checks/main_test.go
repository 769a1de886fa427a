package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testgc"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	testgc.Run(m)
}
