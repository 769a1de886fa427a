package checks

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

const captures = "../../testdata/captures"

// TestCaptures judges dumps of real kubelets, each in its three forms, and the text ones as they stand in a journal.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		capture string
		full    []string // of debug=2
		less    []string // of debug=1 and debug=0
		says    []string
	}{
		{
			"kubelet-1.17.4-hung-cephfs",
			[]string{"kubelet-housekeeping-blocked critical subsystem housekeeping because goroutine 117"},
			[]string{"kubelet-housekeeping-blocked warning subsystem housekeeping"},
			[]string{"os.Stat, called by mount.(*Mounter).IsLikelyNotMountPoint", "(sync loop)"},
		},
		{
			"kubelet-1.34.4-hung-csi",
			[]string{"kubelet-housekeeping-blocked critical subsystem housekeeping because goroutine 171"},
			[]string{"kubelet-housekeeping-blocked warning subsystem housekeeping"},
			[]string{"os.Stat, called by mount-utils.PathExists", "(sync loop)"},
		},
		{
			"kubelet-1.34.4-runtime-stopped",
			[]string{"runtime-unresponsive warning runtime runtime", "kubelet-pleg-unhealthy warning subsystem pleg because runtime runtime"},
			[]string{"runtime-unresponsive warning runtime runtime"},
			[]string{"A daemon does not respond here, not a file system"},
		},
		{"kubelet-1.34.4-unmount-busy", nil, nil, nil},
	} {
		for _, form := range []struct {
			file  string
			wants []string
		}{{"goroutine.debug2", c.full}, {"goroutine.debug1", c.less}, {"goroutine.debug0", c.less}} {
			text, err := os.ReadFile(filepath.Join(captures, c.capture, form.file))
			if err != nil {
				t.Fatal(err)
			}
			copies := map[string][]byte{"as it is": text}
			if form.file != "goroutine.debug0" {
				copies["journal"] = []byte(journal(string(text)))
			}
			for name, dump := range copies {
				t.Run(c.capture+" "+form.file+" "+name, func(t *testing.T) {
					e := captured(t, c.capture, dump)
					a := forensics.Analyze(&e, All())
					if diff := cmp.Diff(sorted(form.wants), sorted(summaries(a))); diff != "" {
						t.Errorf("findings (-want +got):\n%s", diff)
					}
					for _, says := range c.says {
						if !strings.Contains(texts(a), says) {
							t.Errorf("nothing says %q:\n%s", says, texts(a))
						}
					}
				})
			}
		}
	}
}

// TestCapturesNameTheMount finds the path of the hung call, which is not in a dump, by its length.
func TestCapturesNameTheMount(t *testing.T) {
	for capture, mount := range map[string]string{
		"kubelet-1.17.4-hung-cephfs": "/volumes/kubernetes.io~cephfs/cephfs-data (CephFS 10.0.0.5:6789:/k8s, mount 60)",
		"kubelet-1.34.4-hung-csi":    "/mount (chubaofs chubaofs:17010/vol1, mount 59)",
	} {
		text, err := os.ReadFile(filepath.Join(captures, capture, "goroutine.debug2"))
		if err != nil {
			t.Fatal(err)
		}
		e := captured(t, capture, text)
		if a := forensics.Analyze(&e, All()); !strings.Contains(texts(a), mount) {
			t.Errorf("%s: %s is not named:\n%s", capture, mount, texts(a))
		}
	}
}

// TestCapturesWithoutKeyFrame drops HandlePodCleanups, on which the verdict rests.
func TestCapturesWithoutKeyFrame(t *testing.T) {
	for _, capture := range []string{"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-hung-csi"} {
		text, err := os.ReadFile(filepath.Join(captures, capture, "goroutine.debug2"))
		if err != nil {
			t.Fatal(err)
		}
		e := captured(t, capture, []byte(dropFrame(string(text), "HandlePodCleanups")))
		a := forensics.Analyze(&e, All())
		if slices.ContainsFunc(a.Findings, func(f forensics.Finding) bool { return f.ID == kubeletHousekeepingBlocked.ID }) {
			t.Errorf("%s: %v", capture, summaries(a))
		}
	}
}

// captured is the evidence of a capture that a person has at a desk: a dump and the mount table.
func captured(tb testing.TB, capture string, dump []byte) forensics.Evidence {
	tb.Helper()
	e := forensics.NewEvidence()
	var err error
	if e.Dumps, err = read.Dumps("dump", bytes.NewReader(dump)); err != nil {
		tb.Fatal(err)
	}
	e.Cover(forensics.Source{Source: "goroutines:dump", Status: forensics.SourceRead})
	table, err := os.ReadFile(filepath.Join(captures, capture, "mountinfo"))
	if err != nil {
		tb.Fatal(err)
	}
	list, errs := mounts.Parse(bytes.NewReader(table))
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	e.Mounts.Mounts = list
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	return e
}
