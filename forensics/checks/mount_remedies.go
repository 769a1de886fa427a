package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// hungRemedies are the steps for a file system that does not answer, in the order that works: the server first, then
// what releases the callers, the lazy unmount last because it releases nobody: who holds the mount is stopped before.
func hungRemedies(p *forensics.Pass, s superblock) []forensics.Remedy {
	m := s.mount()
	steps := []forensics.Remedy{firstStep(p, s)}
	switch m.Class {
	case mounts.ClassFUSE:
		steps = append(steps, abortFUSE(m), lazyUnmount(p, m))
	case mounts.ClassNetwork:
		steps = append(steps, forceUnmount(p, m), lazyUnmount(p, m))
	}
	return steps
}

func isSMB(m mounts.Mount) bool { return m.FSType == "cifs" || m.FSType == "smb3" }

// reviveFrom is the step that fits to what is known of the server or disk.
func reviveFrom(b backing.Backing, m mounts.Mount) forensics.Remedy {
	r, disk := revive(m), ""
	if at := slices.IndexFunc(b.Disks, func(d backing.DiskState) bool { return d.Suspended || d.Kind == "multipath" }); at >= 0 {
		disk = cmp.Or(b.Disks[at].Map, b.Disks[at].Name)
	}
	named := mapName.MatchString(disk)
	switch b.Fault {
	case backing.FaultBlocklisted:
		r.Command = "Take the client off the blocklist (ceph osd blocklist ls, … rm), then unmount and mount anew"
		r.Why = "the cluster has thrown this client out: no call returns by itself, and bringing servers back changes nothing"
		r.Precondition = "it is known why it was evicted: two clients that both write corrupt data"
		r.Risk = "what was not written is lost"
	case backing.FaultRefused, backing.FaultSilent:
		if b.Ceph != nil {
			r.Command, r.Why = askCeph, "shows the daemons that are down or stand still; once they are back, "+r.Why
		} else if m.Class == mounts.ClassNetwork {
			r.Command = "Look at the service on the server of " + quote(m.Source) + ": its host answers, it does not"
		}
	case backing.FaultLost:
		if b.Ceph != nil {
			r.Command, r.Why = askCeph, "shows what became of "+b.Ceph.OwingNames()+"; once that is back, "+r.Why
			break
		}
		r.Command = "Look whether the server of " + quote(m.Source) + " is up and its service listens"
	case backing.FaultUnreachable:
		r.Command = "Look at the network to the server of " + quote(m.Source) + ", and whether its host is up"
	case backing.FaultNoPath:
		r.Command = "Bring a path of the disk " + quote(disk) + " back: multipath -ll shows them"
		if named {
			r.Command, r.Why = "multipath -ll "+disk, "shows the paths of the disk: "+r.Why
		}
	case backing.FaultSuspended:
		r.Command, r.Why = "Resume the disk "+quote(disk)+" (dmsetup resume)", "the device holds requests back until it is resumed"
		if named {
			r.Command = "dmsetup resume " + disk
		}
		r.Precondition, r.Risk = "no snapshot or resize is under way: ask whoever has suspended it", "a snapshot that is being taken becomes inconsistent"
	}
	return r
}

// askCeph is what a cluster says of its daemons.
const askCeph = "ceph -s; ceph fs status; ceph osd tree"

func revive(m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Command: "Bring the server of " + quote(m.Source) + " back, or the network to it",
		Why:     "every waiting call then returns by itself and the kubelet goes on: nothing needs to be restarted",
		Risk:    "none",
	}
	if m.FSType == "ceph" {
		r.Risk = "none; it does not help where the server has dropped this client for good (an evicted session)"
	}
	switch m.Class {
	case mounts.ClassFUSE:
		r.Command = "Look at the process that serves " + quote(m.Source) + " (" + quote(m.FSType) + "): stopped, blocked or waiting for its own server?"
		r.Why = "if it answers again, every waiting call returns by itself and the kubelet goes on"
		r.Risk = "killing or restarting it ends the mount for every pod that uses it: the mount point then answers ENOTCONN until it is unmounted"
	case mounts.ClassBlock:
		r.Command = "Look at the disk: dmesg, multipath -ll, the device's state and in-flight requests below /sys/block"
		r.Why = "a path that comes back lets all waiting requests finish"
		r.Risk = "reading is harmless; turning queueing off (multipath, dmsetup) makes requests fail and the file system may shut down"
	}
	return r
}

