package cri_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// TestRuntimes holds what everybody who asks the table relies on.
func TestRuntimes(t *testing.T) {
	names, processes := map[string]bool{}, map[string]bool{}
	for _, r := range cri.Runtimes() {
		if names[r.Name] || processes[r.Process] {
			t.Errorf("%s is in the table twice", r.Name)
		}
		names[r.Name], processes[r.Process] = true, true
		if r.Name == "" || r.Title == "" || r.Process == "" || r.Socket == "" || len(r.Units) == 0 {
			t.Errorf("%+v lacks a name", r)
		}
		if len(r.Process) > 15 {
			t.Errorf("%s: the kernel cuts the name of the process %s", r.Name, r.Process)
		}
		if found, ok := cri.Of(r.Name); !ok || found.Process != r.Process {
			t.Errorf("Of(%s) = %s", r.Name, found.Name)
		}
		if found, _ := cri.OfProcess(r.Process); found.Name != r.Name {
			t.Errorf("OfProcess(%s) = %s", r.Process, found.Name)
		}
		if found, _ := cri.OfEndpoint("unix:///run/x/" + r.Socket + ".sock"); found.Name != r.Name {
			t.Errorf("the endpoint of %s is one of %s", r.Name, found.Name)
		}
		for _, name := range slices.Concat([]string{r.Process}, r.Units, r.LogNames) {
			if !cri.IsLogName(name) || strings.HasSuffix(name, ".service") {
				t.Errorf("%s: lines of %s are not its own", r.Name, name)
			}
		}
		for _, flags := range [][]string{r.Flags.Config, r.Flags.ConfigDir, r.Flags.Root, r.Flags.State, r.Flags.Socket, r.Flags.Driver} {
			if slices.ContainsFunc(flags, func(name string) bool { return name == "" || name[0] == '-' }) {
				t.Errorf("%s: flags %q are not without dashes", r.Name, flags)
			}
		}
		if _, ok := cri.Of(cri.StoreName(r.Name)); !ok {
			t.Errorf("%s has the store of %s, which is none", r.Name, cri.StoreName(r.Name))
		}
		if r.StoreOf == "" {
			checkStore(t, r)
		} else if len(r.Store.Installs) > 0 || len(r.Flags.Root) > 0 {
			t.Errorf("%s has a store of its own and that of %s", r.Name, r.StoreOf)
		}
	}
}

func checkStore(t *testing.T, r cri.Runtime) {
	s := r.Store
	if s.Format == "" || s.Driver == "" || len(s.Images) == 0 || len(s.Installs) == 0 || len(r.Flags.Root) == 0 || len(r.Flags.Config) == 0 {
		t.Fatalf("%s: store %+v, flags %+v lack something", r.Name, s, r.Flags)
	}
	if dir := s.LayerDir("", s.Driver); !slices.Contains(s.Layers, dir) {
		t.Errorf("%s: the layers of its driver in %s do not count", r.Name, dir)
	}
	for i, at := range s.Installs {
		if (i == 0) != (at.Program == "") {
			t.Errorf("%s: install %d is of %q; its own has to be the first one", r.Name, i, at.Program)
		}
		if served, ok := cri.OfEndpoint(at.Socket); !ok || cri.StoreName(served.Name) != r.Name {
			t.Errorf("%s: its socket %s is one of %s", r.Name, at.Socket, served.Name)
		}
		for _, name := range []string{at.Root, at.State, at.Config, at.Socket} {
			if !path.IsAbs(name) || path.Clean(name) != name {
				t.Errorf("%s: %q is no clean path", r.Name, name)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	id := strings.Repeat("a", 64)
	for _, r := range cri.Runtimes() {
		for _, scope := range r.Scopes {
			for _, part := range []string{scope + "-" + id + ".scope", "kubepods.slice:" + scope + ":" + id} {
				if !cri.IsScope(part, "system.slice") {
					t.Errorf("%s is no scope of %s", part, r.Name)
				}
			}
		}
		if r.ScopeParent != "" && !cri.IsScope(id, r.ScopeParent) {
			t.Errorf("%s/%s is none of %s", r.ScopeParent, id, r.Name)
		}
	}
	for _, part := range []string{"docker-" + id + ".scope", "libpod-" + id + ".scope", id} {
		if cri.IsScope(part, "") {
			t.Errorf("%s can be of anybody", part)
		}
	}
}

func TestLayerDir(t *testing.T) {
	docker, _ := cri.Of("docker")
	containerd, _ := cri.Of("containerd")
	for _, tc := range []struct{ got, want string }{
		{docker.Store.LayerDir("/r", "btrfs"), "/r/btrfs"},
		{docker.Store.LayerDir("/r", "vfs"), "/r/vfs/dir"},
		{containerd.Store.LayerDir("/r", "zfs"), "/r/io.containerd.snapshotter.v1.zfs"},
	} {
		if tc.got != tc.want {
			t.Errorf("layers in %s; want %s", tc.got, tc.want)
		}
	}
}
