package forensics

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// judgeForeign finds the foreign mounts that the host no longer has, and, of those that were asked for, the ones that the host also has.
// An unmount on the host reaches none of them. A file system that only another namespace has counts as a leak if it has a server or a
// disk, or if its mount point is a directory of a pod.
func judgeForeign(e *Evidence) (leaked, private []ForeignMount) {
	if e.MountUse == nil || len(e.MountUse.Foreign) == 0 {
		return nil, nil
	}
	type place struct{ device, root string }
	devices, places := map[string]bool{}, map[place]bool{}
	for i := range e.Mounts.Mounts {
		m := &e.Mounts.Mounts[i]
		devices[m.Device], places[place{m.Device, m.Root}] = true, true
	}
	tied := map[int]bool{}
	for _, c := range e.MountUse.Copies {
		tied[c.MountID] = tied[c.MountID] || c.Tied()
	}
	for _, f := range e.MountUse.Foreign {
		m := &f.Mount
		remote := m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE || m.Class == mounts.ClassBlock
		switch {
		case places[place{m.Device, strings.TrimSuffix(m.Root, "//deleted")}]:
			if !tied[m.ID] {
				private = append(private, f)
			}
		case f.MountedSince:
		case f.On != "" && poduid.Path.MatchString(f.On), remote && !devices[m.Device]:
			leaked = append(leaked, f)
		}
	}
	return leaked, private
}

// judgeCopies are the mounts that propagation ties to others, of those with open files or a system call in flight.
func judgeCopies(e *Evidence) []mounts.Copy {
	using := map[int]bool{}
	for i := range e.MountUse.Holders {
		using[e.MountUse.Holders[i].MountID] = true
	}
	for i := range e.Threads {
		t := &e.Threads[i]
		using[t.MountID] = using[t.MountID] || !t.Gone
	}
	copies := []mounts.Copy{}
	for _, c := range e.MountUse.Copies {
		if using[c.MountID] && c.Tied() {
			copies = append(copies, c)
		}
	}
	return copies
}

// LeakOf names the pod whose volume a leaked mount is a copy of. If that is not proven, it is "", and why says the reason. The owner
// of a mount namespace can choose any mount point. Two things prove that the host had the mount: the directory below it is the kubelet's
// own, and only root of the host can mount in that namespace.
func (u *Uses) LeakOf(l ForeignMount) (uid, why string) {
	uid, _ = PodOf(l.On)
	switch ours, owner := u.ownedHere(l); {
	case !ours:
		return "", owner
	case inVolume(u.model, l.On) != 0:
		return "", "its mount point is not a directory that the kubelet makes for a volume"
	}
	return uid, ""
}

// InVolume says whether a path is in the content of a pod's volume. The pod makes the directories there, and can replace one by a
// symbolic link.
func InVolume(m *Model, name string) bool { return inVolume(m, name) > 0 }

// inVolume is how many directories deep in a volume of a pod a path is: 0 for the mount point of the volume, on directories
// that only the kubelet makes, and less for everything else. A volume is at pods/UID/volumes/PLUGIN/NAME, one of a CSI driver in mount
// below that, and a subpath at pods/UID/volume-subpaths/VOLUME/CONTAINER/INDEX (pkg/kubelet/config/defaults.go).
func inVolume(m *Model, name string) int {
	for _, root := range m.KubeletRoots() {
		below, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(root, "/")+"/pods/")
		parts := strings.Split(below, "/")
		switch {
		case !ok || len(parts) < 4:
		case parts[1] == "volumes" && parts[2] == "kubernetes.io~csi":
			if len(parts) > 4 && parts[4] == "mount" {
				return len(parts) - 5
			}
		case parts[1] == "volumes":
			return len(parts) - 4
		case parts[1] == "volume-subpaths":
			return len(parts) - 5
		}
	}
	return -1
}

// ownedHere says whether the mount namespace of a leak belongs to the user namespace that this program ran in, and otherwise who owns
// it. If the kernel does not show that (before Linux 4.9), all its processes have to be in that user namespace.
func (u *Uses) ownedHere(l ForeignMount) (ours bool, owner string) {
	h := u.model.evidence.MountUse
	if h == nil || h.UserNS == 0 {
		return false, "the owner of the mount namespace is not known"
	}
	if l.Owner != 0 {
		return l.Owner == h.UserNS, fmt.Sprintf("the mount namespace belongs to user namespace %d, where others than root of the host can mount anything", l.Owner)
	}
	in := 0
	for _, p := range u.model.evidence.Processes {
		if p.MountNS != l.Namespace {
			continue
		}
		if in++; p.UserNS != h.UserNS {
			return false, fmt.Sprintf("process %d of the mount namespace is in another or unknown user namespace", p.PID)
		}
	}
	return in > 0, "the owner of the mount namespace is not known"
}

// Elsewhere says whether a file system is mounted only in mount namespaces other than those of the host and the kubelet, and is not
// proven to have been the host's. Its creator determines its names and its answers.
func (u *Uses) Elsewhere(device string) bool {
	list := u.model.MountsOf(device)
	return len(list) > 0 && !slices.ContainsFunc(list, func(mount mounts.Mount) bool {
		l, elsewhere := u.model.leaks[mount.ID]
		if !elsewhere {
			return true
		}
		uid, _ := u.LeakOf(l)
		return uid != ""
	})
}

// PodsOf lists the UIDs of the pods that have a mount of a superblock, in mountinfo order. A path in another mount
// namespace proves nothing: see [Uses.LeakOf].
func (m *Model) PodsOf(device string) []string {
	var uids []string
	seen := map[string]bool{}
	for _, mount := range m.MountsOf(device) {
		uid, _ := PodOf(mount.MountPoint)
		if l, elsewhere := m.leaks[mount.ID]; elsewhere {
			uid, _ = m.uses.LeakOf(l)
		}
		if uid != "" && !seen[uid] {
			seen[uid] = true
			uids = append(uids, uid)
		}
	}
	return uids
}
