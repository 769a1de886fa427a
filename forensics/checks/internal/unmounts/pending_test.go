package unmounts

import (
	"path"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestLazyUnmounts has the options of umount(8) and fusermount(1), which use the same letters for different things.
func TestLazyUnmounts(t *testing.T) {
	for command, want := range map[string]bool{
		"umount /x": false, "umount -f /x": false, "umount -l /x": true, "umount -fl /x": true, "umount --lazy /x": true, "umount -z /x": false,
		"umount -t nfsl /x": false, "umount -tglusterfs /x": false,
		"fusermount -u /x": false, "fusermount -z /x": true, "fusermount -uz /x": true, "fusermount -u -z /x": true, "fusermount --lazy /x": true,
		"fusermount3 -u /x": false, "fusermount3 -uz /x": true, "fusermount3 -l /x": false,
	} {
		words := strings.Fields(command)
		if got := isLazy(procs.Process{Comm: path.Base(words[0]), Command: words}); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
}

func TestProgramsThatUnmount(t *testing.T) {
	for program, want := range map[string]bool{
		"umount": true, "fusermount": true, "fusermount3": true, "umount.nfs": true, "umount.nfs4": true, "umount.cifs": true,
		"umount.smb3": true, "umount.glusterfs": true, "umount.udisks2": false, "umount.": false, "mount": false, "kubelet": false,
	} {
		if got := unmounts(program); got != want {
			t.Errorf("unmounts(%q) = %t", program, got)
		}
	}
}
