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
	if m.ID < 0 && IsPath(m.MountPoint) && m.MountPoint != "/" { // by a table without ids
		r.OnlyIf = strings.TrimSuffix("on the node, check first: grep -F ' "+m.MountPoint+" ' /proc/self/mountinfo still shows it; every writer of the volume has ended; "+r.OnlyIf, "; ")
		return Run(r, r.Action, append(append([]string{"umount"}, options...), m.MountPoint)...)
	}
	host, here := p.Model.Host().ByID(m.ID)
	if !IsPath(m.MountPoint) || m.MountPoint == "/" || !here || host.MountPoint != m.MountPoint || host.Device != m.Device {
		return Tell(r, r.Action, fmt.Sprintf("Ask the owner of the mount to unmount %s: mount %d is not in the mount namespace of the host and cannot be unmounted from there",
			shellword.Quote(m.MountPoint), m.ID))
	}
	if forensics.InVolume(p.Model, m.MountPoint) {
		r.OnlyIf = strings.TrimSuffix(fmt.Sprintf("every writer of the volume that contains it has ended (umount follows a symbolic link that is put in its place); "+
			"mount %d still exists (grep '^%d ' /proc/self/mountinfo); %s", m.ID, m.ID, r.OnlyIf), "; ")
	}
	return Run(r, r.Action, append(append([]string{"umount"}, options...), m.MountPoint)...)
}

// IsSMB says whether a mount is one of the SMB client.
func IsSMB(m mounts.Mount) bool { return fsfamily.Of(m.FSType).Name == fsfamily.NameCIFS }

// AbortFUSE ends all requests of a FUSE connection.
func AbortFUSE(m mounts.Mount) forensics.Remedy {
	if mounts.FUSEConnection(m.Device) == 0 {
		return forensics.Remedy{
			Action: ActionLook, Instruction: "Find the connection of the file system below /sys/fs/fuse/connections: " + shellword.Quote(m.Device) + " is not a superblock",
			Why: "writing 1 to its file abort ends all its requests", Risk: "none: read-only",
		}
	}
	return forensics.Remedy{
		Action:  ActionAbort,
		Command: []string{"sh", "-c", fmt.Sprintf("echo 1 > /sys/fs/fuse/connections/%d/abort", mounts.FUSEConnection(m.Device))},
		Why:     "ends every request of this connection with an error, so that all waiting threads continue at once, including the kubelet's",
		OnlyIf:  "the server cannot be recovered; fusectl is mounted on /sys/fs/fuse/connections; the number still belongs to this mount (third field " + m.Device + " in /proc/self/mountinfo)",
		Risk:    "unanswered writes are lost; the mount then answers ENOTCONN, and every pod on it must be restarted; for lxcfs it breaks /proc in all containers",
	}
}

// ForceUnmount ends the requests of a network file system. The SMB client's umount_begin only wakes the waiting threads,
// and they continue to wait (cifs_umount_begin in fs/smb/client/cifsfs.c, seen with Linux 6.1).
func ForceUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	if IsSMB(m) {
		return forensics.Remedy{
			Action: ActionWait, Instruction: "Wait: the client gives up a silent server after three times echo_interval (180 s unless mounted otherwise); waiting calls then fail with EHOSTDOWN",
			Why:  "the SMB client ends its requests itself; umount -f ends none. SIGKILL ends a thread that waits for an answer, but not one that waits for another thread to connect",
			Risk: "data of failed calls is not written; with the mount option hard, callers continue to wait",
		}
	}
	options, r := []string{"-c", "-f"}, forensics.Remedy{
		Action: ActionAbort,
		Why: "fails the outstanding requests with EIO, so that waiting threads continue; may have to be repeated. " +
			"-c keeps umount(8) from touching the dead mount while it resolves the path",
		OnlyIf: "the server will not come back; no process still needs unwritten data; if this file system (" + m.Device + ") has several mounts, do it for each of them",
		Risk:   "dirty data is lost and applications see EIO; it does not unmount while the mount is in use; a new mount of the same export may share the dead connection",
	}
	if fsfamily.Of(m.FSType).Name == fsfamily.NameNFS { // seen with Linux 5.10, 6.1 and 6.12
		options = []string{"-i", "-c", "-f"}
		r.Why = "fails the outstanding requests, so that waiting threads continue. The first time it says \"target is busy\" and releases " +
			"them. Repeat it until it says nothing, because threads that waited behind them send new requests. -c keeps umount(8) from touching the " +
			"dead mount while it resolves the path. -i keeps umount.nfs from calling the dead server first (13 s each time with NFSv3)"
		r.Risk = "dirty data is lost and applications see ESTALE, EIO or errno 512; it does not unmount while a file on it is " +
			"open; a new mount of the same export may share the dead connection"
	}
	return Unmount(p, m, r, options...)
}

// LazyUnmount removes a mount from the namespace while it is in use.
func LazyUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	return Unmount(p, m, forensics.Remedy{
		Action: ActionDetach,
		Why:    "removes the mount from the namespace, so that no new access hangs on it",
		OnlyIf: "the previous steps were taken: this does not release threads that already wait",
		Risk: "hides the mount from every mount table while it is still in use; mounts below it are detached, too, and the unmount propagates to peer namespaces; " +
			"never use it if the volume is to be attached to another node",
	}, "-c", "-l")
}

// UnmountDead is for a file system that answers with an error: nothing waits, so a plain lazy unmount suffices.
func UnmountDead(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Action: ActionDetach,
		Why:    "the mount answers every call with an error and does not recover; without it the kubelet can finish the pod or mount the volume again",
		OnlyIf: "the pods that use " + cmp.Or(m.Source, "it") + " have been stopped or can be restarted",
		Risk:   "unwritten data is already lost; mounts below it are detached, too",
	}
	if IsSMB(m) {
		r.Why = "if the server stays down, the kubelet can then finish the pod"
	}
	return Unmount(p, m, r, "-c", "-l")
}
