//go:build download

package backing_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

const (
	dataPoint, loopPoint = "/mnt/data", "/mnt/loop"
	diskState            = "/sys/block/sda/device/state"
)

// TestOnRealDisks has a SCSI disk, a device-mapper device on it, a file system on that, and another in a file of that one by
// way of a loop device. The disk takes 12 ticks (48 ms) for each request. It is read, suspended and taken offline.
func TestOnRealDisks(t *testing.T) {
	if !testvm.Inside() {
		testvm.Run(t, testvm.Machine{
			Packages: []string{"dmsetup", "e2fsprogs", "coreutils"},
			Modules:  []string{"sd_mod", "scsi_debug dev_size_mb=64 delay=12", "dm_mod", "loop"},
		})
		return
	}
	m := machine{t: t}
	m.setUp()
	m.want(backing.FaultNone, "", "")

	users, errs := procslive.KernelHolders(t.Context(), m.fsys, m.table(), nil, nil)
	if len(errs) > 0 {
		t.Error(errs)
	}
	found := false
	for _, u := range users {
		found = found || u.Use == holders.UseLoop && u.Blocks && u.Device == m.device(dataPoint) && u.Detail == dataPoint+"/image" && slices.Equal(u.UsedBy, []string{loopPoint})
	}
	if !found {
		t.Errorf("the loop device is not among %+v", users)
	}

	testfuse.Await(t, "a request to be on its way", func() bool {
		reader := m.reader()
		defer m.wait(reader)
		return m.backing(dataPoint).Fault == backing.FaultBusy
	})

	m.run("dmsetup", "suspend", "vg0-data")
	m.want(backing.FaultSuspended, "dm-0 (device-mapper) is suspended", "below loop0")
	m.run("dmsetup", "resume", "vg0-data")

	m.write(diskState, "offline\n")
	m.want(backing.FaultOffline, "sda is offline, below dm-0", "sda is offline, below dm-0, below loop0")
	m.write(diskState, "running\n")
	m.want(backing.FaultNone, "", "")

	m.run("umount", loopPoint)
	m.run("umount", dataPoint)
	m.mount(dataPoint, "/dev/mapper/vg0-data") // with nothing of its directories in memory
	m.run("dmsetup", "suspend", "vg0-data")
	resume := func() { m.run("dmsetup", "resume", "vg0-data") }
	t.Cleanup(resume) // or this program cannot end
	stuck := m.reader()
	m.unharmed(stuck.Process.Pid)
	resume()
	m.wait(stuck)
}

// A machine is the virtual one, from inside.
type machine struct {
	t    *testing.T
	fsys *hostfs.FS
}

func (m *machine) setUp() {
	fsys, err := hostfs.Open("/")
	if err != nil {
		m.t.Fatal(err)
	}
	m.fsys = fsys
	m.t.Setenv("DM_DISABLE_UDEV", "1") // dmsetup is to make the device nodes itself
	testfuse.Await(m.t, "the disk", func() bool { _, err := os.Stat("/dev/sda"); return err == nil })
	m.run("dmsetup", "create", "vg0-data", "--uuid", "LVM-k0PiZ0vVtVhSbOBDsJHTmiE8ctnd5dEv", "--table", "0 131072 linear /dev/sda 0")
	m.run("mkfs.ext4", "-q", "-F", "/dev/mapper/vg0-data")
	m.mount(dataPoint, "/dev/mapper/vg0-data")
	if err := os.MkdirAll(dataPoint+"/a/b", 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.write(dataPoint+"/a/b/file", strings.Repeat("x", 1<<20))
	m.run("truncate", "-s", "16M", dataPoint+"/image")
	m.run("mkfs.ext4", "-q", "-F", dataPoint+"/image")
	m.mount(loopPoint, "-o", "loop", dataPoint+"/image")
	m.run("sync")
}

func (m *machine) mount(point string, what ...string) {
	if err := os.MkdirAll(point, 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.run("mount", append(append([]string{"-t", "ext4"}, what...), point)...)
}

func (m *machine) run(name string, args ...string) {
	m.t.Helper()
	if out, err := exec.CommandContext(context.WithoutCancel(m.t.Context()), name, args...).CombinedOutput(); err != nil {
		m.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// reader starts a process that has to read the disk.
func (m *machine) reader() *exec.Cmd {
	m.t.Helper()
	m.write("/proc/sys/vm/drop_caches", "3")
	cmd := exec.CommandContext(context.WithoutCancel(m.t.Context()), "cat", dataPoint+"/a/b/file")
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return cmd
}

func (m *machine) wait(cmd *exec.Cmd) {
	m.t.Helper()
	if err := cmd.Wait(); err != nil {
		m.t.Error(err)
	}
}

func (m *machine) table() *mounts.Table {
	table, err := mountslive.Read(m.t.Context(), m.fsys, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return &table
}

func (m *machine) device(point string) string {
	at, _ := m.table().Index().Covering(point)
	return at.Device
}

func (m *machine) backing(point string) backing.Backing {
	device := m.device(point)
	list, errs := backing.Read(m.t.Context(), m.fsys, m.table(), func(at *mounts.Mount) bool { return at.Device == device })
	if len(list) != 1 || len(errs) > 0 {
		m.t.Fatalf("backings of %s: %+v, %v", point, list, errs)
	}
	return list[0]
}

// want compares what is said of the two file systems, once nothing is on its way any more.
func (m *machine) want(fault backing.Fault, data, loop string) {
	m.t.Helper()
	for point, says := range map[string]string{dataPoint: data, loopPoint: loop} {
		var b backing.Backing
		testfuse.Await(m.t, "no request to be on its way", func() bool { // such as those that write back
			b = m.backing(point)
			return b.Fault != backing.FaultBusy
		})
		if b.Fault != fault || !strings.Contains(b.Why, says) || says == "" && b.Why != "" {
			m.t.Errorf("%s: fault %q, %q; want %q, %q; %+v", point, b.Fault, b.Why, fault, says, b.Disks)
		}
	}
}

// unharmed looks for what a process waits on a suspended disk: nothing of that may wait for the disk, too.
func (m *machine) unharmed(pid int) {
	m.t.Helper()
	group, index := &probe.Group{}, m.table().Index()
	var thread procs.Thread
	testfuse.Await(m.t, "the process to wait for the disk", func() bool {
		snap, err := procslive.Collect(m.t.Context(), m.fsys, procslive.Options{
			Group: group, Self: []int{os.Getpid()}, Table: func(int, uint64) *mounts.Index { return index },
		})
		if err != nil {
			m.t.Fatal(err)
		}
		for _, thread = range snap.Threads {
			if thread.PID == pid && thread.State == "D" {
				return true
			}
		}
		return false
	})
	if file := filepath.Join(dataPoint, "a/b/file"); thread.Path != file || thread.Device != m.device(dataPoint) {
		m.t.Errorf("%+v; want it on %s", thread, file)
	}
	testfuse.Await(m.t, "all calls to come back", func() bool { return len(group.Outstanding()) == 0 })
}
