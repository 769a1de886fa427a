package fsfamily

import "strings"

// brands are the common names of file systems with another type name, by the type or, for FUSE, the subtype.
var brands = map[string]string{
	"nfs": "NFS", "nfs4": "NFS", "ceph": "CephFS", "ceph-fuse": "CephFS", "cifs": "SMB", "smb3": "SMB", "smbfs": "SMB", "9p": "9P",
	"lustre": "Lustre", "lustre_lite": "Lustre", "glusterfs": "GlusterFS", "gfs2": "GFS2", "ocfs2": "OCFS2", "afs": "AFS", "beegfs": "BeeGFS",
	"juicefs": "JuiceFS", "s3fs": "s3fs", "sshfs": "SSHFS", "fuse": "FUSE", "fuseblk": "FUSE", "zfs": "ZFS",
}

// Label names a file system as its owner knows it: "CephFS 10.0.0.5:6789:/k8s", "ext4 /dev/sdb1", "tmpfs".
func Label(fsType, source string) string {
	base, sub, _ := strings.Cut(fsType, ".")
	name := fsType
	for _, known := range []string{base, sub} { // the subtype says more
		if brand := brands[strings.ToLower(known)]; brand != "" {
			name = brand
		} else if known == sub && sub != "" {
			name = sub
		}
	}
	if source == "" || source == "none" || strings.EqualFold(source, base) || strings.EqualFold(source, sub) {
		return name
	}
	return strings.TrimSpace(name + " " + source)
}
