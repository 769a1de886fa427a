package collect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// The requests that a FUSE server has not answered are read, once for each file system. Without them, a thread that waits there does not
// prove that the server hangs.
func TestUnansweredRequestsOfFUSEServersAreRead(t *testing.T) {
	root := t.TempDir()
	for number, waiting := range map[string]string{"46": "3\n", "47": "5\n"} {
		dir := filepath.Join(root, "sys/fs/fuse/connections", number)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "waiting"), []byte(waiting), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	served := mounts.Mount{Device: "0:46", Class: mounts.ClassFUSE}
	got := fuseQueues(fsys, [][]mounts.Mount{{served, {Device: "0:47", Class: mounts.ClassNetwork}}, {served}})
	if diff := cmp.Diff([]mounts.FUSEQueue{{Device: "0:46", Requests: []int{3}}}, got); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
}
