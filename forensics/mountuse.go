package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// ForeignMount is a mount in the table of another mount namespace than the host's, of a file system that matters there. [Uses.Leaked]
// judges whether it leaked there and the host no longer has it.
type ForeignMount struct {
	Namespace uint64       `json:"namespace"`
	Mount     mounts.Mount `json:"mount"`
	// On is where the directory that it is mounted on is on the host, absent where the host shows no such directory.
	On string `json:"on,omitempty"`
	// Owner is the inode of the user namespace that owns the mount namespace, absent where the kernel does not show it (before
	// Linux 4.9). Root of that user namespace can mount anything anywhere: see [MountUse].UserNS.
	Owner uint64 `json:"owner_user_ns,omitempty"`
	// MountedSince says that the host had it, or its file system, when its table was read once more: it was mounted in between.
	MountedSince bool `json:"mounted_since,omitempty"`
}

// MountUse is what keeps mounts in use. Collect looks for it at mounts below the kubelet's directory, network and FUSE file
// systems, and those that do not answer as they should.
type MountUse struct {
	// Holders are processes. Of one mount at most some are listed, and of Kernel; LeftOut counts the rest of both.
	Holders []holders.Holder `json:"holders"`
	LeftOut int              `json:"holders_left_out,omitempty"`
	// Unseen says which processes could not be read, wholly or in part. If it is not empty, there may be users that are not
	// listed.
	Unseen []string `json:"unseen"`
	// Kernel are users of mounts in the kernel.
	Kernel []holders.KernelUser `json:"kernel"`
	// AllProcesses says that every process and every mount table was read.
	AllProcesses bool `json:"all_processes,omitempty"`
	// Copies are mounts on the same directory as another one, to which propagation may tie them: see [mounts.Copy.Tied].
	Copies []mounts.Copy `json:"copies"`
	// FUSE is what was seen of the processes behind FUSE file systems.
	FUSE FUSEUse `json:"fuse"`
	// Foreign are mounts of other namespaces: those that the host lacks, and those of file systems that collect.Holders was asked
	// for. Mounts of nodes that run as containers (kind), and of the kubelet where that has a namespace of its own, are left out.
	Foreign []ForeignMount `json:"foreign_mounts"`
	// Namespaces are mount namespaces that a descriptor keeps alive.
	Namespaces []holders.NamespaceHold `json:"namespaces"`
	// Pinned are mount namespaces that a bind mount of their ns/mnt file keeps alive, with or without processes.
	Pinned []PinnedNamespace `json:"pinned_namespaces"`
	// Uninhabited are the mount namespaces without processes whose tables could be read (Linux 6.12). They are among
	// the Namespaces or Pinned, unless it is not visible what keeps them alive.
	Uninhabited []uint64 `json:"uninhabited_namespaces"`
	// UserNS is the inode of the user namespace that this program ran in, absent where it is not known.
	UserNS uint64 `json:"user_ns,omitempty"`
	// Queries are the paths of collect.Holders that lead over symbolic links.
	Queries []Query `json:"asked,omitempty"`
	// Deleted are deleted files that are still open.
	Deleted []holders.DeletedFile `json:"deleted_files"`
	// Found are mounts that a saved text shows in the mount namespaces of processes, and that the host does not have. Path is what the
	// tables were searched for.
	Found []holders.Holder `json:"found_mounts,omitempty"`
	// Users are the users that these processes run as, from the host's /etc/passwd.
	Users []User `json:"users"`
}

// User is a user of the host.
type User struct {
	UID  int    `json:"uid"`
	Name string `json:"name"`
}

// PinnedNamespace is a mount namespace that is mounted somewhere, as unshare(1) --mount=FILE and snapd do.
type PinnedNamespace struct {
	Namespace  uint64 `json:"namespace"`
	MountID    int    `json:"mount_id"`
	MountPoint string `json:"mount_point"`
	// MountNS is the namespace in whose table that mount is.
	MountNS uint64 `json:"mount_ns"`
}

// Query is a path that collect.Holders was asked for and that leads over symbolic links.
type Query struct {
	Query string `json:"query"`
	Path  string `json:"path"` // without links, as mount tables have it
}

// ResolvedPath is what a query of collect.Holders means: a path without symbolic links, or the query itself.
func (h *MountUse) ResolvedPath(query string) string {
	if h != nil {
		for _, a := range h.Queries {
			if a.Query == query {
				return a.Path
			}
		}
	}
	return query
}
