package kubelet

import "time"

// A PodDir is one directory below <root>/pods.
type PodDir struct {
	UID  string `json:"uid"`
	Path string `json:"path"`
	// HostName is the pod's host name from etc-hosts, usually the pod's name; absent for host network pods.
	HostName string     `json:"host_name,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
	// Changed is the latest change of the directory itself, of volumes/ and of those of its plugins: mounting and
	// unmounting a volume shows there, what containers do does not. Absent for pods that were not counted.
	Changed *time.Time `json:"changed,omitempty"`
	// Containers are the names of the directories below containers/.
	Containers []string  `json:"containers"`
	Volumes    []Volume  `json:"volumes"`
	Subpaths   []Subpath `json:"subpaths"`
	// Unknown are entries that no kubelet makes, as paths below Path, those in volumes/ and in volume-subpaths/
	// included; bounded.
	Unknown []string `json:"unknown"`
	// Searched is the command that has searched all pods of the cluster for UID and found none, in a text that somebody saved.
	Searched string `json:"searched,omitempty"`
	// Error says why it could not be read to the end.
	Error string `json:"error,omitempty"`
}

// A Volume is one directory below volumes/ or volumeDevices/ of a pod.
type Volume struct {
	// Plugin is unescaped ("kubernetes.io/csi"), Name the directory's name (a PV name, or the volume's name).
	Plugin string `json:"plugin"`
	Name   string `json:"name"`
	Path   string `json:"path"`
	Block  bool   `json:"block,omitempty"`
	// Kind is "dir", "file", "link" or "other", at a mount point that of what is covered; absent where the file system
	// does not say.
	Kind string `json:"kind,omitempty"`
	// MountPoints are the mounts at or below Path, from mountinfo.
	MountPoints []string `json:"mount_points"`
	// Entries counts what lies directly below Path when it is not a mount point, bounded; -1 is not read.
	Entries int `json:"entries"`
	// VolData is what vol_data.json says; absent when there is none. VolDataError: it is there and cannot be read.
	VolData      *VolData `json:"vol_data,omitempty"`
	VolDataError string   `json:"vol_data_error,omitempty"`
	// HasMountDir says that a CSI volume's "mount" entry exists.
	HasMountDir bool `json:"has_mount_dir,omitempty"`
	// Inside is what lies in the volume and is not the kubelet's own: of a CSI volume, what is beside vol_data.json and
	// in or beside the directory "mount". It is absent for mount points, for block volumes, and where it was not counted.
	Inside *Contents `json:"inside,omitempty"`
}

// Contents counts what lies below a directory at any depth, on the same mount, or what a single file is.
type Contents struct {
	Files int `json:"files"`
	Dirs  int `json:"dirs"`
	// Others are symbolic links, sockets, FIFOs and devices, and entries whose type is not known.
	Others int `json:"others"`
	// Bytes is the size of the files.
	Bytes int64 `json:"bytes"`
	// First are names of the uppermost level, bounded.
	First []string `json:"first"`
	// Mounts counts mount points that were come across, and not looked into.
	Mounts int `json:"mounts,omitempty"`
	// Truncated says that there is more: a bound was reached, or something could not be read.
	Truncated bool `json:"truncated,omitempty"`
}

// Empty says that there is nothing, for certain.
func (c Contents) Empty() bool { return c.Files+c.Dirs+c.Others+c.Mounts == 0 && !c.Truncated }

// VolData is vol_data.json of a CSI volume (kubelet pkg/volume/csi).
type VolData struct {
	Driver       string `json:"driverName,omitempty"`
	VolumeHandle string `json:"volumeHandle,omitempty"`
	SpecVolID    string `json:"specVolID,omitempty"`
	AttachmentID string `json:"attachmentID,omitempty"`
	Lifecycle    string `json:"volumeLifecycleMode,omitempty"`
}

// A Subpath is one bind mount target below volume-subpaths/<volume>/<container>/<index>.
type Subpath struct {
	Volume    string `json:"volume"`
	Container string `json:"container"`
	Index     string `json:"index"`
	Path      string `json:"path"`
	// Kind is "dir", "file", "other"; "mount" when it is a mount point, whose type was not asked.
	Kind string `json:"kind"`
	// Inside is what lies in the directory, or how large the file is; absent for mount points and where it was not
	// counted. The kubelet makes such files and directories empty.
	Inside *Contents `json:"inside,omitempty"`
}
