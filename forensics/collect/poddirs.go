package collect

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
)

func (c *collector) podDirs(ctx context.Context) (forensics.Evidence, error) {
	k := c.seen().Kubelet
	if k == nil || k.CanonicalRoot == "" {
		return forensics.Evidence{}, fmt.Errorf("the root directory of the kubelet is not known: %w", fs.ErrNotExist)
	}
	fsys, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	table := c.kubeletTable()
	dirs, err := kubeletlive.Walk(ctx, fsys, table.Index(), k.CanonicalRoot, kubeletlive.WalkOptions{Group: c.opt.Calls, Uncounted: c.running()})
	if dirs == nil {
		dirs = []kubelet.PodDir{}
	}
	return forensics.Evidence{PodDirs: dirs}, err
}

// running says of a pod whether a process of it was seen: its volumes are in use, and what is in them is its own affair.
func (c *collector) running() func(uid string) bool {
	seen := map[string]bool{}
	for _, p := range c.seen().Processes {
		seen[p.PodUID] = p.PodUID != ""
	}
	return func(uid string) bool { return seen[uid] }
}
