package read_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// TestKubeletFiles has what the kubelet serves about its configuration and its disks, as files and beside other lines: what is said of it
// first, and how sure.
func TestKubeletFiles(t *testing.T) {
	disk := func(available int) string {
		return fmt.Sprintf(`{"availableBytes": %d000000000, "capacityBytes": 100000000000, "inodes": 1000, "inodesFree": 900}`, available)
	}
	stats := func(node, image int) string {
		return "{\n \"node\": {\n  \"nodeName\": \"n-1\",\n  \"fs\": " + disk(node) + ",\n  \"runtime\": {\"imageFs\": " + disk(image) + "}\n },\n \"pods\": []\n}\n"
	}
	configz := func(available string) string {
		return `{"kubeletconfig":{"evictionHard":{"nodefs.available":"` + available + `","nodefs.inodesFree":"5%","imagefs.available":"1%","memory.available":"100Mi"},"imageGCHighThresholdPercent":85,"imageGCLowThresholdPercent":80}}`
	}
	config := "apiVersion: kubelet.config.k8s.io/v1beta1\nauthentication:\n  anonymous:\n    enabled: false\nevictionHard:\n  nodefs.available: \"95%\"\nkind: KubeletConfiguration\n"
	df := "$ df -h /\nFilesystem  Size  Used Avail Use% Mounted on\n/dev/sda1  50G  20G  30G  41% /\n"
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"a disk under pressure":                   {[]string{stats(9, 9), configz("10%")}, "disk-pressure likely: Disk (nodefs, imagefs) has 9.0 % left, past hard eviction threshold nodefs.available<10%"},
		"without its configuration":               {[]string{stats(9, 9)}, "disk-pressure possible: Disk (nodefs, imagefs) has 9.0 % left, past hard eviction threshold imagefs.available<15%"},
		"two kubelets' configurations":            {[]string{stats(9, 9), configz("10%"), config}, "disk-pressure likely: Disk (nodefs, imagefs) has 9.0 % left, past hard eviction threshold nodefs.available<10%"},
		"a disk with room":                        {[]string{stats(50, 50), configz("10%")}, ""},
		"no disk":                                 {[]string{configz("10%")}, ""},
		"a threshold that is met at once":         {[]string{configz("90%")}, "disk-near-threshold certain: Hard eviction threshold nodefs.available<90% is met as soon as 10 % are in use"},
		"which is the cause of pressure":          {[]string{stats(50, 50), configz("90%")}, "disk-near-threshold certain: Hard eviction threshold nodefs.available<90% is met as soon as 10 % are in use"},
		"a configuration file beside df":          {[]string{"They evict everything!\n\n$ cat config.yaml\n" + config + "\n" + df}, "disk-near-threshold possible: Hard eviction threshold nodefs.available<95% is met as soon as 5 % are in use"},
		"configz after a command":                 {[]string{"$ kubectl get --raw /api/v1/nodes/n-1/proxy/configz\n" + configz("90%") + "\n$ \n"}, "disk-near-threshold certain: Hard eviction threshold nodefs.available<90% is met as soon as 10 % are in use"},
		"the configuration of another program":    {[]string{strings.ReplaceAll(strings.ReplaceAll(config, "kubelet.config", "kubeproxy.config"), "KubeletConfiguration", "KubeProxyConfiguration")}, ""},
		"statistics that lack the disk's figures": {[]string{"{\"node\":{\"nodeName\":\"n-1\",\"fs\":{\"usedBytes\":1}}}"}, ""},
		"a configuration cut in the middle":       {[]string{configz("90%")[:60]}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, files := fstest.MapFS{}, []read.File{}
			for i, text := range c.files {
				file := fmt.Sprintf("file-%d", i)
				dir[file] = &fstest.MapFile{Data: []byte(text)}
				files = append(files, read.FSFile(dir, file))
			}
			nodes, _ := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, files...)
			a := forensics.Analyze(&nodes[0], checks.All())
			have := ""
			if len(a.Diagnoses) > 0 && a.Diagnoses[0].Severity != forensics.Info {
				f := a.Findings[a.Diagnoses[0].Findings[0]]
				have = fmt.Sprintf("%s %s: %s", f.ID, f.Confidence, f.Title)
			}
			if !strings.HasPrefix(have, c.want) || have != "" && c.want == "" {
				t.Errorf("%q, want %q", have, c.want)
			}
			for _, o := range a.Outcomes {
				if len(c.files) == 1 && o.Check == "disk-pressure" && o.Status == forensics.OutcomeClean {
					t.Error("nothing was measured, but disk-pressure is clean")
				}
			}
		})
	}
}
