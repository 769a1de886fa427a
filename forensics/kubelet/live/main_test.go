package live

import (
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	if role := os.Getenv(roleEnv); role != "" {
		playRole(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// roleEnv makes a copy of the test binary a process to be examined.
const roleEnv = "KUBELET_TEST_ROLE"
