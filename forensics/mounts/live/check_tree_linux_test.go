package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestCheckBindMounts has one server with 30 bind mounts: of its root, of a file and of directories.
func TestCheckBindMounts(t *testing.T) {
	dir := tempDir(t)
	s := testfuse.Mount(t, dir+"/all", testfuse.Options{Files: map[string]string{"a/": "", "b/": "", "f": ""}})
	roots := map[string]string{"root": "/", "dir": "/a", "other": "/b"}
	dirs := []string{s.MountPoint()}
	for name, root := range roots {
		for i := range 10 {
			at := fmt.Sprintf("%s/%s-%d", dir, name, i)
			mount(t, s.MountPoint()+root, at, "", unix.MS_BIND, "")
			dirs = append(dirs, at)
		}
	}
	x := readIndex(t)
	list := topmost(t, x, dirs...)
	for _, tc := range []struct {
		trouble func()
		want    mounts.Status
		probed  int // mounts that were asked themselves
		lost    int
	}{
		{s.Heal, mounts.StatusOK, len(roots), 0},
		{func() { s.Fail(unix.ESTALE) }, mounts.StatusStale, len(roots), 0},
		{s.Hang, mounts.StatusHung, 1, 1},
	} {
		tc.trouble()
		var group probe.Group
		hungAfter := longWait
		if tc.want == mounts.StatusHung {
			hungAfter = shortWait
		}
		probed := map[int]bool{}
		got := checked(t.Context(), x, list, CheckOptions{Group: &group, HungAfter: hungAfter}, longWait)
		for _, h := range got {
			if h.Status != tc.want || h.Method != mounts.MethodProbe {
				t.Errorf("%+v; want %s", h, tc.want)
			}
			if h.Reason == "" {
				probed[h.MountID] = true
			}
		}
		if len(probed) != tc.probed {
			t.Errorf("%s: %d mounts were asked; want %d", tc.want, len(probed), tc.probed)
		}
		for i, h := range got {
			var from int
			_, after, found := strings.Cut(h.Reason, " as mount ")
			_, _ = fmt.Sscanf(after, "%d", &from)
			if found && !probed[from] || h.MountID != list[i].ID || h.MountPoint != list[i].MountPoint {
				t.Errorf("%+v; want the result of mount %d, from one that was asked", h, list[i].ID)
			}
		}
		if lost := len(group.Outstanding()); lost != tc.lost || group.GivenUp() != tc.lost {
			t.Errorf("%s: %d calls outstanding, %d given up; want %d", tc.want, lost, group.GivenUp(), tc.lost)
		}
	}
}

// TestCheckSlowServer has a server so slow that asking about each of its directories would take far too long.
func TestCheckSlowServer(t *testing.T) {
	t.Parallel() // it waits
	dir := tempDir(t)
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("d%d/", i)] = ""
	}
	s := testfuse.Mount(t, dir+"/all", testfuse.Options{Files: files})
	dirs := []string{s.MountPoint()}
	for i := range 20 {
		at := fmt.Sprintf("%s/bind-%d", dir, i)
		mount(t, fmt.Sprintf("%s/d%d", s.MountPoint(), i), at, "", unix.MS_BIND, "")
		dirs = append(dirs, at)
	}
	x := readIndex(t)
	s.Delay(700 * time.Millisecond)
	probed := 0
	for _, h := range checked(t.Context(), x, topmost(t, x, dirs...), CheckOptions{HungAfter: 2 * time.Second}) {
		if h.Status != mounts.StatusSlow {
			t.Errorf("%+v; want slow", h)
		}
		if h.Reason == "" {
			probed++
		} else if !strings.HasSuffix(h.Reason, "not probed again: that probe was slow") {
			t.Errorf("%+v; want another reason", h)
		}
	}
	if probed == 0 || probed > 2 { // each takes 1.4 s
		t.Errorf("%d mounts were asked; want at most 2", probed)
	}
}

func TestCheckStacked(t *testing.T) {
	dir := tempDir(t)
	lower := testfuse.Mount(t, dir, testfuse.Options{})
	upper := testfuse.Mount(t, dir, testfuse.Options{})
	inside := testfuse.Mount(t, dir+"/inside", testfuse.Options{})
	x := readIndex(t)
	lower.Hang()
	stack := x.At(dir)
	if len(stack) != 2 || stack[1].Device != upper.Device() {
		t.Fatalf("stack = %+v; want two mounts", stack)
	}
	list := append(stack, topmost(t, x, inside.MountPoint())...)
	var group probe.Group
	got := checked(t.Context(), x, list, CheckOptions{Group: &group, HungAfter: longWait})
	reason := fmt.Sprintf("is covered by mount %d", stack[1].ID)
	if got[0].Status != mounts.StatusNotProbed || got[0].Reason != reason || got[0].Method != "" {
		t.Errorf("covered: %+v; want not probed, %s", got[0], reason)
	}
	for _, h := range got[1:] {
		if h.Status != mounts.StatusOK {
			t.Errorf("%+v; want ok", h)
		}
	}
	if lower.Unanswered() != 0 {
		t.Error("the covered server was asked")
	}
}

