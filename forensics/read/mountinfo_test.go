package read_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// TestLongMountinfoIsCut has a table of more than 24 MB: what was not read is said.
func TestLongMountinfoIsCut(t *testing.T) {
	row := "36 35 98:0 / /mnt rw,relatime - ext4 /dev/sda1 rw" + strings.Repeat(",x", 5000) + "\n"
	e, err := read.Mountinfo("mountinfo", strings.NewReader(strings.Repeat(row, 24_000_000/len(row)+2)))
	if err == nil || !strings.Contains(err.Error(), "the mount table has more than 24 MB; the rest is not read") {
		t.Errorf("error %v", err)
	}
	if len(e.Mounts.Mounts) == 0 || e.Coverage[0].Status != forensics.SourceTruncated || !strings.Contains(e.Coverage[0].Detail, "more than 24 MB") {
		t.Errorf("%d mounts, coverage %+v", len(e.Mounts.Mounts), e.Coverage)
	}
}
