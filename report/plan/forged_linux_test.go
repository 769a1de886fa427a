package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestScriptForged has reports that somebody wrote who wants something removed, unmounted or moved that is none of a pod's
// that is gone.
func TestScriptForged(t *testing.T) {
	if !alone(t) {
		return
	}
	outside := func(tr tree) string { return filepath.Join(filepath.Dir(tr.root), "srv") }
	for name, tc := range map[string]struct {
		forge func(tr tree, d *kubelet.PodDir, r *report.Report)
		says  string
	}{
		"a directory outside": {func(tr tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path = filepath.Join(outside(tr), uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not the pod directory below the root"},
		"a root outside": {func(tr tree, d *kubelet.PodDir, r *report.Report) {
			r.Evidence.Kubelet.CanonicalRoot = outside(tr)
			d.Path = filepath.Join(outside(tr), "pods", uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "the report has the kubelet root directory"},
		"a sibling of the pod": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path += "-evil"
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not the pod directory below the root"},
		"a sibling of pods": {func(tr tree, d *kubelet.PodDir, _ *report.Report) {
			d.Path = filepath.Join(tr.root, "pods-old", uidA)
			d.Volumes[0].Path = filepath.Join(d.Path, nfs)
		}, "not the pod directory below the root"},
		"a volume of a sibling":     {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path + "-evil/" + nfs }, "a kubelet creates nothing like this"},
		"a sibling without a slash": {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path + nfs }, "a kubelet creates nothing like this"},
		"a volume of a live pod":    {func(tr tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = tr.pod(uidLive) + "/" + nfs }, "a kubelet creates nothing like this"},
		"dots": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Volumes[0].Path = d.Path + "/volumes/../../" + uidLive
		}, "a kubelet creates nothing like this"},
		"two slashes":        {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path + "//" + nfs }, "a kubelet creates nothing like this"},
		"a slash at the end": {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "/" }, "a kubelet creates nothing like this"},
		"the pod itself":     {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path = d.Path }, "a kubelet creates nothing like this"},
		"below a volume":     {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "/db" }, "a kubelet creates nothing like this"},
		"a newline":          {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.Volumes[0].Path += "\ntouch CANARY" }, "a kubelet creates nothing like this"},
		"an option": {func(_ tree, d *kubelet.PodDir, _ *report.Report) {
			d.Volumes[0].Path = d.Path + "/volumes/kubernetes.io~nfs/-rf"
		}, "a kubelet creates nothing like this"},
		"the UID of the live pod": {func(tr tree, d *kubelet.PodDir, _ *report.Report) { *d = renamed(*d, tr.pod(uidLive), uidLive) }, "the --pods list has the pod"},
		"a UID with a newline":    {func(_ tree, d *kubelet.PodDir, _ *report.Report) { d.UID += "\n" }, "is not the UID of a pod"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write(uidA, nfs+"/db/file", "precious")
			tr.write(uidLive, nfs+"/db/file", "precious")
			for _, dir := range []string{outside(tr), tr.pod(uidA) + "-evil", filepath.Join(tr.root, "pods-old"), filepath.Join(outside(tr), "pods")} {
				must(t, os.MkdirAll(filepath.Join(dir, uidA, nfs, "db"), 0o750))
				must(t, os.MkdirAll(filepath.Join(dir, nfs, "db"), 0o750))
			}
			left := filepath.Join(tr.root, "left")
			must(t, os.Mkdir(left, 0o700))
			r := tr.report("1.34.4")
			forge(&r, func(d *kubelet.PodDir) { tc.forge(tr, d, &r) })
			script := plan(t, r)
			work := t.TempDir()
			t.Chdir(work)
			all := tr
			all.root = filepath.Dir(tr.root)
			before := links(t, all.root)
			out, status := tr.run(script, "--apply", "--move-data", left)
			if status == 0 || strings.Contains(out, "done  ") || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d; want a refusal that says %q", status, tc.says)
			}
			if diff := cmp.Diff(before, links(t, all.root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
			if made, err := os.ReadDir(work); err != nil || len(made) != 0 {
				t.Errorf("something was executed: %v, %v", made, err)
			}
		})
	}
}

// forge changes the pod that is gone, and lets the report list another than the live one.
func forge(r *report.Report, change func(d *kubelet.PodDir)) {
	for i := range r.Evidence.PodDirs {
		if r.Evidence.PodDirs[i].UID == uidA {
			change(&r.Evidence.PodDirs[i])
		}
	}
	r.Evidence.Pods[0].UID = uid("f")
	for i := range r.Evidence.PodDirs {
		if d := &r.Evidence.PodDirs[i]; d.UID == uidLive && d.HostName == "" && len(d.Volumes) > 1 {
			d.Volumes = d.Volumes[:0] // what is wanted of it is in the other one
		}
	}
}

// renamed is a directory with another path and UID.
func renamed(d kubelet.PodDir, path, uid string) kubelet.PodDir {
	for i := range d.Volumes {
		d.Volumes[i].Path = strings.Replace(d.Volumes[i].Path, d.Path, path, 1)
	}
	d.Path, d.UID = path, uid
	return d
}
