package collect_test

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
)

// Who uses the file systems at and below a directory? A process whose working directory it is.
func ExampleHolders() {
	sleep := exec.Command("sleep", "60")
	sleep.Dir = "/dev/shm"
	if err := sleep.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	evidence, err := collect.Holders(ctx, collect.Options{}, "/dev/shm")
	if err != nil {
		fmt.Println(err)
		return
	}
	model := forensics.NewModel(&evidence)
	innermost := collect.FindMounts(&evidence.Mounts, "/dev/shm")[0]
	for _, h := range model.Uses().Of(innermost).Holders {
		if h.PID == sleep.Process.Pid {
			fmt.Println(h.Comm, h.Kind, h.Path)
		}
	}
	// Output: sleep cwd /dev/shm
}
