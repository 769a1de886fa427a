package mounts

import "slices"

// A Copy is a mount that propagation ties to another one: umount(2) of that unmounts it, too, and answers EBUSY while it is
// in use (propagate_mount_busy in fs/pnode.c), whichever namespace it is in. So a container with HostToContainer or
// Bidirectional propagation keeps a mount of the host busy, and one with a private copy does not.
type Copy struct {
	Of int `json:"of_mount_id"`
	// MountID, MountPoint and Namespace are those of the copy.
	MountID    int    `json:"mount_id"`
	MountPoint string `json:"mount_point"`
	Namespace  uint64 `json:"namespace,omitempty"`
	// OnGroup is the peer group of the original's parent. Groups are the peer group of the copy's parent, and then those that
	// the parent receives mounts from, nearest first.
	OnGroup int   `json:"original_on_peer_group"`
	Groups  []int `json:"copy_on_peer_groups"`
}

// Tied says whether an unmount of the original takes the mount along.
func (c Copy) Tied() bool { return slices.Contains(c.Groups, c.OnGroup) }
