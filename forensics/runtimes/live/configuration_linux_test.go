package live_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// unreadable are the ways in which root cannot read a file.
var unreadable = map[string]struct {
	make func(t *testing.T, name string)
	want error // nil: any
}{
	"a directory": {func(t *testing.T, name string) { write(t, filepath.Join(name, "x"), "") }, nodefs.ErrNotRegular},
	"a FIFO": {func(t *testing.T, name string) {
		write(t, name, "")
		if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
			t.Fatal(err)
		}
	}, nodefs.ErrNotRegular},
	"neither TOML nor JSON": {func(t *testing.T, name string) { write(t, name, "{[\n") }, nil},
	"too large":             {func(t *testing.T, name string) { write(t, name, strings.Repeat("# \n", 1<<19)) }, nodefs.ErrTruncated},
	"hung": {func(t *testing.T, name string) {
		testfuse.Mount(t, filepath.Dir(name), testfuse.Options{Files: map[string]string{filepath.Base(name): ""}}).Hang()
	}, context.DeadlineExceeded},
}

// TestFindUnreadStore has configurations of every runtime that cannot be read: its store is not looked for where it is by default,
// but for one that a flag names.
func TestFindUnreadStore(t *testing.T) {
	t.Parallel() // it waits for what hangs
	for _, r := range cri.Runtimes() {
		for how, bad := range unreadable {
			if r.StoreOf != "" || how == "hung" && r.Name != "containerd" { // each costs its time
				continue
			}
			t.Run(r.Name+" "+how, func(t *testing.T) {
				t.Parallel()
				own, root := r.Store.Installs[0], t.TempDir()
				write(t, filepath.Join(root, own.Root, "x"), "")
				write(t, filepath.Join(root, "moved/x"), "")
				bad.make(t, filepath.Join(root, own.Config))
				hints := runtimeslive.StoreHints{Endpoint: own.Socket}
				if s, err := runtimeslive.FindStore(t.Context(), open(t, root), hints); err == nil || errors.Is(err, fs.ErrNotExist) || bad.want != nil && !errors.Is(err, bad.want) || s != (runtimeslive.Store{}) {
					t.Errorf("store %+v, error %v; want %v", s, err, bad.want)
				}
				hints.Commands = [][]string{{"/usr/bin/" + r.Process, "--" + r.Flags.Root[0], "/moved"}}
				if s, err := runtimeslive.FindStore(t.Context(), open(t, root), hints); err != nil || s.Root != "/moved" {
					t.Errorf("store %+v, error %v; want the one of the flag", s, err)
				}
			})
		}
	}
}

// TestFindStoreOfEach has every runtime at every place that is known of it, and moved by each of its flags.
func TestFindStoreOfEach(t *testing.T) {
	for _, r := range cri.Runtimes() {
		store, _ := cri.Of(cri.StoreName(r.Name))
		for _, at := range store.Store.Installs {
			root := t.TempDir()
			write(t, filepath.Join(root, at.Root, "x"), "")
			endpoint := path.Join(path.Dir(at.Socket), r.Socket+".sock")
			s, err := runtimeslive.FindStore(t.Context(), open(t, root), runtimeslive.StoreHints{Endpoint: endpoint, Program: at.Program})
			if err != nil || s.Root != at.Root || s.Runtime != store.Name {
				t.Errorf("%s in %s: %+v, %v", r.Name, at.Root, s, err)
			}
			if at.BelowDataDir == "" {
				continue
			}
			write(t, filepath.Join(root, "data", at.BelowDataDir, "x"), "")
			s, err = runtimeslive.FindStore(t.Context(), open(t, root), runtimeslive.StoreHints{Endpoint: endpoint, Program: at.Program, DataDir: "/data"})
			if err != nil || s.Root != path.Join("/data", at.BelowDataDir) {
				t.Errorf("%s of %s with a data directory: %+v, %v", r.Name, at.Program, s, err)
			}
		}
		for _, flag := range r.Flags.Root {
			root := t.TempDir()
			write(t, filepath.Join(root, "moved/x"), "")
			s, err := runtimeslive.FindStore(t.Context(), open(t, root), runtimeslive.StoreHints{Commands: [][]string{{r.Process, "--" + flag + "=/moved"}}})
			if err != nil || s.Root != "/moved" || s.Runtime != r.Name {
				t.Errorf("%s --%s: %+v, %v", r.Name, flag, s, err)
			}
		}
	}
}

