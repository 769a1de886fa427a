package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

func volumePath(pod int) string {
	return fmt.Sprintf("%s%s/volumes/kubernetes.io~csi/pvc-%d/mount", podsDir, UID(pod), pod)
}

func mountKinds() []Kind {
	return []Kind{
		{"hung mounts", hungMounts},
		{"bind mounts of one file system", bindMounts},
		{"stacked mounts", stackedMounts},
		{"nested mounts", nestedMounts},
		{"mounts of gone pods", func(e *forensics.Evidence, n int) {
			for i := range n {
				id := nextMount(e)
				e.Mounts.Mounts = append(e.Mounts.Mounts, tmpfs(id, 27, device(id), volumePath(i)))
			}
		}},
		{"mounts of another namespace", func(e *forensics.Evidence, n int) { leaks(e, 1, n) }},
		{"mount namespaces", func(e *forensics.Evidence, n int) { leaks(e, n, 1) }},
		{"holders of one mount", func(e *forensics.Evidence, n int) { addHolders(e, n, func(int) int { return hungMount }) }},
		{"processes that hold a mount each", func(e *forensics.Evidence, n int) {
			first := nextMount(e)
			hungMounts(e, n)
			addHolders(e, n, func(i int) int { return first + i })
		}},
		{"users of a mount in the kernel", kernelUsers},
		{"copies of a mount", copies},
		{"FUSE servers", fuseServers},
		{"detached mounts", detached},
		{"deleted files", deletedFiles},
		{"servers and disks", backings},
	}
}

func nextMount(e *forensics.Evidence) int { return firstMount + len(e.Mounts.Mounts) }

func hungMounts(e *forensics.Evidence, n int) {
	for i := range n {
		id := nextMount(e)
		m := nfs(id, device(id), volumePath(i))
		e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		v1.AddHealth(e, mounts.Health{MountID: id, Device: m.Device, MountPoint: m.MountPoint, Status: mounts.StatusHung, Method: "probe", Seconds: 900})
	}
}

func bindMounts(e *forensics.Evidence, n int) {
	for i := range n {
		e.Mounts.Mounts = append(e.Mounts.Mounts, nfs(nextMount(e), hungDevice, volumePath(i)))
	}
}

func stackedMounts(e *forensics.Evidence, n int) {
	parent := hungMount
	for range n {
		id := nextMount(e)
		e.Mounts.Mounts = append(e.Mounts.Mounts, tmpfs(id, parent, device(id), e.Mounts.Mounts[1].MountPoint))
		parent = id
	}
}

func nestedMounts(e *forensics.Evidence, n int) {
	parent, at := 27, volumePath(1)
	for i := range n {
		id := nextMount(e)
		if i%64 == 0 { // a path has 4096 bytes
			parent, at = 27, volumePath(2+i)
		}
		e.Mounts.Mounts = append(e.Mounts.Mounts, tmpfs(id, parent, device(id), at))
		parent, at = id, at+"/d"
	}
}

// leaks are mounts that the host has no more, so many in each of so many namespaces.
func leaks(e *forensics.Evidence, namespaces, each int) {
	for i := range namespaces {
		ns := hostNS + 1 + uint64(len(e.MountUse.Foreign)) + uint64(i)
		table := mounts.Table{Namespace: ns, PID: 20_000 + i, Root: "/"}
		for j := range each {
			m := nfs(10_000_000+len(e.MountUse.Foreign), device(10_000_000+len(e.MountUse.Foreign)), volumePath(50+j))
			table.Mounts = append(table.Mounts, m)
			e.MountUse.Foreign = append(e.MountUse.Foreign, forensics.ForeignMount{Namespace: ns, Mount: m})
		}
		e.Namespaces = append(e.Namespaces, table)
		e.Processes = append(e.Processes, procs.Process{PID: 20_000 + i, PPID: 1, Comm: "pause", State: "S", MountNS: ns})
		e.MountUse.Pinned = append(e.MountUse.Pinned, forensics.PinnedNamespace{Namespace: ns, MountID: 27, MountPoint: fmt.Sprintf("/run/ns/%d", i), MountNS: hostNS})
		e.MountUse.Namespaces = append(e.MountUse.Namespaces, holders.NamespaceHold{PID: 20_000 + i, FD: 3, Namespace: ns})
		e.MountUse.Uninhabited = append(e.MountUse.Uninhabited, ns)
	}
}

