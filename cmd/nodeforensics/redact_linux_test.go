package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// Names and secrets of a disk reach no output of an examination with --redact=strict, and the file's name neither.
func TestStrictMasksWhatADiskHolds(t *testing.T) {
	t.Parallel()
	disk, uid := t.TempDir(), testfuse.NewUID()
	writeTree(t, disk, map[string]string{
		"etc/hostname": "okapi-7.dcx.example\n",
		"etc/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --token=hunter2horse " +
			"--hostname-override=okapi-7.dcx.example --node-ip=10.17.3.9\n",
		"etc/kubernetes/kubelet.yaml":       "kind: KubeletConfiguration\naddress: 10.17.3.9\nstaticPodPath: /etc/kubernetes/manifests\n",
		"etc/kubernetes/manifests/web.yaml": "kind: Pod\napiVersion: v1\nmetadata: {name: quagga, namespace: zebra, uid: 11111111-2222-3333-4444-555555555555}\n",
		"var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/data-quagga/vol_data.json": `{"driverName":"nfs.csi.k8s.io","volumeHandle":"10.17.3.9#zebra/quagga"}`,
		"var/lib/kubelet/pods/" + uid + "/etc-hosts":                                           "127.0.0.1\tlocalhost\n10.1.2.3\tquagga-0\n",
		"var/log/pods/zebra_quagga-0_" + uid + "/c/":                                           "",
	})
	o := examine(t, 0, "--root", disk, "--redact", "strict")
	all := map[string]string{"stdout": o.stdout, "stderr": o.stderr}
	for _, name := range namesIn(t, o.dir) {
		all[name] = readFile(t, filepath.Join(o.dir, name))
	}
	for name, text := range all {
		for _, secret := range []string{"zebra", "quagga", "okapi", "dcx", "10.17.3.9", "10.1.2.3", "hunter2horse"} {
			if i := strings.Index(text, secret); i >= 0 || strings.Contains(name, secret) {
				t.Errorf("%s is in %s: %.200q", secret, name, text[max(0, i-100):])
			}
		}
	}
	r := o.report(t)
	if len(r.Evidence.PodDirs) != 1 || r.Evidence.PodDirs[0].UID != uid || !strings.HasPrefix(r.Node.Name, "host-") {
		t.Errorf("node %q, pod directories %+v", r.Node.Name, r.Evidence.PodDirs)
	}
	if len(r.Evidence.Redactions) < 3 {
		t.Errorf("the ledger says %+v", r.Evidence.Redactions)
	}
}
