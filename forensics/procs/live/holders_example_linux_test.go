package live_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// Who has this file open? The same pass answers for every mount of the machine.
func ExampleHolders() {
	file, err := os.CreateTemp("", "held")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	fsys, err := hostfs.Open("/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = fsys.Close() }()
	result, err := procslive.Holders(context.Background(), fsys, procslive.HoldersOptions{
		Keep: func(h *holders.Holder) bool { return h.PID == os.Getpid() && h.Path == file.Name() },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range result.Holders {
		fmt.Println(h.Kind, h.MountID != 0, h.Deleted)
	}
	// Output: fd true false
}