func addHolders(e *forensics.Evidence, n int, mount func(i int) int) {
	for i := range n {
		pid := 2_000_000 + len(e.Processes)
		e.Processes = append(e.Processes, procs.Process{PID: pid, PPID: 1, Comm: "tail", State: "S", MountNS: hostNS, PodUID: UID(i), UID: 1000 + i, Command: []string{"tail", "-f"}})
		device := device(mount(i))
		if mount(i) == hungMount {
			device = hungDevice
		}
		e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{PID: pid, Kind: holders.HoldFD, FD: 3, Path: volumePath(i) + "/log", MountID: mount(i), Device: device, MountNS: hostNS})
		e.MountUse.Users = append(e.MountUse.Users, forensics.User{UID: 1000 + i, Name: fmt.Sprintf("user%d", i)})
	}
}

func kernelUsers(e *forensics.Evidence, n int) {
	uses := []holders.KernelUse{holders.UseLoop, holders.UseSocket, holders.UseBind, holders.UseOverlay, holders.UseMount}
	for i := range n {
		e.MountUse.Kernel = append(e.MountUse.Kernel, holders.KernelUser{
			MountID: hungMount, Device: hungDevice, Use: uses[i%len(uses)], What: fmt.Sprintf("/dev/loop%d", i), Socket: uint64(i), UserMount: firstMount + i, Blocks: true,
		})
	}
}

func copies(e *forensics.Evidence, n int) {
	for i := range n {
		e.MountUse.Copies = append(e.MountUse.Copies, mounts.Copy{Of: hungMount, OnGroup: 1, Groups: []int{1}, MountID: 20_000_000 + i, MountPoint: volumePath(i), Namespace: hostNS + 7})
		e.MountUse.Foreign = append(e.MountUse.Foreign, forensics.ForeignMount{Namespace: hostNS + 7, Mount: nfs(20_000_000+i, hungDevice, volumePath(i))})
	}
}

func fuseServers(e *forensics.Evidence, n int) {
	var servers []forensics.FUSEServer
	for i := range n {
		id, pid := nextMount(e), 3_000_000+len(e.Processes)
		m := nfs(id, device(id), volumePath(i))
		m.FSType, m.Class, m.Source = "fuse.ceph-fuse", mounts.ClassFUSE, fmt.Sprintf("ceph-fuse%d", i)
		e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		v1.AddHealth(e, mounts.Health{MountID: id, Device: m.Device, MountPoint: m.MountPoint, Status: mounts.StatusHung, Method: "probe", Seconds: 900})
		e.Processes = append(e.Processes, procs.Process{PID: pid, PPID: 1, Comm: "ceph-fuse", State: "T", MountNS: hostNS, Command: []string{"ceph-fuse", m.MountPoint}})
		servers = append(servers, forensics.FUSEServer{Device: m.Device, PID: pid, Why: "descriptor 3"})
	}
	v1.AddServers(e.MountUse, servers...)
}

func detached(e *forensics.Evidence, n int) {
	for i := range n {
		e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{
			PID: kubeletPID, Kind: holders.HoldFD, FD: i, Path: "/gone", MountID: 30_000_000 + i, Device: device(30_000_000 + i), Detached: true, MountNS: hostNS,
		})
	}
}

func deletedFiles(e *forensics.Evidence, n int) {
	for i := range n {
		e.MountUse.Deleted = append(e.MountUse.Deleted, holders.DeletedFile{
			PID: kubeletPID, FD: i, Path: fmt.Sprintf("/var/log/%d", i), MountID: 27, Device: "8:1", Inode: uint64(i), AllocatedBytes: 4 << 30, SizeBytes: 4 << 30, Written: true,
		})
	}
}

func backings(e *forensics.Evidence, n int) {
	for i := range n {
		e.Backings = append(e.Backings, backing.Backing{
			Device: device(i), Disks: []backing.DiskState{{Name: fmt.Sprintf("sd%d", i)}}, Fault: backing.FaultSilent, Why: "no answer",
			Connections: []backing.Connection{{Remote: "10.0.0.9:2049", State: "established"}},
		})
	}
}
