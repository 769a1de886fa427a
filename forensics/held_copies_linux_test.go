package forensics_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/testvm"
)

// TestHoldersOfCopies holds a mount through the copy of it that another place or namespace has, and sees whether umount is
// refused as is said. That goes by the mounts below, which propagate, and not by the copy's own propagation.
func TestHoldersOfCopies(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	set := func(dir string, propagation uintptr) error { return unix.Mount("", dir, "", propagation, "") }
	for name, c := range map[string]struct {
		propagation  uintptr // of the mount below, in the other namespace
		before, then func(below, dir string) error
		busy         bool
	}{
		"peer":              {propagation: unix.MS_SHARED, busy: true},
		"slave":             {propagation: unix.MS_SLAVE, busy: true},
		"private":           {propagation: unix.MS_PRIVATE},
		"private on slave":  {propagation: unix.MS_SLAVE, then: func(_, dir string) error { return set(dir, unix.MS_PRIVATE) }, busy: true},
		"slave of a slave":  {propagation: unix.MS_SLAVE, before: slaveOfSlave, busy: true},
		"with more mounted": {propagation: unix.MS_SLAVE, then: func(_, dir string) error { return unix.Mount("tmpfs", dir+"/sub", "tmpfs", 0, "") }},
		"that is covered":   {propagation: unix.MS_SLAVE, then: func(_, dir string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "") }, busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			below := t.TempDir()
			mountFor(t, "tmpfs", below, "tmpfs", 0, "")
			if err := set(below, unix.MS_SHARED); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(below, "m")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
			if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
				t.Fatal(err)
			}
			holder := exec.Command("sleep", "1000")
			if err := testvm.OnThread(func() error {
				if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
					return err
				}
				if err := set(below, unix.MS_REC|c.propagation); err != nil {
					return err
				}
				if c.before != nil {
					if err := c.before(below, dir); err != nil {
						return err
					}
				}
				file, err := os.Create(dir + "/file")
				if err != nil {
					return err
				}
				defer func() { _ = file.Close() }()
				if c.then != nil {
					if err := c.then(below, dir); err != nil {
						return err
					}
				}
				holder.ExtraFiles = []*os.File{file}
				return holder.Start()
			}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = holder.Process.Kill(), holder.Wait() })

			e, err := forensics.CollectHolders(t.Context(), forensics.Options{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			m := forensics.FindMounts(&e.Mounts, dir)[0]
			users := forensics.NewModel(&e).UsersOf(m)
			list := users.Elsewhere
			if c.busy {
				list = users.Holders
			}
			var pids []int
			for _, h := range append(users.Holders, users.Elsewhere...) {
				pids = append(pids, h.PID)
			}
			if diff := gocmp.Diff([]int{holder.Process.Pid}, slices.Compact(pids)); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
			if len(list) != 1 || list[0].Copy != c.busy || list[0].MountID == m.ID || len(users.Namespace) != 1 {
				t.Errorf("holders %+v, elsewhere %+v in %+v", users.Holders, users.Elsewhere, users.Namespace)
			}
			e.Health = append(e.Health, mounts.Health{MountID: m.ID, Device: m.Device, MountPoint: dir, Status: mounts.StatusHung, Seconds: 60})
			findings := forensics.Analyze(&e, []forensics.Check{checks.UnmountBusy}).Findings
			if said := len(findings) > 0 && strings.Contains(findings[0].Detail, "a copy that is unmounted with it"); said != c.busy {
				t.Errorf("unmount-busy says %+v", findings)
			}
			if err := unix.Unmount(dir, 0); (err == unix.EBUSY) != c.busy {
				t.Errorf("umount: %v, want busy: %v", err, c.busy)
			}
		})
	}
}

// slaveOfSlave makes what has been a slave a peer of a slave, and goes on in a slave of that.
func slaveOfSlave(below, _ string) error {
	if err := unix.Mount("", below, "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Mount("", below, "", unix.MS_REC|unix.MS_SLAVE, "")
}
