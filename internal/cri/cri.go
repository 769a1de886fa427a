// Package cri is the table of the programs that serve the kubelet's container runtime interface. One descriptor has all differences of one
// program from the others. Other packages parse its files, interpret its messages and suggest steps.
package cri

import (
	"path"
	"slices"
	"strings"
)

// A Runtime describes one program.
type Runtime struct {
	// Name is what evidence and reports call it; Title is how its makers write it.
	Name, Title string
	// Process is the name of its daemon as the kernel has it, in at most 15 bytes (proc_pid_comm(5)).
	Process string
	// Executables are other programs that may contain it, besides the one with the name of its process.
	Executables []string
	// Shims are prefixes of the names of its helper processes, one for each container or pod. They continue to run when it is restarted.
	Shims []string
	// Socket is the prefix of the name of its socket.
	Socket string
	// Units are the systemd services that run it, without .service. LogNames are other names under which it logs, besides those and the name
	// of its process. LogFiles are files to which it may be configured to log.
	Units, LogNames, LogFiles []string
	// Scopes are prefixes of the cgroups that it creates only for containers of a kubelet: Docker has none, since it uses one prefix for all
	// containers. ScopeParent is their directory where the kubelet names none.
	Scopes      []string
	ScopeParent string
	// StoreOf names the runtime whose store it uses; "" where it has one of its own. Flags then move the socket alone.
	StoreOf string
	Flags   Flags
	Store   Store
}

// Flags are the names of a daemon's flags, without dashes, by what they move.
type Flags struct {
	Config, ConfigDir, Root, State, Socket, Driver []string
}

// A Format is the format of a runtime's configuration, containers and images on disk.
type Format string

// A Store is what a runtime has on disk.
type Store struct {
	Format Format
	// Installs are the places where it may be, its own defaults first.
	Installs []Install
	// Driver is its default snapshotter or storage driver. DriverDir is the directory of a driver below the root, with % for its name;
	// DriverDirs has the exceptions.
	Driver, DriverDir string
	DriverDirs        map[string]string
	// Marks are paths that show, if one exists, that it serves a kubelet: the store may belong to another program alone (podman, docker
	// build).
	Marks []string
	// Images and Layers are the directories below the root whose contents count for the image file system: images as they
	// were pulled, and unpacked. Logs and Volumes are directories of one container's log and one volume each ("*").
	Images, Layers, Logs, Volumes []string
	// ImagesAreLayers says that it reports the directory of its driver, and not its root, as the image file system (ImageFsInfo of the
	// container runtime interface).
	ImagesAreLayers bool
	// LayerIsDirectory says that the id of a container's layer is the name of its directory below that of the driver.
	LayerIsDirectory bool
}

// An Install is one place where a runtime may be.
type Install struct {
	// Program is the distribution's program that runs the kubelet there (see kubelet.Instance); "" for no distribution's.
	Program string
	// BelowDataDir is the root below --data-dir of that program.
	BelowDataDir string
	// Root, State and the others are directories and files as runtimes.Runtime has them. ConfigDir has drop-ins.
	Root, State, Config, ConfigDir, Socket string
}

// Runtimes are all of them.
func Runtimes() []Runtime { return table }

// Of finds a runtime by its name.
func Of(name string) (Runtime, bool) {
	return find(func(r *Runtime) bool { return r.Name == name })
}

// OfProcess finds the runtime that a process of some name is.
func OfProcess(comm string) (Runtime, bool) {
	return find(func(r *Runtime) bool { return r.Process == comm })
}

// OfEndpoint finds the runtime that serves an endpoint ("unix:///run/containerd/containerd.sock"), by the name of its socket.
func OfEndpoint(endpoint string) (Runtime, bool) {
	socket := path.Base(strings.TrimPrefix(endpoint, "unix://"))
	return find(func(r *Runtime) bool { return strings.HasPrefix(socket, r.Socket) })
}

func find(is func(*Runtime) bool) (Runtime, bool) {
	for i := range table {
		if is(&table[i]) {
			return table[i], true
		}
	}
	return Runtime{}, false
}

// StoreName is the name of the runtime whose store the one of a name has: mostly its own.
func StoreName(name string) string {
	if r, ok := Of(name); ok && r.StoreOf != "" {
		return r.StoreOf
	}
	return name
}

// IsShim says whether a process of some name looks after one container or pod.
func IsShim(comm string) bool {
	_, ok := find(func(r *Runtime) bool {
		return slices.ContainsFunc(r.Shims, func(shim string) bool { return strings.HasPrefix(comm, shim) })
	})
	return ok
}

// IsUnit says whether a systemd service, without .service, runs a runtime.
func IsUnit(name string) bool {
	_, ok := find(func(r *Runtime) bool { return slices.Contains(r.Units, name) })
	return ok
}

// IsLogName says whether lines under a name are a runtime's own.
func IsLogName(name string) bool { return logNames[name] }

// logNames is asked for each line of a log.
var logNames = func() map[string]bool {
	names := map[string]bool{}
	for _, r := range table {
		for _, name := range slices.Concat([]string{r.Process}, r.Units, r.LogNames) {
			names[name] = true
		}
	}
	return names
}()

// IsScope says whether a component of a cgroup's path is one of those that a runtime makes for a container of a kubelet, where
// that holds the container's id: a scope ("cri-containerd-<id>.scope"), a slice and a scope in one where kubelet and runtime
// disagree about the driver ("kubepods.slice:cri-containerd:<id>"), or a directory of one that is for these alone.
func IsScope(part, parent string) bool {
	_, ok := find(func(r *Runtime) bool {
		return parent != "" && parent == r.ScopeParent || slices.ContainsFunc(r.Scopes, func(scope string) bool {
			return strings.HasPrefix(part, scope+"-") || strings.Contains(part, ":"+scope+":")
		})
	})
	return ok
}

// LayerDir is the directory of the file systems of images and containers that a driver keeps below a root.
func (s Store) LayerDir(root, driver string) string {
	dir, ok := s.DriverDirs[driver]
	if !ok {
		dir = strings.ReplaceAll(s.DriverDir, "%", driver)
	}
	return path.Join(root, dir)
}
