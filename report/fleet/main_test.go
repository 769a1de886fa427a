package fleet

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testgc"
)

func TestMain(m *testing.M) { testgc.Run(m) }
