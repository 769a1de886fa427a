package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const (
	csi     = "volumes/kubernetes.io~csi/pvc-1"
	nfs     = "volumes/kubernetes.io~nfs/data"
	sub     = "volume-subpaths/conf/app/0"
	volData = `{"driverName":"nfs.csi.k8s.io","volumeHandle":"server#share"}`
)

// steps are the lines of a script's output that tell of steps, without their numbers: what became of it, and the text.
func steps(out, root string) []string {
	var found []string
	for line := range strings.Lines(strings.ReplaceAll(out, root+"/pods/", "")) {
		fields := strings.Fields(line)
		if len(fields) > 2 && slices.Contains([]string{"done", "would", "refused", "skipped"}, fields[0]) {
			found = append(found, fields[0]+" "+strings.Join(fields[2:], " "))
		}
	}
	return found
}

// TestScript runs the script for each class of leftovers, first without and then with --apply.
func TestScript(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, tc := range map[string]struct {
		version string
		build   func(tr tree)
		dry     []string
		applied []string
		// gone and kept are paths below the pod's directory.
		gone, kept []string
	}{
		"CSI mount on a disk of its own": {
			version: "1.34.4", build: func(tr tree) {
				tr.write(uidA, csi+"/vol_data.json", volData)
				tr.disk(uidA, csi+"/mount")
			},
			dry:     []string{"would umount -c A/" + csi + "/mount", "would remove vol_data.json and the empty directories of A/" + csi + ", if it is empty after the unmount"},
			applied: []string{"done umount -c A/" + csi + "/mount", "done remove vol_data.json and the empty directories of A/" + csi},
			gone:    []string{csi}, kept: []string{"volumes/kubernetes.io~csi"},
		},
		"secret in memory, 1.17": {
			version: "1.17.4", build: func(tr tree) { tr.mount(uidA, "volumes/kubernetes.io~secret/s", "tmpfs", "tmpfs", 0) },
			dry:     []string{"would umount -c A/volumes/kubernetes.io~secret/s", "would rmdir A/volumes/kubernetes.io~secret/s, if it is empty after the unmount"},
			applied: []string{"done umount -c A/volumes/kubernetes.io~secret/s", "done rmdir A/volumes/kubernetes.io~secret/s"},
			gone:    []string{"volumes/kubernetes.io~secret/s"},
		},
		"emptyDir in memory with data": {
			version: "1.34.4", build: func(tr tree) {
				tr.mount(uidA, "volumes/kubernetes.io~empty-dir/m", "tmpfs", "tmpfs", 0)
				tr.write(uidA, "volumes/kubernetes.io~empty-dir/m/file", "precious")
			},
			applied: []string{
				"refused A/volumes/kubernetes.io~empty-dir/m: it is in memory only: an unmount destroys its data. If the data is not needed, run umount -c",
				"skipped A/volumes/kubernetes.io~empty-dir/m: the kubelet removes it after the unmount",
			},
			kept: []string{"volumes/kubernetes.io~empty-dir/m/file"},
		},
		"vol_data.json without mount": {
			version: "1.34.4", build: func(tr tree) { tr.write(uidA, csi+"/vol_data.json", volData) },
			applied: []string{"done remove vol_data.json and the empty directories of A/" + csi}, gone: []string{csi},
		},
		"vol_data.json with an empty mount": {
			version: "1.17.4", build: func(tr tree) {
				tr.write(uidA, csi+"/vol_data.json", volData)
				tr.write(uidA, csi+"/mount/", "")
			},
			applied: []string{"done remove vol_data.json and the empty directories of A/" + csi}, gone: []string{csi},
		},
		"empty mount, which 1.34 removes": {
			version: "1.34.4", build: func(tr tree) { tr.write(uidA, csi+"/mount/", "") },
			applied: []string{"skipped A/" + csi + ": the kubelet removes it"}, kept: []string{csi + "/mount"},
		},
		"empty mount, which 1.17 does not": {
			version: "1.17.4", build: func(tr tree) { tr.write(uidA, csi+"/mount/", "") },
			applied: []string{"done remove vol_data.json and the empty directories of A/" + csi}, gone: []string{csi},
		},
		"empty directory, 1.17": {
			version: "1.17.4", build: func(tr tree) { tr.write(uidA, nfs+"/", "") },
			applied: []string{"done rmdir A/" + nfs}, gone: []string{nfs}, kept: []string{"volumes/kubernetes.io~nfs"},
		},
		"empty directory, 1.18": {
			version: "1.18.20", build: func(tr tree) { tr.write(uidA, nfs+"/", "") },
			applied: []string{"skipped A/" + nfs + ": the kubelet removes it"}, kept: []string{nfs},
		},
		"data": {
			version: "1.34.4", build: func(tr tree) { tr.write(uidA, nfs+"/db/file", "precious") },
			applied: []string{"refused move A/" + nfs + ": it has 1 file, 8 bytes, 1 more directory. Examine it, or move it with --move-data DIR"},
			kept:    []string{nfs + "/db/file"},
		},
		"data below a CSI mount point": {
			version: "1.34.4", build: func(tr tree) {
				tr.write(uidA, csi+"/vol_data.json", volData)
				tr.write(uidA, csi+"/mount/file", "precious")
			},
			applied: []string{"refused move A/" + csi + ": it has 1 file, 8 bytes, 0 more directories. Examine it, or move it with --move-data DIR"},
			kept:    []string{csi + "/mount/file", csi + "/vol_data.json"},
		},
		"file of a subpath, 1.26": {
			version: "1.26.15", build: func(tr tree) { tr.write(uidA, sub, "") },
			applied: []string{"done remove A/" + sub}, gone: []string{sub},
		},
		"file of a subpath, 1.27": {
			version: "1.27.16", build: func(tr tree) { tr.write(uidA, sub, "") },
			applied: []string{"skipped A/" + sub + ": the kubelet removes it"}, kept: []string{sub},
		},
		"mounted file of a subpath, 1.26": {
			version: "1.26.15", build: func(tr tree) {
				source := tr.write(uidLive, "volumes/kubernetes.io~configmap/conf/key", "value")
				tr.write(uidA, sub, "")
				tr.mount(uidA, sub, source, "", unix.MS_BIND)
			},
			dry:     []string{"would umount -c A/" + sub, "would remove A/" + sub + ", if it is empty after the unmount"},
			applied: []string{"done umount -c A/" + sub, "done remove A/" + sub}, gone: []string{sub},
		},
		"mounted file of a subpath, 1.27": {
			version: "1.27.16", build: func(tr tree) {
				source := tr.write(uidLive, "volumes/kubernetes.io~configmap/conf/key", "value")
				tr.write(uidA, sub, "")
				tr.mount(uidA, sub, source, "", unix.MS_BIND)
			},
			applied: []string{"done umount -c A/" + sub, "skipped A/" + sub + ": the kubelet removes it after the unmount"},
			kept:    []string{sub},
		},
		"secret in memory, 1.18": {
			version: "1.18.20", build: func(tr tree) { tr.mount(uidA, "volumes/kubernetes.io~secret/s", "tmpfs", "tmpfs", 0) },
			applied: []string{
				"done umount -c A/volumes/kubernetes.io~secret/s",
				"skipped A/volumes/kubernetes.io~secret/s: the kubelet removes it after the unmount",
			},
			kept: []string{"volumes/kubernetes.io~secret/s"},
		},
		"link to a block device": {
			version: "1.34.4", build: func(tr tree) {
				link := tr.write(uidA, "volumeDevices/kubernetes.io~csi/", "")
				must(tr.t, os.Symlink("/dev/null", filepath.Join(link, "pvc-2")))
			},
			applied: []string{"skipped A/volumeDevices/kubernetes.io~csi/pvc-2: the kubelet removes it"},
			kept:    []string{"volumeDevices/kubernetes.io~csi/pvc-2"},
		},
		"nothing left": {
			version: "1.34.4", build: func(tr tree) { tr.write(uidA, "etc-hosts", "") },
			applied: []string{"skipped A: the kubelet removes it"}, kept: []string{"etc-hosts"},
		},
		"mount where no kubelet makes one": {
			version: "1.34.4", build: func(tr tree) { tr.mount(uidA, "containers/app", "tmpfs", "tmpfs", 0) },
			applied: []string{"refused A/containers/app: a kubelet mounts nothing here: find out which program did"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tc.build(tr)
			script := plan(t, tr.report(tc.version))
			before := sums(t, tr.root)
			out, _ := tr.run(script)
			if diff := cmp.Diff(before, sums(t, tr.root)); diff != "" {
				t.Errorf("a dry run changed something (-before +after):\n%s", diff)
			}
			dry := tc.dry
			if dry == nil {
				for _, line := range tc.applied {
					dry = append(dry, strings.Replace(line, "done ", "would ", 1))
				}
			}
			if diff := cmp.Diff(dry, steps(strings.ReplaceAll(out, uidA, "A"), tr.root)); diff != "" {
				t.Errorf("dry run (-want +got):\n%s", diff)
			}
			out, status := tr.run(script, "--apply")
			if diff := cmp.Diff(tc.applied, steps(strings.ReplaceAll(out, uidA, "A"), tr.root)); diff != "" {
				t.Errorf("--apply (-want +got):\n%s", diff)
			}
			if want := 3; strings.Contains(strings.Join(tc.applied, "\n"), "refused") != (status == want) {
				t.Errorf("exit status = %d", status)
			}
			for _, name := range tc.gone {
				if _, err := os.Lstat(filepath.Join(tr.pod(uidA), name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
			for _, name := range tc.kept {
				if _, err := os.Lstat(filepath.Join(tr.pod(uidA), name)); err != nil {
					t.Errorf("%s is gone: %v", name, err)
				}
			}
		})
	}
}
