package mounts_test

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func ExampleParse() {
	list, errs := mounts.Parse(strings.NewReader(
		`60 42 0:47 / /mnt/my\040data rw,nosuid shared:4 - fuse.ceph-fuse 10.0.0.5:6789:/k8s rw,allow_other` + "\n"))
	for _, m := range list {
		fmt.Printf("mount %d of %s on %q: %s, peer group %d\n", m.ID, m.Source, m.MountPoint, m.Class, m.Shared)
	}
	fmt.Println(errs)
	// Output:
	// mount 60 of 10.0.0.5:6789:/k8s on "/mnt/my data": fuse, peer group 4
	// []
}

func ExampleIndex_Covering() {
	list, _ := mounts.Parse(strings.NewReader(`
27 1 254:0 / / rw - ext4 /dev/vda rw
42 27 0:40 / /data/old rw - nfs4 server:/old rw
43 27 0:41 / /data rw - nfs4 server:/new rw
`))
	x := (&mounts.Table{Mounts: list}).Index()
	m, _ := x.Covering("/data/old/file") // the mount on /data covers what was mounted below it before
	fmt.Println(m.Source, x.Visible(42))
	// Output: server:/new false
}
