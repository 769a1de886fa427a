package fsfamily

import "slices"

// fuseClients are programs that only serve FUSE file systems.
var fuseClients = []string{
	"alluxio-fuse", "blobfuse", "blobfuse2", "ceph-fuse", "cfs-client", "curve-fuse", "geesefs", "glusterfs", "gcsfuse", "goofys", "juicefs", "jfsmount", "lustre-fuse", "mfsmount", "mount-s3", "mount.juicefs",
	"ossfs", "ossfs2", "rclone", "s3backer", "s3fs", "s3ql", "seaweedfs", "sshfs", "weed",
}

// ServesFUSE says whether a program, by its name (comm), only serves FUSE file systems. Stopped, none of them answers; without it, its mounts
// have lost their server.
func ServesFUSE(comm string) bool { return slices.Contains(fuseClients, comm) }
