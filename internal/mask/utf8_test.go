package mask_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// TestValidUTF8 leaves what others may share alone.
func TestValidUTF8(t *testing.T) {
	list := []mounts.Mount{{MountPoint: "/a"}, {MountPoint: "/a\xff"}, {MountPoint: "/a\xfe"}}
	e := forensics.Evidence{Mounts: mounts.Table{Mounts: list}, Processes: []procs.Process{{Command: []string{"x\xe4"}}}}
	mask.ValidUTF8(&e)
	if m := e.Mounts.Mounts; m[0].MountPoint != "/a" || m[1].MountPoint != `/a\xff` || m[2].MountPoint != `/a\xfe` {
		t.Errorf("mounts %+v", m)
	}
	if e.Processes[0].Command[0] != `x\xe4` || list[1].MountPoint != "/a\xff" {
		t.Errorf("command %q, and the list that was given says %q", e.Processes[0].Command, list[1].MountPoint)
	}
}
