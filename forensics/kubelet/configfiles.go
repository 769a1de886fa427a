package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const (
	maxConfigFile = 1 << 20
	maxDropInDirs = 8 // levels below --config-dir
)

// readConfig reads --config, then the drop-ins of --config-dir over it. Without a process, when nothing names a file,
// the places where distributions put one are tried.
func (f *finder) readConfig() {
	name := f.in.pathFlag("config")
	switch {
	case name != "" && !path.IsAbs(name):
		f.noteConfig(name, errors.New("relative to an unknown working directory"))
	case name != "":
		f.in.ConfigPath = name
		if data, ok := f.read(name, maxConfigFile); ok {
			f.applyConfig(name, data)
		}
	case f.in.PID == 0:
		f.guessConfig()
	}
	dir := f.in.pathFlag("config-dir")
	if dir == "" && (f.in.Program == programK3s || f.in.Program == programRKE2) {
		dir = path.Join(f.dataDir, "agent/etc/kubelet.conf.d")
	}
	if path.IsAbs(dir) {
		f.readConfigDir(dir, 0)
	}
}

func (f *finder) applyConfig(name string, data []byte) {
	config := Config{}
	if f.in.Config != nil {
		config = *f.in.Config
	}
	err := config.Apply(data)
	if err != nil {
		f.noteConfig(name, err)
	}
	if err == nil || isTypeError(err) {
		f.in.Config = &config
	}
}

// readConfigDir applies *.conf in the order of their names, subdirectories included (cmd/kubelet/app/server.go,
// mergeKubeletConfigurations; --config-dir is there since 1.28).
func (f *finder) readConfigDir(dir string, depth int) {
	entries, err := f.files.ReadDir(dir, maxDropIns)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || f.in.pathFlag("config-dir") != "") {
		f.noteConfig(dir, err)
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name)
		switch {
		case entry.IsDir() && depth < maxDropInDirs:
			f.readConfigDir(name, depth+1)
		case entry.IsDir():
			f.noteConfig(name, fmt.Errorf("%s: more than %d levels deep: %w", name, maxDropInDirs, nodefs.ErrTruncated))
		case path.Ext(entry.Name) == ".conf" && !entry.IsDir():
			if data, ok := f.read(name, maxConfigFile); ok {
				if f.in.ConfigPath == "" {
					f.in.ConfigPath = name
				}
				f.applyConfig(name, data)
			}
		}
	}
}

// guessConfig looks where kubeadm, EKS, GKE, AKS and OpenShift keep the file. What holds something else is passed over:
// the kubelet.conf of OpenShift is a configuration, the one of kubeadm a kubeconfig.
func (f *finder) guessConfig() {
	for _, name := range []string{
		path.Join("/", f.in.CanonicalRoot, "config.yaml"),
		"/etc/kubernetes/kubelet/config.json",
		"/etc/kubernetes/kubelet/kubelet-config.json",
		"/etc/kubernetes/kubelet/config.yaml",
		"/etc/kubernetes/kubelet/config",
		"/home/kubernetes/kubelet-config.yaml",
		"/etc/default/kubeletconfig.json",
		"/etc/kubernetes/kubelet.conf",
	} {
		data, err := f.files.ReadFile(name, maxConfigFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f.noteConfig(name, err)
		if err == nil && !errors.Is((&Config{}).Apply(data), errNotConfiguration) {
			f.in.ConfigPath = name
			f.applyConfig(name, data)
			return
		}
	}
}

// staticPodPath returns the directory or file of static manifests. A relative one in the configuration file is
// relative to that file (pkg/kubelet/kubeletconfig/util/codec).
func (f *finder) staticPodPath() string {
	if given, ok := f.in.Flags["pod-manifest-path"]; ok {
		return lastPath(given)
	}
	if f.in.Config != nil && f.in.Config.StaticPodPath != "" {
		return f.in.inConfigDir(f.in.Config.StaticPodPath)
	}
	if f.in.Program == programK3s || f.in.Program == programRKE2 {
		return path.Join(f.dataDir, "agent/pod-manifests")
	}
	return ""
}

func (in *Instance) inConfigDir(name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(in.ConfigPath), name)
}

// The root directories of the distributions, the usual one first.
const (
	defaultRoot  = "/var/lib/kubelet"
	microK8sRoot = "/var/snap/microk8s/common/var/lib/kubelet"
	k0sRoot      = "/var/lib/k0s/kubelet"
	k3sOldRoot   = "/var/lib/rancher/k3s/agent/kubelet"
)

func programRoot(program string) string {
	switch program {
	case programKubelite:
		return microK8sRoot
	case programK0s:
		return k0sRoot
	}
	return defaultRoot
}

// findRoot sets the root directory: what the caller says, the flag, or what the program uses by default. Without a
// process and a flag, the known places are searched for one with pods, and without a unit there may be none.
func (f *finder) findRoot(override string) {
	root := override
	guessed := override == "" && f.in.Program == ""
	if root == "" {
		root = f.in.pathFlag("root-dir")
	}
	if root == "" {
		root = programRoot(f.in.Program)
		if f.in.PID == 0 {
			root = f.guessRoot(root)
		}
	}
	f.in.RootDir = path.Clean(root)
	f.in.CanonicalRoot = f.in.RootDir
	if !path.IsAbs(root) {
		f.note(root, errors.New("the root directory is not an absolute path"))
		return
	}
	canonical, err := f.files.Resolve(f.in.RootDir)
	if errors.Is(err, fs.ErrNotExist) && guessed {
		f.in.RootDir, f.in.CanonicalRoot = "", ""
		return
	}
	f.note(f.in.RootDir, err)
	if err == nil {
		f.in.CanonicalRoot = canonical
	}
}

func (f *finder) guessRoot(root string) string {
	for _, known := range []string{root, defaultRoot, microK8sRoot, k0sRoot, k3sOldRoot} {
		if f.hasEntries(path.Join(known, "pods")) {
			return known
		}
	}
	return root
}
