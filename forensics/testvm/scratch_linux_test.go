package testvm_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testvm"
)

func TestScratch(t *testing.T) {
	if testvm.Inside() {
		cmd := exec.Command("sh", "/script.sh")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		t.Log(cmd.Run())
		return
	}
	out := testvm.Run(t, testvm.Machine{
		Suite: os.Getenv("SUITE"),
		Packages: strings.Fields("coreutils dash grep iproute2 nfs-kernel-server nftables util-linux busybox"),
		Modules:  strings.Fields("nfsv3 nfsv4 nfsd veth nf_tables"),
		Files:    map[string]string{"/script.sh": os.Getenv("SCRIPT"), "/usr/bin/nodeforensics": "/tmp/nfsvm/nodeforensics"},
	})
	exec.Command("sh", "-c", "rm -rf $SCRIPT.out; cp -r "+out+" $SCRIPT.out").Run()
}
