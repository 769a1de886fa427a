package collect

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// TestUnreadConfigurationsAreCovered examines the disk of a node whose kubelet and containerd have configurations that cannot be
// read: each is in the coverage by its path, and neither thresholds nor the place of images pass for known.
func TestUnreadConfigurationsAreCovered(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"var/lib/kubelet/pods/u/x": "", "var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db": "", "var/log/pods/x": "",
		"etc/systemd/system/kubelet.service": "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubelet.yaml --config-dir=/etc/kubelet.d\n",
		"etc/kubelet.yaml":                   "kind: KubeletConfiguration\nimageGCHighThresholdPercent: 70\n",
		"etc/kubelet.d/1.conf":               "kind: [\n",
		"etc/containerd/config.toml":         "root = \n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "etc/kubelet.d/2.conf"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Collect(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]forensics.Source{}
	for _, s := range e.Coverage {
		covered[s.Source] = s
	}
	for _, name := range []string{"kubelet:/etc/kubelet.d/1.conf", "kubelet:/etc/kubelet.d/2.conf", "runtime:/etc/containerd/config.toml"} {
		_, file, _ := strings.Cut(name, ":")
		if s := covered[name]; s.Status != forensics.SourceMalformed || !strings.Contains(s.Detail, file) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := covered[forensics.SourceKubelet]; s.Status != forensics.SourceRead {
		t.Errorf("the rest of the kubelet's settings: %+v", s)
	}
	if ok, why := e.Saw(forensics.SourceRuntime); ok || !strings.Contains(why, "/etc/containerd/config.toml") {
		t.Errorf("the runtime was read: %t, %s", ok, why)
	}
	if s := covered[forensics.SourceStaticPods]; s.Status != forensics.SourceAbsent || !strings.Contains(s.Detail, "not known: /etc/kubelet.d/1.conf") {
		t.Errorf("static pods: %+v", s)
	}
	if e.Disks == nil || e.Disks.Assumed != "/etc/kubelet.d/1.conf could not be read" {
		t.Fatalf("disks %+v; the thresholds are only assumed", e.Disks)
	}
	if p, ok := e.Disks.Place(eviction.RoleImage); ok {
		t.Errorf("images are at %+v, which is not known", p)
	}
	if s := covered[forensics.SourceDisks]; s.Status != forensics.SourceTruncated || !strings.Contains(s.Detail, "/etc/containerd/config.toml") {
		t.Errorf("disks: %+v", s)
	}
}

// TestAbsentDefaultsAreNoNews has nothing but what a node has by default.
func TestAbsentDefaultsAreNoNews(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"var/lib/kubelet/pods/u", "var/lib/containerd/io.containerd.metadata.v1.bolt"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Collect(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range e.Coverage {
		if source, file, ok := strings.Cut(s.Source, ":"); ok && (source == forensics.SourceKubelet || source == forensics.SourceRuntime) {
			t.Errorf("%s: %s", file, s.Detail)
		}
	}
	if ok, why := e.Saw(forensics.SourceRuntime); !ok {
		t.Errorf("the runtime was not read: %s", why)
	}
}
