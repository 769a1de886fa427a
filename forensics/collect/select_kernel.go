package collect

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kernel finds what in the kernel uses the mounts that are wanted.
func (k *selector) kernel(ctx context.Context, fsys *hostfs.FS, result *procslive.HoldersResult) []error {
	own, _ := fsys.ReadLink("/proc/" + strconv.Itoa(selfPID()) + "/ns/net")
	list, errs := procslive.KernelHolders(ctx, fsys, &k.evidence.Mounts, k.want.mount, result.Bound[own])
	sockets := map[uint64]bool{}
	for _, inode := range result.Sockets {
		sockets[inode] = true
	}
	list = sorting.Delete(list, func(u holders.KernelUser) bool { // those are among the holders, with their process
		return u.Use == holders.UseSocket && sockets[u.Socket]
	})
	k.use.Kernel = append(list, k.marks(result.Marks)...)
	k.use.LeftOut += k.boundKernel()
	return errs
}

// marks are the users that only watch, of the host's mounts that are wanted.
func (k *selector) marks(list []holders.Mark) []holders.KernelUser {
	var users []holders.KernelUser
	for _, mark := range list {
		for _, m := range k.model.MountsOf(mark.Device) {
			if k.want.mount(&m) {
				users = append(users, k.mark(mark, m))
			}
		}
		if m, ok := k.model.Mount(mark.MountID); ok && mark.MountID != 0 && k.want.mount(&m) {
			users = append(users, k.mark(mark, m))
		}
	}
	return users
}

func (k *selector) mark(mark holders.Mark, m mounts.Mount) holders.KernelUser {
	p, _ := k.model.Process(mark.PID)
	return holders.KernelUser{
		MountID: m.ID, Device: m.Device, Use: holders.UseMark, What: mark.Kind,
		Detail: fmt.Sprintf("%s of process %d (%s), descriptor %d; it does not block an unmount%s", text.Plural(mark.Count, "mark"), mark.PID, p.Comm, mark.FD,
			map[bool]string{true: ", but its unread events do"}[mark.Kind == "fanotify"]),
	}
}

// boundKernel keeps the first of the kernel's users, those that block before the others, and counts the rest: a file system
// with many mounts has as many other users at each of them.
func (k *selector) boundKernel() int {
	sorting.Stable(k.use.Kernel, func(a, b holders.KernelUser) int {
		if a.Blocks == b.Blocks {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[a.Blocks]
	})
	all := len(k.use.Kernel)
	k.use.Kernel = k.use.Kernel[:min(all, maxKernelUsers)]
	return all - len(k.use.Kernel)
}
