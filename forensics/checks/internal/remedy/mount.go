package remedy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Unmount adds the command that unmounts a mount, with options of umount(8). Its action is to unmount unless it has another. Only
// what is in the host's own table is unmounted by its path: what another namespace has at that path is another mount.
func Unmount(p *forensics.Pass, m mounts.Mount, r forensics.Remedy, options ...string) forensics.Remedy {
	r.Action = cmp.Or(r.Action, ActionUnmount)
	host, here := p.Model.Host().ByID(m.ID)
	if !IsPath(m.MountPoint) || m.MountPoint == "/" || !here || host.MountPoint != m.MountPoint || host.Device != m.Device {
		return Tell(r, r.Action, fmt.Sprintf("Have %s unmounted by whoever mounted it: mount %d is not in the mount namespace of the host, where nothing can be done about it", shellword.Quote(m.MountPoint), m.ID))
	}
	if forensics.InVolume(p.Model, m.MountPoint) {
		r.OnlyIf = strings.TrimSuffix(fmt.Sprintf("all that can write to the volume that it lies in has ended (umount follows a symbolic link that is put in the way), "+
			"and mount %d is still there (grep '^%d ' /proc/self/mountinfo); %s", m.ID, m.ID, r.OnlyIf), "; ")
	}
	return Run(r, r.Action, append(append([]string{"umount"}, options...), m.MountPoint)...)
}

// IsSMB says whether a mount is one of the SMB client.
func IsSMB(m mounts.Mount) bool { return fsfamily.Of(m.FSType).Name == fsfamily.NameCIFS }

// AbortFUSE ends all requests of a FUSE connection.
func AbortFUSE(m mounts.Mount) forensics.Remedy {
	if mounts.FUSEConnection(m.Device) == 0 {
		return forensics.Remedy{
			Action: ActionLook, Instruction: "Find the connection of the file system below /sys/fs/fuse/connections: " + shellword.Quote(m.Device) + " is no superblock",
			Why: "writing 1 to its file abort ends every request of it", Risk: "none: it reads",
		}
	}
	return forensics.Remedy{
		Action:  ActionAbort,
		Command: []string{"sh", "-c", fmt.Sprintf("echo 1 > /sys/fs/fuse/connections/%d/abort", mounts.FUSEConnection(m.Device))},
		Why:     "ends every request of this connection with an error, so that all waiting threads, the kubelet's too, go on at once",
		OnlyIf:  "the server cannot be revived; fusectl is mounted on /sys/fs/fuse/connections; the number still belongs to this mount (third field " + m.Device + " in /proc/self/mountinfo)",
		Risk:    "writes that were not answered are lost; the mount answers ENOTCONN afterwards and every pod on it must be restarted; for lxcfs it breaks /proc in all containers",
	}
}

// ForceUnmount ends the requests of a network file system. The SMB client's own umount_begin only wakes those that wait,
// and they go on waiting (cifs_umount_begin in fs/smb/client/cifsfs.c, seen with Linux 6.1).
func ForceUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	if IsSMB(m) {
		return forensics.Remedy{
			Action: ActionWait, Instruction: "Wait: a silent server is given up after three times echo_interval (180 s unless mounted otherwise), and what waits then fails with EHOSTDOWN",
			Why:  "the SMB client ends its requests itself; umount -f ends none. SIGKILL ends a thread that waits for an answer, but none that waits for another one to connect",
			Risk: "what fails was not written; where the mount has the option hard, callers go on waiting",
		}
	}
	options, r := []string{"-c", "-f"}, forensics.Remedy{
		Action: ActionAbort,
		Why:    "fails the outstanding requests with EIO so that waiting threads go on; may have to be repeated. -c keeps umount(8) from touching the dead mount while it resolves the path",
		OnlyIf: "the server is gone for good; no process still needs unwritten data; for several mounts of this file system, each of them: " + m.Device,
		Risk:   "dirty data is lost and applications see EIO; it does not unmount while something uses the mount; a mount of the same export made now may share the dead connection",
	}
	if fsfamily.Of(m.FSType).Name == fsfamily.NameNFS { // seen with Linux 5.10, 6.1 and 6.12
		options = []string{"-i", "-c", "-f"}
		r.Why = "fails the outstanding requests so that waiting threads go on. The first time it says \"target is busy\" and releases " +
			"them; repeat it until it says nothing, since threads that waited behind them ask anew. -c keeps umount(8) from touching the " +
			"dead mount while it resolves the path, -i keeps umount.nfs from asking the dead server first (13 s each time with NFSv3)"
		r.Risk = "dirty data is lost and applications see ESTALE, EIO or errno 512; it does not unmount while something has a file open " +
			"there; a mount of the same export made now may share the dead connection"
	}
	return Unmount(p, m, r, options...)
}

// LazyUnmount takes a mount out of the namespace while it is in use.
func LazyUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	return Unmount(p, m, forensics.Remedy{
		Action: ActionDetach,
		Why:    "takes the mount out of the namespace, so that nobody new walks into it",
		OnlyIf: "the steps before were taken: threads that already wait are not released by this",
		Risk:   "hides the mount from every table while it is still in use; mounts below it go, too, and the unmount spreads to peer namespaces; never before the volume is attached to another node",
	}, "-c", "-l")
}

// UnmountDead is for a file system that answers with an error: nothing waits, so a plain lazy unmount suffices.
func UnmountDead(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Action: ActionDetach,
		Why:    "the mount answers every call with an error and does not heal; without it the kubelet can finish the pod, or mount it anew",
		OnlyIf: "the pods that use " + m.Source + " have been stopped or can be restarted",
		Risk:   "unwritten data is lost already; mounts below it are detached, too",
	}
	if IsSMB(m) {
		r.Why = "where the server does not come back, the kubelet can finish the pod"
	}
	return Unmount(p, m, r, "-c", "-l")
}