func TestCheckBelow(t *testing.T) {
	dir := tempDir(t)
	outer := testfuse.Mount(t, dir+"/outer", testfuse.Options{})
	inner := testfuse.Mount(t, outer.MountPoint()+"/inner", testfuse.Options{Files: map[string]string{"sub/": ""}})
	innermost := testfuse.Mount(t, inner.MountPoint()+"/innermost", testfuse.Options{})
	t.Cleanup(outer.Heal) // else the others could not be unmounted
	// The same server as inner, on a way that leads past outer.
	mount(t, inner.MountPoint(), dir+"/beside", "", unix.MS_BIND, "")
	x := readIndex(t)
	list := topmost(t, x, innermost.MountPoint(), inner.MountPoint(), dir+"/beside")
	above := topmost(t, x, outer.MountPoint())[0]
	for _, tc := range []struct {
		name        string
		trouble     func()
		hungAfter   time.Duration
		want        []mounts.Status
		reason      string // of those that were not probed
		outstanding int
	}{
		{"all answer", outer.Heal, longWait, []mounts.Status{mounts.StatusOK, mounts.StatusOK, mounts.StatusOK}, "", 0},
		{
			"outer hangs, and is asked though it is not in the list", outer.Hang, shortWait,
			[]mounts.Status{mounts.StatusNotProbed, mounts.StatusNotProbed, mounts.StatusOK},
			fmt.Sprintf("is below mount %d, which does not respond", above.ID), 1,
		},
		{
			"outer fails; what is known of inner's server holds", func() { outer.Heal(); outer.Fail(unix.EIO) }, longWait,
			[]mounts.Status{mounts.StatusNotProbed, mounts.StatusOK, mounts.StatusOK},
			fmt.Sprintf("is below mount %d, which fails: %v", above.ID, unix.EIO), 0,
		},
	} {
		tc.trouble()
		var group probe.Group
		got := checked(t.Context(), x, list, CheckOptions{Group: &group, HungAfter: tc.hungAfter}, longWait)
		for i, h := range got {
			if h.Status != tc.want[i] || h.Status == mounts.StatusNotProbed && h.Reason != tc.reason {
				t.Errorf("%s: %+v; want %q, %s", tc.name, h, tc.want[i], tc.reason)
			}
		}
		if n := len(group.Outstanding()); n != tc.outstanding {
			t.Errorf("%s: %d calls outstanding; want %d", tc.name, n, tc.outstanding)
		}
	}
}

// TestCheckCrossed has two servers, each with a mount below the other one: asked in the wrong order, they would wait for
// each other for ever.
func TestCheckCrossed(t *testing.T) {
	dir := tempDir(t)
	files := map[string]string{"x/": "", "y/": ""}
	a := testfuse.Mount(t, dir+"/a", testfuse.Options{Files: files})
	b := testfuse.Mount(t, dir+"/b", testfuse.Options{Files: files})
	mount(t, b.MountPoint()+"/x", a.MountPoint()+"/x", "", unix.MS_BIND, "")
	mount(t, a.MountPoint()+"/y", b.MountPoint()+"/y", "", unix.MS_BIND, "")
	x := readIndex(t)
	list := topmost(t, x, a.MountPoint()+"/x", b.MountPoint()+"/y", a.MountPoint(), b.MountPoint())
	for _, h := range checked(t.Context(), x, list, CheckOptions{HungAfter: longWait}) {
		if h.Status != mounts.StatusOK {
			t.Errorf("%+v; want ok", h)
		}
	}
}

func TestCheckLeavesAlone(t *testing.T) {
	dir := tempDir(t)
	mount(t, "none", dir+"/tmpfs", "tmpfs", 0, "")
	mount(t, "proc", dir+"/proc", "proc", 0, "")
	x := readIndex(t)
	list := append(topmost(t, x, dir+"/tmpfs", dir+"/proc"), mounts.Mount{ID: 1 << 30, Class: mounts.ClassNetwork, MountPoint: "/", Device: "0:1"})
	var group probe.Group
	for i, h := range checked(t.Context(), x, list, CheckOptions{Group: &group}) {
		want := "answers from memory"
		if i == 2 {
			want = "is not in the mount table"
		}
		if h.Status != mounts.StatusNotProbed || h.Method != "" || h.Reason != want {
			t.Errorf("%+v; want not probed, %s", h, want)
		}
	}
}

