package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

func (c *collector) staticPods(ctx context.Context) (forensics.Evidence, error) {
	k := c.seen().Kubelet
	if k != nil && k.StaticPodPath == "" && len(k.ConfigUnread) > 0 {
		return forensics.Evidence{}, fmt.Errorf("the static pod path is not known: %s could not be read: %w", k.ConfigUnread[0], fs.ErrNotExist)
	}
	if k == nil || k.StaticPodPath == "" {
		return forensics.Evidence{}, fmt.Errorf("no static pod path is configured: %w", fs.ErrNotExist)
	}
	fsys, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	pods, errs := kubelet.StaticPods(ctx, fsys, k.StaticPodPath)
	return forensics.Evidence{Pods: pods}, errors.Join(errs...)
}
