package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// host makes a file system from files: "-> " begins a symbolic link, "FIFO" is one, and a path that ends in "/" a directory.
func host(t *testing.T, files map[string]string) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		full := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(root+name), 0o755)
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case err != nil || strings.HasSuffix(name, "/"):
		case isLink:
			err = os.Symlink(target, full)
		case content == "FIFO":
			err = syscall.Mkfifo(full, 0o600)
		default:
			err = os.WriteFile(full, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

func TestStaticPods(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"
	fsys := host(t, map[string]string{
		"/m/a.yaml": fmt.Sprintf(pod, "a"), "/m/b.json": `{"kind":"Pod","metadata":{"name":"b","namespace":"x","uid":"u"}}`,
		"/m/.c.yaml": fmt.Sprintf(pod, "hidden"), "/m/dir/d.yaml": fmt.Sprintf(pod, "below"), "/m/e.yaml": "FIFO",
		"/m/f.yaml": "-> /elsewhere/f", "/elsewhere/f": fmt.Sprintf(pod, "f"), "/m/g": "nonsense", "/m/h.yaml": "-> /gone",
		"/m/i.yaml": "# " + strings.Repeat("x", maxManifest), "/one.yaml": fmt.Sprintf(pod, "one"),
	})
	got, errs := StaticPods(t.Context(), fsys, "/m")
	want := []Pod{
		{Name: "a", Namespace: "default", Source: "manifest", Kind: "static"},
		{Name: "b", Namespace: "x", UID: "u", Source: "manifest", Kind: "static"},
		{Name: "f", Namespace: "default", Source: "manifest", Kind: "static"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	var named []string
	for _, err := range errs {
		for _, name := range []string{"/m/e.yaml", "/m/g", "/m/h.yaml", "/m/i.yaml"} {
			if strings.Contains(err.Error(), name+":") {
				named = append(named, name)
			}
		}
	}
	if diff := cmp.Diff([]string{"/m/e.yaml", "/m/g", "/m/h.yaml", "/m/i.yaml"}, named); diff != "" || len(errs) != 4 {
		t.Errorf("errors %v (-want +got):\n%s", errs, diff)
	}
	one, errs := StaticPods(t.Context(), fsys, "/one.yaml")
	if len(one) != 1 || one[0].Name != "one" || len(errs) != 0 {
		t.Errorf("a file: %v, %v", one, errs)
	}
	none, errs := StaticPods(t.Context(), fsys, "/gone")
	if none == nil || len(none) != 0 || len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("no directory: %v, %v", none, errs)
	}
}

func TestLogDirs(t *testing.T) {
	fsys := host(t, map[string]string{"/var/log/pods": "-> /data/pods", "/data/pods/default_web_u1/c/0.log": "", "/data/pods/lost+found/": "", "/data/pods/a_b_file": ""})
	got, err := LogDirs(t.Context(), fsys, "/var/log/pods")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Pod{{Namespace: "default", Name: "web", UID: "u1", Source: "log-dir"}}, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	none, err := LogDirs(t.Context(), fsys, "/gone")
	if none == nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v; want an empty list and an error", none, err)
	}
}

func TestStatePods(t *testing.T) {
	const a, b = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	fsys := host(t, map[string]string{
		"/k/allocated_pods_state":                       `{"data":"{\"entries\":{\"` + a + `\":{}}}","checksum":1}`,
		"/k/cpu_manager_state":                          `{"policyName":"static","entries":{"` + a + `":{"c":"2"},"` + b + `":{"c":"3"}}}`,
		"/k/memory_manager_state":                       "-> /elsewhere",
		"/k/dra_manager_state":                          "FIFO",
		"/k/device-plugins/kubelet_internal_checkpoint": `{"Data":{"PodDeviceEntries":[{"PodUID":"` + b + `"}]},"Checksum":1}`,
	})
	in := Instance{CanonicalRoot: "/k"}
	pods, err := in.StatePods(t.Context(), fsys)
	if diff := cmp.Diff([]Pod{{UID: a, Source: "allocation"}, {UID: a, Source: "state"}, {UID: b, Source: "state"}}, pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "dra_manager_state") {
		t.Errorf("error = %v; want one that names the FIFO", err)
	}
	none := Instance{CanonicalRoot: "/nothing"}
	if pods, err := none.StatePods(t.Context(), fsys); len(pods) != 0 || err != nil {
		t.Errorf("without files: %v, %v; want nothing", pods, err)
	}
}
