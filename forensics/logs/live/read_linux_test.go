package live

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}

// memory is a log that is held in memory.
func memory(path string) logs.Source {
	return logs.Source{Path: path, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(lines(noon, 100))), nil
	}}
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
	stories := make(chan logs.Story, 1)
	go func() {
		stories <- Read(ctx, []logs.Source{
			memory("first"), FileSource(fsys, filepath.Join(fuse.MountPoint(), "kubelet.log"), "kubelet"),
		}, logs.Options{Now: collected}, &calls)
	}()
	testfuse.Await(t, "the mount to be asked", func() bool { return fuse.Waiting() > 0 })
	cancel()
	story := <-stories
	if story.Files[0].Status != "read" || story.Files[1].Status != "timeout" {
		t.Errorf("%+v", story.Files)
	}
	if after := Read(t.Context(), []logs.Source{
		FileSource(fsys, filepath.Join(fuse.MountPoint(), "other.log"), "kubelet"), memory("next"),
	}, logs.Options{Now: collected, Stall: time.Second}, &calls).Files; after[0].Status != "timeout" || after[1].Status != "read" {
		t.Errorf("with patience for a second: %+v", after)
	}
	if out := calls.Outstanding(); len(out) != 2 {
		t.Errorf("the call is not on record: %+v", out)
	}
}
