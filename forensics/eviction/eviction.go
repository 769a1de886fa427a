// Package eviction describes the disks of a node: how full they are, what uses their space, and what the kubelet deletes under pressure.
//
//   - [State] has the file systems that the kubelet watches (nodefs, imagefs, containerfs) with the figures of statfs(2).
//   - [Settings.Thresholds] and [Settings.ImageGC] are the thresholds that the kubelet takes from its configuration
//     (pkg/kubelet/eviction/helpers.go, pkg/kubelet/images/image_gc_manager.go of Kubernetes), and [Index.Reaches] compares every
//     file system with them.
//   - [Rules] classify directories by their paths, and [Usage] adds up what uses the space of a file system.
//
// It reads nothing: package live walks the disks.
package eviction

import (
	"math/bits"
	"slices"
)

// The roles of file systems for the kubelet (k8s.io/kubelet/pkg/apis/stats, Summary).
const (
	RoleNode       = "nodefs"      // where the kubelet's root directory is
	RoleImage      = "imagefs"     // where the runtime keeps images
	RoleContainer  = "containerfs" // where it keeps the writable layers of containers
	RolePodLogs    = "pod-logs"    // where container logs are; no threshold of the kubelet's is about it
	RoleSystemLogs = "system-logs" // where the journal and other logs are; none either
)

// State describes the disks of a node.
type State struct {
	// Places are the directories whose file systems matter, in the order of the roles above.
	Places      []Place      `json:"places"`
	FileSystems []FileSystem `json:"file_systems"`
	// Thresholds are those of eviction about disks, with where each comes from; ImageGC those of image garbage
	// collection; Problems what is wrong with both.
	Thresholds []Threshold `json:"thresholds"`
	ImageGC    ImageGC     `json:"image_gc"`
	Problems   []Problem   `json:"problems"`
	// Assumed says why the kubelet's thresholds may differ, for example because a file of its configuration could not be read. It is
	// empty where the configuration is known.
	Assumed string `json:"thresholds_assumed,omitempty"`
	// Usage is what uses the space, for each file system that was walked. NotWalked says why others were not.
	Usage     []Usage `json:"usage"`
	NotWalked string  `json:"not_walked,omitempty"`
}

// A Place is a directory that the kubelet or the runtime writes to.
type Place struct {
	Role string `json:"role"`
	Path string `json:"path"`
	// Device is its file system, as in FileSystem; empty where that is unknown.
	Device string `json:"device,omitempty"`
	// Why says how it was found ("--root-dir", "root of /etc/containerd/config.toml").
	Why string `json:"why,omitempty"`
}

// A FileSystem is one superblock, with the figures of statfs(2) that df(1) shows.
type FileSystem struct {
	// Device is "major:minor", as in mountinfo where there is one, else from st_dev.
	Device string `json:"device"`
	// MountPoint is where the place lies on it; FSType and Source are absent offline.
	MountPoint string `json:"mount_point,omitempty"`
	FSType     string `json:"fs_type,omitempty"`
	Source     string `json:"source,omitempty"`
	// CapacityBytes is f_blocks, FreeBytes f_bfree, AvailableBytes f_bavail: what the kubelet calls available, without
	// the blocks that are reserved for root.
	CapacityBytes  uint64 `json:"capacity_bytes"`
	FreeBytes      uint64 `json:"free_bytes"`
	AvailableBytes uint64 `json:"available_bytes"`
	// Inodes and InodesFree are 0 where the file system makes inodes as it needs them (btrfs): then there is no limit.
	Inodes     uint64 `json:"inodes"`
	InodesFree uint64 `json:"inodes_free"`
	// Error says why there are no figures ("not probed: the mount is hung").
	Error string `json:"error,omitempty"`
}

// UsedBytes is what df(1) shows as used.
func (f FileSystem) UsedBytes() uint64 { return f.CapacityBytes - min(f.FreeBytes, f.CapacityBytes) }

// UsagePercent is what image garbage collection compares with its threshold (pkg/kubelet/images/image_gc_manager.go):
// 100 less the available percentage, rounded down. Blocks reserved for root count as used.
func (f FileSystem) UsagePercent() int {
	if f.CapacityBytes == 0 {
		return 0
	}
	high, low := bits.Mul64(min(f.AvailableBytes, f.CapacityBytes), 100)
	available, _ := bits.Div64(high, low, f.CapacityBytes)
	return 100 - int(available)
}

// Full says that only root can still write: no space or no inode is left.
func (f FileSystem) Full() (what string, full bool) {
	switch {
	case f.Error != "":
		return "", false
	case f.CapacityBytes > 0 && f.AvailableBytes == 0:
		return "space", true
	case f.Inodes > 0 && f.InodesFree == 0:
		return "inodes", true
	}
	return "", false
}

// Place finds the directory of a role.
func (s *State) Place(role string) (Place, bool) {
	i := slices.IndexFunc(s.Places, func(p Place) bool { return p.Role == role })
	if i < 0 {
		return Place{}, false
	}
	return s.Places[i], true
}

// A Reach is how far a file system is from one threshold.
type Reach struct {
	Threshold  Threshold
	FileSystem FileSystem
	// Have is what is available, Limit where the threshold is, both in bytes or inodes. Met says that it is crossed.
	Have, Limit uint64
	Met         bool
}

// Left is by how much of the capacity Have is above Limit, in percent; negative where the threshold is met.
func (r Reach) Left() float64 {
	total := float64(r.FileSystem.CapacityBytes)
	if r.Threshold.Inodes() {
		total = float64(r.FileSystem.Inodes)
	}
	return (float64(r.Have) - float64(r.Limit)) * 100 / max(total, 1)
}

// Near are the points of capacity below which a file system is near a threshold.
const Near = 5
