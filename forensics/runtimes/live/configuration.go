package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/toml"
)

const (
	// configLimit bounds reading one configuration file.
	configLimit = 2 * time.Second

	maxDropIns = 1000
	maxImports = 100 // patterns of one file
	maxUnread  = 100 // files that are named
)

// A configuration reads the configuration files of runtimes, and remembers which of them could not be read.
type configuration struct {
	ctx   context.Context
	fs    *hostfs.FS
	group *probe.Group
	// named are files and directories that a process was told to use: they should be there. dropIns is where drop-ins of the
	// install are that is being configured.
	named   []string
	dropIns string
	unread  map[string]error
}

// onDisk makes one call for a file that may lie on a dead mount.
func onDisk[T any](c *configuration, name string, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(c.ctx, configLimit)
	defer cancel()
	return probe.Do(ctx, c.group, "runtime configuration "+name, call)
}

// read reads a configuration file of an install, or the beginning of one that is too large; false where there is nothing to be
// read. That there is no file where it is by default is as good as an empty one.
func (c *configuration) read(in *install, name string, isNamed bool) ([]byte, bool) {
	text, err := onDisk(c, name, func() ([]byte, error) { return c.fs.ReadFile(name, maxConfig) })
	if isNamed || !errors.Is(err, fs.ErrNotExist) {
		c.fail(in, name, err)
	}
	return text, err == nil || errors.Is(err, nodefs.ErrTruncated)
}

// fail notes that a file could not be read, so that the install may be another.
func (c *configuration) fail(in *install, name string, err error) {
	if err == nil {
		return
	}
	in.Assumed = cmp.Or(in.Assumed, name+" could not be read")
	if c.unread[name] == nil && len(c.unread) < maxUnread { // what hangs is busy when it is asked again
		c.unread[name] = err
	}
}

// main reads the file that is an install's own, and forgets its name if there is none.
func (c *configuration) main(in *install) (name string, text []byte) {
	name = in.Config
	text, ok := c.read(in, name, slices.Contains(c.named, name))
	if !ok {
		in.Config = ""
	}
	return name, text
}

func (c *configuration) toml(in *install, name string, text []byte) toml.Values {
	v, err := toml.Parse(string(text))
	if err != nil {
		c.fail(in, name, fmt.Errorf("%s is not TOML: %w", name, err))
	}
	return v
}

// containerd reads config.toml and then what that imports, of which the last one rules (cmd/containerd/server/config, LoadConfig).
func (c *configuration) containerd(in *install) {
	name, text := c.main(in)
	imports := c.containerdFile(in, name, text)
	for done := map[string]bool{name: true}; len(imports) > 0; imports = imports[1:] {
		for _, name := range c.matches(in, imports[0]) {
			if !done[name] && len(done) < maxDropIns {
				done[name] = true
				text, _ := c.read(in, name, true)
				imports = append(imports, c.containerdFile(in, name, text)...)
			}
		}
	}
}

// matches lists the files of a pattern; one without wildcards should be there.
func (c *configuration) matches(in *install, pattern string) (names []string) {
	dir, base := path.Split(pattern)
	if !strings.Contains(base, "*") {
		return []string{pattern}
	}
	entries, err := onDisk(c, dir, func() ([]nodefs.Entry, error) { return c.fs.ReadDir(dir, maxDropIns) })
	if !errors.Is(err, fs.ErrNotExist) {
		c.fail(in, path.Clean(dir), err)
	}
	for _, e := range entries {
		if ok, _ := path.Match(base, e.Name); ok {
			names = append(names, path.Join(dir, e.Name))
		}
	}
	return names
}

// containerdFile applies one file and returns the patterns of what it imports.
func (c *configuration) containerdFile(in *install, name string, text []byte) (imports []string) {
	v := c.toml(in, name, text)
	in.setRoot(v.First("root"), "root of "+name)
	in.State = cmp.Or(v.First("state"), in.State)
	in.Socket = cmp.Or(v.First("grpc.address"), in.Socket)
	in.Snapshotter = cmp.Or(v.First("plugins.io.containerd.cri.v1.images.snapshotter", "plugins.io.containerd.grpc.v1.cri.containerd.snapshotter",
		"plugins.cri.containerd.snapshotter"), in.Snapshotter)
	for _, pattern := range v["imports"][:min(len(v["imports"]), maxImports)] {
		if !path.IsAbs(pattern) {
			pattern = path.Join(path.Dir(name), pattern)
		}
		imports = append(imports, pattern)
	}
	return imports
}

// crio reads storage.conf(5) of containers/storage, crio.conf(5) and its drop-ins, of which the last one rules.
func (c *configuration) crio(in *install) {
	const storage = "/etc/containers/storage.conf"
	text, _ := c.read(in, storage, false)
	v := c.toml(in, storage, text)
	in.setRoot(v.First("storage.graphroot"), "graphroot of "+storage)
	in.State = cmp.Or(v.First("storage.runroot"), in.State)
	in.Snapshotter = cmp.Or(v.First("storage.driver"), in.Snapshotter)
	if images := v.First("storage.imagestore"); path.IsAbs(images) {
		in.imageStore, in.why = images, "imagestore of "+storage
	}
	pause := "registry.k8s.io/pause:*"
	apply := func(name string, text []byte) {
		v := c.toml(in, name, text)
		in.setRoot(v.First("crio.root"), "root of "+name)
		in.State = cmp.Or(v.First("crio.runroot"), in.State)
		in.Snapshotter = cmp.Or(v.First("crio.storage_driver"), in.Snapshotter)
		in.Socket = cmp.Or(v.First("crio.api.listen"), in.Socket)
		pause = cmp.Or(v.First("crio.image.pause_image"), pause)
		if list, ok := v["crio.image.pinned_images"]; ok {
			in.pinned = list
		}
	}
	apply(c.main(in))
	dir := c.dropIns
	entries, err := onDisk(c, dir, func() ([]nodefs.Entry, error) { return c.fs.ReadDir(dir, maxDropIns) })
	if !errors.Is(err, fs.ErrNotExist) || slices.Contains(c.named, dir) {
		c.fail(in, dir, err)
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name); !e.IsDir() {
			text, _ := c.read(in, name, true)
			apply(name, text)
		}
	}
	in.pinned = append(slices.Clone(in.pinned), pause)
}

// docker reads daemon.json of dockerd.
func (c *configuration) docker(in *install) {
	name, text := c.main(in)
	if len(bytes.TrimSpace(text)) == 0 {
		return // dockerd takes it for one without settings
	}
	var daemon struct {
		DataRoot string `json:"data-root"`
		Graph    string `json:"graph"` // before 17.05
		ExecRoot string `json:"exec-root"`
		Driver   string `json:"storage-driver"`
	}
	if err := json.Unmarshal(text, &daemon); err != nil {
		c.fail(in, name, fmt.Errorf("%s is not a JSON configuration: %w", name, err))
		return
	}
	in.setRoot(daemon.Graph, "graph of "+name)
	in.setRoot(daemon.DataRoot, "data-root of "+name)
	in.State = cmp.Or(daemon.ExecRoot, in.State)
	in.Snapshotter = cmp.Or(daemon.Driver, in.Snapshotter)
}

func (in *install) setRoot(root, why string) {
	if root != "" {
		in.Root, in.why = root, why
	}
}
