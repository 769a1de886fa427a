package live

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestHoldersBesideLockedMemory passes a process whose memory is locked: the files that it has mapped are not known, and all others are.
func TestHoldersBesideLockedMemory(t *testing.T) {
	fsys, opt := machine(t)
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"f": strings.Repeat("x", os.Getpagesize())}})
	c := start(t, job{CPU: -1, Call: "locked", Path: server.MountPoint() + "/f"})
	c.call(t)
	c.said(t, "mapped <nil>")
	server.Hang()
	c.call(t)
	c.said(t, "locking")
	time.Sleep(100 * time.Millisecond)
	result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group, Limits: Limits{Read: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan bool, 1)
	go func() {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid()))
		answers <- err == nil
	}()
	select {
	case <-answers: // since Linux 6.17 it needs no lock
	case <-time.After(time.Second):
		if key := fmt.Sprintf("pid %d", c.pid()); !strings.Contains(fmt.Sprint(result.Problems), key) {
			t.Errorf("problems %v, want one with %s", result.Problems, key)
		}
	}
	if !slices.ContainsFunc(result.Holders, func(h holders.Holder) bool { return h.PID == os.Getpid() }) {
		t.Error("this process is not among those that were read")
	}
}
