package live

import (
	"os"
	"sync"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// programs are those that tests have built, each once: their paths by how that was done.
var programs struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	testvm.Main()
	testfuse.Main()
	status := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(status)
}