func abortFUSE(m mounts.Mount) forensics.Remedy {
	if mounts.FUSEConnection(m.Device) == 0 {
		return forensics.Remedy{
			Command: "Find the connection of the file system below /sys/fs/fuse/connections: " + quote(m.Device) + " is no superblock",
			Why:     "writing 1 to its file abort ends every request of it", Risk: "none: it reads",
		}
	}
	return forensics.Remedy{
		Command:      fmt.Sprintf("echo 1 > /sys/fs/fuse/connections/%d/abort", mounts.FUSEConnection(m.Device)),
		Why:          "ends every request of this connection with an error, so that all waiting threads, the kubelet's too, go on at once",
		Precondition: "the server cannot be revived; fusectl is mounted on /sys/fs/fuse/connections; the number still belongs to this mount (third field " + m.Device + " in /proc/self/mountinfo)",
		Risk:         "writes that were not answered are lost; the mount answers ENOTCONN afterwards and every pod on it must be restarted; for lxcfs it breaks /proc in all containers",
	}
}

// forceUnmount ends the requests of a network file system. The SMB client's own umount_begin only wakes those that wait,
// and they go on waiting (cifs_umount_begin in fs/smb/client/cifsfs.c, seen with Linux 6.1).
func forceUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	if isSMB(m) {
		return forensics.Remedy{
			Command: "Wait: a silent server is given up after three times echo_interval (180 s unless mounted otherwise), and what waits then fails with EHOSTDOWN",
			Why:     "the SMB client ends its requests itself; umount -f ends none. SIGKILL ends a thread that waits for an answer, but none that waits for another one to connect",
			Risk:    "what fails was not written; where the mount has the option hard, callers go on waiting",
		}
	}
	options, r := "-c -f", forensics.Remedy{
		Why:          "fails the outstanding requests with EIO so that waiting threads go on; may have to be repeated. -c keeps umount(8) from touching the dead mount while it resolves the path",
		Precondition: "the server is gone for good; no process still needs unwritten data; for several mounts of this file system, each of them: " + m.Device,
		Risk:         "dirty data is lost and applications see EIO; it does not unmount while something uses the mount; a mount of the same export made now may share the dead connection",
	}
	if strings.HasPrefix(m.FSType, "nfs") { // seen with Linux 5.10, 6.1 and 6.12
		options = "-i -c -f"
		r.Why = "fails the outstanding requests so that waiting threads go on. The first time it says \"target is busy\" and releases " +
			"them; repeat it until it says nothing, since threads that waited behind them ask anew. -c keeps umount(8) from touching the " +
			"dead mount while it resolves the path, -i keeps umount.nfs from asking the dead server first (13 s each time with NFSv3)"
		r.Risk = "dirty data is lost and applications see ESTALE, EIO or errno 512; it does not unmount while something has a file open " +
			"there; a mount of the same export made now may share the dead connection"
	}
	return unmount(p, m, options, r)
}

func lazyUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	return unmount(p, m, "-c -l", forensics.Remedy{
		Why:          "takes the mount out of the namespace, so that nobody new walks into it",
		Precondition: "the steps before were taken: threads that already wait are not released by this",
		Risk:         "hides the mount from every table while it is still in use; mounts below it go, too, and the unmount spreads to peer namespaces; never before the volume is attached to another node",
		Stage:        forensics.StageHide,
	})
}

func cordon(p *forensics.Pass) forensics.Remedy {
	node := p.Evidence.Node.Name
	if k := p.Evidence.Kubelet; k != nil && k.NodeName != "" {
		node = k.NodeName
	}
	if !isObjectName(node) {
		node = "NODE"
	}
	return forensics.Remedy{
		Command: "kubectl cordon " + node,
		Why: "from kubelet 1.14 on the node stays Ready while its sync loop is dead, and the scheduler keeps sending pods to it, " +
			"which stay Pending",
		Risk: "none for what runs: containers go on, but are not restarted if they end; new pods go elsewhere. It heals nothing",
	}
}

// unmountDead is for a file system that answers with an error: nothing waits, so a plain lazy unmount suffices.
func unmountDead(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Why:          "the mount answers every call with an error and does not heal; without it the kubelet can finish the pod, or mount it anew",
		Precondition: "the pods that use " + m.Source + " have been stopped or can be restarted",
		Risk:         "unwritten data is lost already; mounts below it are detached, too",
		Stage:        forensics.StageHide,
	}
	if isSMB(m) {
		r.Why = "where the server does not come back, the kubelet can finish the pod"
	}
	return unmount(p, m, "-c -l", r)
}
