package hostfs

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

func TestKernelLogEndsWhereTheKernelHasNoMore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the kernel's log needs root")
	}
	noDescriptorsLost(t)
	log, err := openFS(t, "/", false).OpenKernelLog()
	must(t, err)
	defer log.Close()
	text, err := io.ReadAll(log)
	must(t, err)
	for line := range bytes.Lines(text) {
		if line[0] < '0' || line[0] > '9' || !bytes.Contains(line, []byte(";")) {
			t.Fatalf("%q is no record", line)
		}
	}
	if len(text) == 0 {
		t.Error("the kernel has said nothing")
	}
}

func TestKernelLogIsOfTheLiveMachineAlone(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{"dev/kmsg": "6,1,1,-;not a device\n"})
	_, err := openFS(t, root, false).OpenKernelLog()
	wantErr(t, "below another root", err, nodefs.ErrNotRegular)
}
