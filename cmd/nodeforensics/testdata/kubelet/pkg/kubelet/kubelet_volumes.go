package kubelet

import (
	"os"
	"path/filepath"
	"slices"
)

// HandlePodCleanups is the housekeeping.
//
//go:noinline
func (kl *Kubelet) HandlePodCleanups() error {
	return kl.cleanupOrphanedPodDirs()
}

// cleanupOrphanedPodDirs looks at the directories of pods that the kubelet does not know. It removes nothing.
//
//go:noinline
func (kl *Kubelet) cleanupOrphanedPodDirs() error {
	pods, err := os.ReadDir(filepath.Join(kl.RootDir, "pods"))
	if err != nil {
		return nil // not made yet
	}
	for _, pod := range pods {
		if !slices.Contains(kl.Pods, pod.Name()) {
			kl.podVolumesExist(pod.Name())
		}
	}
	return nil
}

//go:noinline
func (kl *Kubelet) podVolumesExist(uid string) bool {
	return len(kl.getMountedVolumePathListFromDisk(uid)) > 0
}

// getMountedVolumePathListFromDisk asks every volume of a pod with stat(2), as the kubelet does through
// IsLikelyNotMountPoint. It never comes back from one on a dead mount.
//
//go:noinline
func (kl *Kubelet) getMountedVolumePathListFromDisk(uid string) []string {
	volumes := filepath.Join(kl.RootDir, "pods", uid, "volumes")
	var mounted []string
	plugins, _ := os.ReadDir(volumes)
	for _, plugin := range plugins {
		names, _ := os.ReadDir(filepath.Join(volumes, plugin.Name()))
		for _, name := range names {
			path := filepath.Join(volumes, plugin.Name(), name.Name())
			if plugin.Name() == "kubernetes.io~csi" {
				path = filepath.Join(path, "mount")
			}
			if _, err := os.Stat(path); err == nil {
				mounted = append(mounted, path)
			}
		}
	}
	return mounted
}