// trees are what is in testdata of each format, with a pod of it.
var trees = map[cri.Format]string{cri.Containerd: "containerd-1.6.20", cri.ContainersStorage: "cri-o", cri.Docker: "docker-20.10.24"}

// TestReadUnread has stores whose configuration cannot be read: what it is by default counts only if it is in use.
func TestReadUnread(t *testing.T) {
	t.Parallel() // it waits for what hangs
	for format, name := range trees {
		for how, bad := range unreadable {
			if how == "hung" && format != cri.Containerd {
				continue
			}
			t.Run(string(format)+" "+how, func(t *testing.T) {
				host := tree(t, name)
				r := ofFormat(t, format)
				config := r.Store.Installs[0].Config
				if err := os.RemoveAll(filepath.Join(host, config)); err != nil {
					t.Fatal(err)
				}
				bad.make(t, filepath.Join(host, config))
				checkAssumed(t, host, config, bad.want, true)
				// What the state directory had is gone, as after a move to another root and a reboot.
				if err := os.RemoveAll(filepath.Join(host, r.Store.Installs[0].State)); err != nil {
					t.Fatal(err)
				}
				checkAssumed(t, host, config, bad.want, false)
			})
		}
	}
}

func ofFormat(t *testing.T, format cri.Format) cri.Runtime {
	for _, r := range cri.Runtimes() {
		if r.Store.Format == format {
			return r
		}
	}
	t.Fatalf("no runtime has the format %s", format)
	return cri.Runtime{}
}

func checkAssumed(t *testing.T, host, config string, want error, inUse bool) {
	t.Helper()
	var s runtimes.Stores
	var err error
	testfuse.Await(t, "what does answer to be read in time on a busy machine", func() bool {
		s, err = runtimeslive.Read(t.Context(), open(t, host), runtimeslive.Options{})
		late := slices.ContainsFunc(s.Runtimes, func(r runtimes.Runtime) bool {
			return strings.Contains(strings.Join(r.Problems, "\n"), context.DeadlineExceeded.Error())
		})
		if !errors.Is(want, context.DeadlineExceeded) {
			late = late || errors.Is(errors.Join(s.Unread[config], err), context.DeadlineExceeded)
		}
		return !late
	})
	if len(s.Unread) != 1 || s.Unread[config] == nil || want != nil && !errors.Is(s.Unread[config], want) {
		t.Errorf("not read %v; want %s: %v", s.Unread, config, want)
	}
	if len(s.Runtimes) != 1 || s.Runtimes[0].Assumed != config+" could not be read" {
		t.Errorf("runtimes %+v; want one that is assumed", s.Runtimes)
	}
	if listed := len(s.Sandboxes)+len(s.Containers) > 0; listed != inUse || (err == nil) != inUse {
		t.Errorf("%d sandboxes, error %v; in use: %t", len(s.Sandboxes), err, inUse)
	}
}

// TestReadNamedConfiguration has a daemon whose flags name a configuration, which then has to be there; and drop-ins of CRI-O.
func TestReadNamedConfiguration(t *testing.T) {
	for _, r := range cri.Runtimes() {
		for _, flag := range r.Flags.Config {
			s, err := runtimeslive.Read(t.Context(), open(t, t.TempDir()), runtimeslive.Options{
				Hints: []runtimeslive.Hint{{PID: 1, Comm: r.Process, Args: []string{r.Process, "--" + flag, "/gone"}}},
			})
			if !errors.Is(s.Unread["/gone"], fs.ErrNotExist) || err == nil || !strings.Contains(err.Error(), "/gone") {
				t.Errorf("%s --%s: not read %v, error %v", r.Name, flag, s.Unread, err)
			}
		}
	}
	host := tree(t, "cri-o")
	for _, name := range []string{"01-broken", "02-fifo", "03-fine"} {
		write(t, filepath.Join(host, "etc/crio/crio.conf.d", name), "")
	}
	write(t, filepath.Join(host, "etc/crio/crio.conf.d/01-broken"), "[crio\n")
	unreadable["a FIFO"].make(t, filepath.Join(host, "etc/crio/crio.conf.d/02-fifo"))
	if s := read(t, host); len(s.Unread) != 2 {
		t.Errorf("not read %v; want two drop-ins", s.Unread)
	}
}

