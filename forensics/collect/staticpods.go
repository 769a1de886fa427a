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

// sourceKubeletState is the coverage of the kubelet's state files.
const sourceKubeletState = forensics.SourceKubelet + ":state-files"

// statePods reads which pods the kubelet's state files name. They are read after the pod directories: the kubelet writes
// allocated_pods_state before it makes a directory.
func (c *collector) statePods(ctx context.Context) (forensics.Evidence, error) {
	k := c.seen().Kubelet
	if k == nil || k.CanonicalRoot == "" {
		return forensics.Evidence{}, fmt.Errorf("the root directory of the kubelet is not known: %w", fs.ErrNotExist)
	}
	fsys, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	pods, err := k.StatePods(ctx, fsys)
	return forensics.Evidence{Pods: pods}, err
}
