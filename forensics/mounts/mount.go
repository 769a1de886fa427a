// Package mounts is the mount tables of a node: what is mounted where and on what, how mounts propagate, and how each
// one responds.
//
// [Parse] reads the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)). An [Index] of a [Table] says which mount a path is
// on, what covers it and what is mounted below it. [ClassOf] says what an access to a file system of a type may wait for.
// [Copies] and [Leaks] compare the tables of mount namespaces (mount_namespaces(7),
// Documentation/filesystems/sharedsubtree.rst). [Health] is how a mount responds.
//
// The package touches no file system: package live below it reads the tables of a machine and probes its mounts.
//
// Nothing here masks secrets. Mount options and sources contain passwords and tokens ("password=", "secret=",
// credentials in URLs). Mask them before you store or show a Mount.
package mounts

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/octal"
)

// A Mount is one line of /proc/PID/mountinfo (proc_pid_mountinfo(5), Linux 2.6.26).
type Mount struct {
	// ID names the mount within the running kernel until it is unmounted; ids are used again. It is negative if the kernel's is not
	// known: the mount is from the output of mount(8), and Device is then the source or the mount point.
	ID int `json:"id"`
	// ParentID is the mount that this one is mounted on. The parent may be outside the table (chroot, pivot_root).
	ParentID int `json:"parent_id"`
	// Device is "major:minor", the superblock: all mounts of one file system share it. It is what stat(2) calls st_dev,
	// except on btrfs, where only stat distinguishes the subvolumes, and for some files on overlay.
	Device string `json:"device"`
	// Root is the directory of the file system that is mounted, "/" unless it is a bind mount or a subvolume.
	// A trailing "//deleted" says that it has been removed since. Namespace files show "net:[4026531840]" and cgroups
	// in another cgroup namespace "/../..": not every root is a path.
	Root string `json:"root"`
	// MountPoint is the path relative to the root of the process whose table this is, escapes undone.
	MountPoint string `json:"mount_point"`
	// Options are the per-mount options ("rw,nosuid,relatime").
	Options string `json:"options"`
	// Shared is the peer group that mounts propagate in, Master the one they are received from, PropagateFrom the
	// nearest dominant peer group; 0 is none (mount_namespaces(7)).
	Shared        int  `json:"shared,omitempty"`
	Master        int  `json:"master,omitempty"`
	PropagateFrom int  `json:"propagate_from,omitempty"`
	Unbindable    bool `json:"unbindable,omitempty"`
	// FSType is the type with its subtype ("fuse.ceph-fuse"). Class is what an access to it may wait for.
	FSType string `json:"fs_type"`
	Class  Class  `json:"class"`
	// Source is the device, export or name that was mounted, escapes undone ("10.0.0.5:6789:/k8s"). It may be empty.
	Source string `json:"source"`
	// SuperOptions are the options of the superblock, escapes kept: a comma within a value is "\054", and stays
	// apart from those between the options.
	SuperOptions string `json:"super_options,omitempty"`
	// Alike is how many more rows of a table that has no ids (mount, findmnt, /proc/mounts) show the same mount on the same mount point, if those
	// are mounts of their own. It is 0 in mountinfo, where each has its id.
	Alike int `json:"alike,omitempty"`
}

// A Table is the mounts of one mount namespace, in the order of the kernel.
type Table struct {
	// Namespace is the inode number of the mount namespace (/proc/PID/ns/mnt); 0 is unknown.
	Namespace uint64 `json:"namespace,omitempty"`
	// Owner is the inode number of the user namespace that owns it; 0 if that was not read.
	Owner uint64 `json:"owner_user_ns,omitempty"`
	// PID is the process whose table was read.
	PID int `json:"pid,omitempty"`
	// Root is the root directory of that process as seen from the reader, "/" unless it was chrooted.
	Root   string  `json:"root,omitempty"`
	Mounts []Mount `json:"mounts"`
}

// Propagation is the propagation type of a mount in words.
func (m *Mount) Propagation() string {
	switch {
	case m.Shared != 0 && m.Master != 0:
		return "shared and slave"
	case m.Shared != 0:
		return "shared"
	case m.Master != 0:
		return "slave"
	case m.Unbindable:
		return "unbindable"
	}
	return "private"
}

// SuperOption returns the value of an option of the superblock, "" for one that is a mere word, and whether it is set.
func (m *Mount) SuperOption(name string) (value string, set bool) {
	for option := range strings.SplitSeq(m.SuperOptions, ",") {
		if word, value, _ := strings.Cut(option, "="); word == name {
			return value, true
		}
	}
	return "", false
}

// Layers lists the directories of an overlay; none for other file systems.
func (m *Mount) Layers() []Layer {
	if m.FSType != "overlay" {
		return nil
	}
	var layers []Layer
	for option := range strings.SplitSeq(m.SuperOptions, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "upperdir", "workdir", "lowerdir", "lowerdir+", "datadir+":
			for _, dir := range strings.Split(string(octal.Unescape([]byte(value))), ":") {
				if dir != "" { // "::" sets data layers apart
					layers = append(layers, Layer{name, dir})
				}
			}
		}
	}
	return layers
}

// A Layer is a directory that an overlay consists of. Its path is as it was at the mount, in the namespace of the mounting
// process. Without a leading slash it is relative to an unknown working directory.
type Layer struct {
	Option string // "lowerdir", "upperdir", "workdir", ...
	Dir    string
}
