package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxArgsFile bounds files of arguments and settings.
const maxArgsFile = 1 << 20

// readFlags finds the kubelet's flags for a command line. For rke2 and k0s it is the command line of the kubelet that
// they have started, unless there is only their own (supervisor).
func (f *finder) readFlags(program string, supervisor bool, args []string) {
	switch {
	case program == programKubelite:
		f.readMicroK8s(args)
	case program == programK3s, program == programRKE2 && supervisor:
		f.readRancher(program, args)
	case program == programK0s && supervisor:
		if dir := lastPath(ParseFlags(args)["data-dir"]); dir != "" {
			f.in.Flags["root-dir"] = path.Join(dir, "kubelet")
		}
	default:
		f.in.Flags = ParseFlags(args)
	}
	f.dataDir = f.in.pathFlag("data-dir")
	if f.dataDir == "" {
		f.dataDir = "/var/lib/rancher/" + program
	}
}

// readRancher finds the kubelet's flags of k3s and rke2: --kubelet-arg on the command line, which counts alone if there
// is one, or kubelet-arg in /etc/rancher/<program>/config.yaml and config.yaml.d. A running k3s hides its command line
// (setproctitle), the unit still shows it.
func (f *finder) readRancher(program string, args []string) {
	title := splitTitle(args)
	if f.in.PID != 0 && len(title) <= 2 {
		if u, ok := f.findUnit(); ok && u.program == program {
			title = u.args
		}
	}
	var kubeletArgs []string
	own := map[string]string{}
	for name, value := range eachFlag(title) {
		switch name {
		case "kubelet-arg":
			kubeletArgs = append(kubeletArgs, value)
		case "data-dir", "d":
			own["data-dir"] = value
		case "l":
			own["log"] = value
		default:
			own[name] = value
		}
	}
	settings := f.readRancherConfig(program, own["config"])
	if len(kubeletArgs) == 0 {
		kubeletArgs = settings.kubeletArgs
	}
	for _, arg := range kubeletArgs {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !given {
			value = "true"
		}
		f.in.Flags[strings.ReplaceAll(name, "_", "-")] = value
	}
	for _, name := range rancherNames {
		value := own[name]
		if value == "" {
			value = settings.own[name]
		}
		if _, given := f.in.Flags[name]; !given && value != "" {
			f.in.Flags[name] = value
		}
	}
}

// rancherNames are options of k3s and rke2 themselves that matter; --log is the file that k3s and the kubelet in it write to.
var rancherNames = []string{"data-dir", "log", "node-name", "v"}

// rancherSettings are what matters of the configuration files of k3s and rke2.
type rancherSettings struct {
	kubeletArgs []string
	own         map[string]string
}

// readRancherConfig reads config.yaml and config.yaml.d/*.yaml, where a later file replaces a value, and appends to it
// where the name ends in "+" (docs.k3s.io/installation/configuration).
func (f *finder) readRancherConfig(program, name string) rancherSettings {
	read := f.read
	if name == "" {
		name, read = "/etc/rancher/"+program+"/config.yaml", f.readIfThere
	}
	files := []string{name}
	entries, err := f.files.ReadDir(name+".d", maxDropIns)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.noteConfig(name+".d", err)
	}
	for _, entry := range entries {
		if ext := path.Ext(entry.Name); ext == ".yaml" || ext == ".yml" {
			files = append(files, path.Join(name+".d", entry.Name))
		}
	}
	settings := rancherSettings{own: map[string]string{}}
	for _, name := range files {
		data, ok := read(name, maxArgsFile)
		if !ok {
			continue
		}
		if err := settings.apply(data); err != nil {
			f.noteConfig(name, err)
		}
	}
	return settings
}

func (s *rancherSettings) apply(data []byte) error {
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return err
	}
	if value, ok := file["kubelet-arg"]; ok {
		s.kubeletArgs = texts(value)
	}
	s.kubeletArgs = append(s.kubeletArgs, texts(file["kubelet-arg+"])...)
	for _, name := range rancherNames {
		if value := texts(file[name]); len(value) > 0 {
			s.own[name] = value[len(value)-1]
		}
	}
	return nil
}

// texts returns a scalar or the elements of a list as text.
func texts(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var out []string
	for _, element := range list {
		switch element := element.(type) {
		case string:
			out = append(out, element)
		case float64, bool:
			out = append(out, fmt.Sprint(element))
		}
	}
	return out
}

// readMicroK8s reads the arguments file that kubelite is started with, one or more flags on each line, with variables
// of the snap.
func (f *finder) readMicroK8s(args []string) {
	name := lastPath(ParseFlags(args)["kubelet-args-file"])
	if name == "" {
		name = "/var/snap/microk8s/current/args/kubelet"
	}
	env := map[string]string{
		"SNAP_DATA":   path.Dir(path.Dir(name)),
		"SNAP_COMMON": "/var/snap/microk8s/common",
		"SNAP":        "/snap/microk8s/current",
	}
	text, ok := f.read(name, maxArgsFile)
	if !ok {
		return
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			words = append(words, splitWords(expand(line, env))...)
		}
	}
	f.in.Flags = ParseFlags(words)
}
