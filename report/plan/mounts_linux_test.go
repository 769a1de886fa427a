package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/v1"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestScriptHealth unmounts only where it is known that the file system answers.
func TestScriptHealth(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, status := range []mounts.Status{
		mounts.StatusNotProbed, mounts.StatusOK, mounts.StatusSlow, mounts.StatusHung, mounts.StatusUnanswered, mounts.StatusFrozen,
		mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError, mounts.StatusDenied, mounts.StatusRecovered, "new",
	} {
		t.Run("status "+string(status), func(t *testing.T) {
			tr := newTree(t)
			disk := tr.disk(uidA, nfs)
			r := tr.report("1.34.4")
			was := r.Evidence.Probes[0]
			r.Evidence.Probes = nil
			v1.AddHealth(&r.Evidence, mounts.Health{MountID: was.MountID, Device: was.Device, MountPoint: was.MountPoint, Status: status, Method: mounts.MethodProbe, Seconds: 2})
			script := plan(t, r)
			if status != mounts.StatusOK {
				refusedWhole(t, tr, script, "umount can block")
			} else if out, status := tr.run(script, "--apply"); status != 0 || !strings.Contains(out, "done      1  umount -c "+disk) {
				t.Errorf("exit status %d; want that it is unmounted", status)
			}
		})
	}
	t.Run("nobody looked", func(t *testing.T) {
		tr := newTree(t)
		tr.disk(uidA, nfs)
		r := tr.report("1.34.4")
		r.Evidence.Probes = nil
		refusedWhole(t, tr, plan(t, r), "its file system was not probed")
	})
}

// TestScriptMemory has a report that says of data in memory that it is something else.
func TestScriptMemory(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, tc := range map[string]struct {
		forge func(m *mounts.Mount, r *report.Report)
		says  string
	}{
		"of another class": {func(m *mounts.Mount, _ *report.Report) { m.Class = mounts.ClassBlock }, "If the data is not needed"}, // by the program
		"of another type":  {func(m *mounts.Mount, _ *report.Report) { m.FSType, m.Class = "ext4", mounts.ClassBlock }, "another file system is mounted there now"},
		"a copy": {func(m *mounts.Mount, r *report.Report) {
			secret := *m
			secret.ID, secret.MountPoint = 1<<30, strings.Replace(m.MountPoint, "empty-dir/m", "secret/m", 1)
			r.Evidence.Mounts.Mounts = append(r.Evidence.Mounts.Mounts, secret)
		}, "it is in memory only: an unmount destroys its data\n"}, // by the script
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.mount(uidA, "volumes/kubernetes.io~empty-dir/m", "tmpfs", "tmpfs", 0)
			tr.write(uidA, "volumes/kubernetes.io~empty-dir/m/file", "precious")
			r := tr.report("1.34.4")
			for i := range r.Evidence.Mounts.Mounts {
				if m := &r.Evidence.Mounts.Mounts[i]; strings.HasPrefix(m.MountPoint, tr.root) {
					r.Evidence.Probes = []mounts.Probe{{Device: m.Device}}
					tc.forge(m, &r)
					break
				}
			}
			refusedWhole(t, tr, plan(t, r), tc.says)
		})
	}
}

// TestScriptSiblings has things of names that begin as another's: they are not taken for it.
func TestScriptSiblings(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	disk := tr.disk(uidA, csi+"/mount")
	tr.write(uidA, csi+"/vol_data.json", volData)
	script := plan(t, tr.report("1.17.4"))
	for _, name := range []string{nfs + "-2", nfs + "2", strings.TrimSuffix(nfs, "a"), csi + "/mount-2"} {
		tr.mount(uidA, name, "tmpfs", "tmpfs", 0)
	}
	must(t, os.Mkdir(filepath.Join(tr.root, "pod"), 0o750))
	tr.mountAt(filepath.Join(tr.root, "pod"), "tmpfs", "tmpfs", 0)
	sleeper(tr, filepath.Dir(tr.write(uidA+"-evil", nfs, "")))
	out, status := tr.run(script, "--apply")
	for _, says := range []string{"umount -c " + disk, "rmdir " + filepath.Join(tr.pod(uidA), nfs)} {
		if !strings.Contains(out, says+"\n") || strings.Contains(out, says+":") {
			t.Errorf("exit status %d; want that it does %q", status, says)
		}
	}
	if !strings.Contains(out, "refused   2  remove vol_data.json") || !strings.Contains(out, "mount-2") && !strings.Contains(out, "is there") {
		t.Error("the mount beside \"mount\" is in the volume, which must be refused")
	}
}

// TestScriptBelowBind has another namespace that sees the pod's directory somewhere else, and a mount there.
func TestScriptBelowBind(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, nfs+"/", "")
	script := plan(t, tr.report("1.17.4"))
	elsewhere(tr, `mount --bind "$1" /mnt && mount -t tmpfs none /mnt/data`, filepath.Join(tr.pod(uidA), filepath.Dir(nfs)))
	refusedWhole(t, tr, script, "has a parent directory of it")
}

// TestScriptOrder lets the kernel refuse to remove the mount point: vol_data.json must be there still.
func TestScriptOrder(t *testing.T) {
	if !alone(t) {
		return
	}
	tr := newTree(t)
	tr.write(uidA, csi+"/vol_data.json", volData)
	point := tr.write(uidA, csi+"/mount/", "")
	if out, err := exec.Command("chattr", "+i", point).CombinedOutput(); err != nil {
		t.Skipf("chattr: %v: %s", err, out)
	}
	t.Cleanup(func() { run(t, "chattr", "-i", point) })
	refusedWhole(t, tr, plan(t, tr.report("1.34.4")), "rmdir: failed to remove './mount'")
}
