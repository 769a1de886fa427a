package logs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}

func TestALogOnADeadMountCostsNothingButItself(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	fuse := testfuse.Mount(t, filepath.Join(dir, "dead"), testfuse.Options{})
	fuse.Hang()
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	var calls probe.Group
	ctx, cancel := context.WithCancel(t.Context())
	stories := make(chan Story, 1)
	go func() {
		stories <- Read(ctx, []Source{
			memory("first", lines(noon, 100)), FileSource(fsys, filepath.Join(fuse.MountPoint(), "kubelet.log"), "kubelet"),
		}, Options{Now: collected, Calls: &calls})
	}()
	testfuse.Await(t, "the mount to be asked", func() bool { return fuse.Waiting() > 0 })
	cancel()
	story := <-stories
	if story.Files[0].Status != "read" || story.Files[1].Status != "timeout" {
		t.Errorf("%+v", story.Files)
	}
	if after := Read(t.Context(), []Source{
		FileSource(fsys, filepath.Join(fuse.MountPoint(), "other.log"), "kubelet"), memory("next", lines(noon, 100)),
	}, Options{Now: collected, Calls: &calls, Stall: time.Second}).Files; after[0].Status != "timeout" || after[1].Status != "read" {
		t.Errorf("with patience for a second: %+v", after)
	}
	if out := calls.Outstanding(); len(out) != 2 {
		t.Errorf("the call is not on record: %+v", out)
	}
}