// TestReadImports has a configuration of containerd that imports others: the last one rules, and each has to be readable.
func TestReadImports(t *testing.T) {
	host := tree(t, "containerd-1.6.20", "var/lib/containerd", "data/cd")
	for name, text := range map[string]string{
		"config.toml":   "root = '/no'\nimports = [\"conf.d/*.toml\", '/gone.toml', '/etc/none.d/*.toml']\n",
		"conf.d/1.toml": "root = '/no-again'\nimports = ['/etc/containerd/config.toml']\n",
		"conf.d/2.toml": "root = '/data/cd'\n",
		"conf.d/3.yaml": "root = '/no'\n",
		"conf.d/4.toml": "[\n",
	} {
		write(t, filepath.Join(host, "etc/containerd", name), text)
	}
	s := read(t, host)
	if len(s.Runtimes) != 1 || s.Runtimes[0].Root != "/data/cd" {
		t.Errorf("%+v; want the root of the last import", s.Runtimes)
	}
	if len(s.Unread) != 2 || s.Unread["/gone.toml"] == nil || s.Unread["/etc/containerd/conf.d/4.toml"] == nil {
		t.Errorf("not read: %v", s.Unread)
	}
}

// TestReadServedByAnother has a cri-dockerd that listens elsewhere: the store is Docker's.
func TestReadServedByAnother(t *testing.T) {
	s := read(t, tree(t, "docker-20.10.24"), runtimeslive.Hint{PID: 1, Comm: "dockerd", Args: []string{"dockerd", "-H", "fd://"}},
		runtimeslive.Hint{PID: 2, Comm: "cri-dockerd", Args: []string{"cri-dockerd", "--container-runtime-endpoint=unix:///var/run/mine.sock"}})
	if len(s.Runtimes) != 1 || s.Runtimes[0].Name != "docker" || s.Runtimes[0].Socket != "/run/mine.sock" {
		t.Errorf("%+v; want Docker behind cri-dockerd", s.Runtimes)
	}
}

// TestReadK3s is k3s' containerd as its process tells: the configuration is k3s' own, and with it everything else is.
func TestReadK3s(t *testing.T) {
	const config = "var/lib/rancher/k3s/agent/etc/containerd/config.toml"
	host := tree(t, "containerd-1.6.20", "var/lib/containerd", "var/lib/rancher/k3s/agent/containerd", "run/containerd", "run/k3s/containerd")
	write(t, filepath.Join(host, config), "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  stream_server_port = \"10010\"\n")
	s := read(t, host, runtimeslive.Hint{PID: 1, Comm: "containerd", Args: []string{"containerd", "-c", "/" + config}})
	want := []runtimes.Runtime{{
		Name: "containerd", Root: "/var/lib/rancher/k3s/agent/containerd", State: "/run/k3s/containerd", Config: "/" + config,
		Socket: "/run/k3s/containerd/containerd.sock", Snapshotter: "overlayfs", Problems: []string{},
		SnapshotDir: "/var/lib/rancher/k3s/agent/containerd/io.containerd.snapshotter.v1.overlayfs",
	}}
	if diff := cmp.Diff(want, s.Runtimes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAskAssumed asks at a default of which it is not known whether it is the daemon's socket.
func TestAskAssumed(t *testing.T) {
	r := runtimes.Runtime{Name: "containerd", Socket: filepath.Join(t.TempDir(), "containerd.sock")}
	if got := runtimeslive.Ask(t.Context(), open(t, "/"), r, runtimeslive.AskOptions{}); got.Status != "refused" {
		t.Errorf("%+v; nobody listens there", got)
	}
	r.Assumed = "/etc/containerd/config.toml could not be read"
	if got := runtimeslive.Ask(t.Context(), open(t, "/"), r, runtimeslive.AskOptions{}); got.Status != "not-asked" || !strings.Contains(got.Detail, r.Assumed) {
		t.Errorf("%+v; it may listen elsewhere", got)
	}
}
