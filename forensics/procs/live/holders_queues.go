package live

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
)

// socketsOf are the sockets that a process, or a thread for itself, has open.
type socketsOf struct {
	pid  int
	task string // as in holdings
	list []openSocket
}

func socketsIn(found []*holdings) []socketsOf {
	var list []socketsOf
	for _, p := range found {
		if len(p.sockets) > 0 {
			list = append(list, socketsOf{p.pid, p.task, p.sockets})
		}
	}
	return list
}

// AskQueues asks the sockets that were seen for the descriptors in their queues (unix_show_fdinfo, Linux 5.8), and adds those
// to Queued. That takes as long for each as asking for a mount id, on a machine with many sockets as much as all the rest, and
// tells of no mount: it is for where nothing else explains why one is busy. See [HoldersOptions].Queues.
//
// A socket that has been closed meanwhile has no queue.
func (r *HoldersResult) AskQueues(ctx context.Context, fsys *hostfs.FS) error {
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		return fmt.Errorf("queues of sockets: %w", err)
	}
	defer func() { _ = proc.Close() }()
	buf := make([]byte, 0, 4<<10)
	for _, p := range r.sockets {
		if ctx.Err() != nil {
			return fmt.Errorf("queues of sockets: %w", ctx.Err())
		}
		infos, err := proc.OpenDir(strconv.Itoa(p.pid) + "/" + p.task + "fdinfo")
		if err != nil {
			continue // it has ended
		}
		for _, s := range p.list {
			info, err := infos.Head(buf, strconv.Itoa(int(s.fd)))
			if n := procfd.Number(info, "scm_fds:"); err == nil && n != 0 {
				r.Queued = append(r.Queued, holders.Queued{PID: p.pid, FD: int(s.fd), Count: int(n)})
			}
		}
		_ = infos.Close()
	}
	return nil
}