// TestCheckAutofs is the automount daemon of two mounts, and wants to hear nothing.
func TestCheckAutofs(t *testing.T) {
	dir := tempDir(t)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(pipe[0]) }()
	// Look-ups of the daemon's process group would be let through: it must not be that of the test.
	daemon := startChild(t, 0)
	for _, kind := range []string{"direct", "indirect"} {
		data := fmt.Sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,%s", pipe[1], daemon, kind)
		mount(t, "auto", dir+"/"+kind, "autofs", 0, data)
	}
	// A file system on the direct mount, as the daemon would mount it.
	upper := testfuse.Mount(t, dir+"/direct", testfuse.Options{})
	x := readIndex(t)
	list := append(x.At(dir+"/direct"), x.At(dir+"/indirect")...)
	if len(list) != 3 {
		t.Fatalf("mounts = %+v; want three", list)
	}
	got := checked(t.Context(), x, list, CheckOptions{HungAfter: longWait})
	for _, h := range []mounts.Health{got[0], got[2]} {
		if h.Status != mounts.StatusNotProbed || !strings.HasPrefix(h.Reason, "autofs is never probed") {
			t.Errorf("%+v; want not probed because it is autofs", h)
		}
	}
	if got[1].Status != mounts.StatusOK || got[1].Device != upper.Device() {
		t.Errorf("%+v; want ok", got[1])
	}
	if n, err := unix.Read(pipe[0], make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("the daemon got %d bytes, %v; want none", n, err)
	}
}

// TestCheckChanged has mounts that are not what the table says any more.
func TestCheckChanged(t *testing.T) {
	dir := tempDir(t)
	var servers []*testfuse.Server
	var dirs []string
	for _, name := range []string{"replaced", "unmounted", "removed"} {
		s := testfuse.Mount(t, filepath.Join(dir, name), testfuse.Options{})
		servers, dirs = append(servers, s), append(dirs, s.MountPoint())
	}
	table, err := Read(t.Context(), openFS(t, "/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Mounts { // as if another mount had been there: a real one might have got the same id
		if table.Mounts[i].MountPoint == dirs[0] {
			table.Mounts[i].ID += 1 << 20
		}
	}
	servers[0].Hang()
	if err := errors.Join(unix.Unmount(dirs[1], 0), unix.Unmount(dirs[2], 0), os.Remove(dirs[2])); err != nil {
		t.Fatal(err)
	}
	x := table.Index()
	got := checked(t.Context(), x, topmost(t, x, dirs...), CheckOptions{HungAfter: longWait})
	for i, want := range []string{"another mount is there now: ", "another mount is there now: ", "the mount point no longer exists"} {
		if got[i].Status != mounts.StatusNotProbed || !strings.HasPrefix(got[i].Reason, "not probed: "+want) || got[i].Method != "" {
			t.Errorf("%+v; want not probed, %s", got[i], want)
		}
	}
	if servers[0].Unanswered() != 0 {
		t.Error("the server of another mount was asked")
	}
}

// TestCheckOtherNamespace asks mounts that only another namespace still has.
func TestCheckOtherNamespace(t *testing.T) {
	dir := tempDir(t)
	good := testfuse.Mount(t, dir+"/good", testfuse.Options{})
	bad := testfuse.Mount(t, dir+"/bad", testfuse.Options{})
	g := newGuest(t, newNamespace)
	for _, s := range []*testfuse.Server{good, bad} {
		if err := unix.Unmount(s.MountPoint(), unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
	bad.Hang()
	table, err := Read(t.Context(), openFS(t, "/"), g.tid)
	if err != nil {
		t.Fatal(err)
	}
	x := table.Index()
	list := topmost(t, x, good.MountPoint(), bad.MountPoint())
	var group probe.Group
	got := checked(t.Context(), x, list, CheckOptions{
		Group: &group, HungAfter: time.Second, Prefix: fmt.Sprintf("/proc/%d/root", g.tid),
	})
	if got[0].Status != mounts.StatusOK || got[1].Status != mounts.StatusHung {
		t.Errorf("health = %+v; want ok and hung", got)
	}
	bad.Heal() // the guest could not end
	testfuse.Await(t, "the call to come back", func() bool { return len(group.Outstanding()) == 0 })
}

// TestCheckMany has 50 dead and 50 healthy mounts, and not the time to wait for them one after the other.
func TestCheckMany(t *testing.T) {
	t.Parallel() // it waits
	const each, hungAfter = 50, 3 * time.Second
	dir := tempDir(t)
	var dirs []string
	var dead []*testfuse.Server
	for i := range 2 * each {
		s := testfuse.Mount(t, fmt.Sprintf("%s/%d", dir, i), testfuse.Options{})
		dirs = append(dirs, s.MountPoint())
		if i%2 == 0 {
			dead = append(dead, s)
		}
	}
	x := readIndex(t)
	for _, s := range dead {
		s.Hang()
	}
	var group probe.Group
	ctx, cancel := context.WithTimeout(t.Context(), each*hungAfter/2)
	defer cancel()
	got := checked(ctx, x, topmost(t, x, dirs...), CheckOptions{Group: &group, HungAfter: hungAfter}, hungAfter)
	for i, h := range got {
		want := mounts.StatusOK
		if i%2 == 0 {
			want = mounts.StatusHung
		}
		if h.Status != want || h.MountPoint != dirs[i] {
			t.Errorf("%+v; want %s of %s", h, want, dirs[i])
		}
	}
	if n := len(group.Outstanding()); n != each {
		t.Errorf("%d calls outstanding; want %d", n, each)
	}
}
