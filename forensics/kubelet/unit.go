package kubelet

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A unit is a systemd service that runs a kubelet.
type unit struct {
	path    string
	program string
	// args is the command line that it would be started with; empty where that cannot be told.
	args []string
}

// unitNames are the services that run a kubelet, with the program.
var unitNames = []struct{ name, program string }{
	{"kubelet.service", programKubelet},
	{"k3s.service", programK3s},
	{"k3s-agent.service", programK3s},
	{"rke2-server.service", programRKE2},
	{"rke2-agent.service", programRKE2},
	{"snap.microk8s.daemon-kubelite.service", programKubelite},
	{"snap.microk8s.daemon-kubelet.service", programKubelite},
	{"snap.kubelet.daemon.service", programKubelet},
	{"k0sworker.service", programK0s},
	{"k0scontroller.service", programK0s},
}

// unitDirs are where systemd looks for units, the first one that has a unit wins (systemd.unit(5)).
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

const (
	maxUnitFile = 256 << 10
	maxDropIns  = 100
)

// findUnit returns the first service that would run a kubelet. A masked unit is none, nor is one whose command line
// says that it runs no kubelet (k3s server --disable-agent).
func (f *finder) findUnit() (unit, bool) {
	for _, known := range unitNames {
		for _, dir := range unitDirs {
			name := path.Join(dir, known.name)
			text, err := f.files.ReadFile(name, maxUnitFile)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if link, linkErr := f.files.ReadLink(name); linkErr == nil && link == "/dev/null" {
				break // masked
			}
			f.noteConfig(name, err)
			u := unit{path: name, program: known.program}
			s := service{env: map[string]string{}}
			s.parse(string(text))
			f.applyDropIns(&s, known.name)
			f.readEnvironmentFiles(&s)
			u.args = s.commandLine()
			program := programOf("", u.args)
			if _, ok := IsCandidate("", u.args); !ok && program != "" {
				break
			}
			return u, true
		}
	}
	return unit{}, false
}

// An envFile is a file of variables; an optional one need not be there.
type envFile struct {
	path     string
	optional bool
}

// A service is the part of a unit that makes the command line (systemd.service(5), systemd.exec(5)).
type service struct {
	start    string
	env      map[string]string
	envFiles []envFile
}

// parse reads a unit file or a drop-in over what came before it. An empty ExecStart or EnvironmentFile resets.
func (s *service) parse(text string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "ExecStart":
			s.start = strings.TrimLeft(value, "-@:+!|")
		case "Environment":
			s.setAll(splitWords(value))
		case "EnvironmentFile":
			if value == "" {
				s.envFiles = nil
			} else {
				name, optional := strings.CutPrefix(value, "-")
				s.envFiles = append(s.envFiles, envFile{name, optional})
			}
		}
	}
}

// setAll takes the assignments among the words.
func (s *service) setAll(words []string) {
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			s.env[name] = value
		}
	}
}

// commandLine expands the variables of ExecStart: $NAME as a word of its own becomes several words, ${NAME} one
// (systemd.service(5), "Command lines").
func (s *service) commandLine() []string {
	var args []string
	for _, word := range splitWords(s.start) {
		name, whole := strings.CutPrefix(word, "$")
		if whole && name != "" && !strings.HasPrefix(name, "{") {
			args = append(args, splitWords(s.env[name])...)
			continue
		}
		args = append(args, expand(word, s.env))
	}
	return args
}

// expand replaces ${NAME} and $NAME.
func expand(word string, env map[string]string) string {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(word, "$")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, rest := after, ""
		if braced, inBraces := strings.CutPrefix(after, "{"); inBraces {
			name, rest, _ = strings.Cut(braced, "}")
		} else if end := strings.IndexFunc(after, notInName); end >= 0 {
			name, rest = after[:end], after[end:]
		}
		out.WriteString(env[name])
		word = rest
	}
}

func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// applyDropIns reads <unit>.d/*.conf of all directories in the order of their names; a name in an earlier directory
// hides the same name in a later one.
func (f *finder) applyDropIns(s *service, unitName string) {
	files := map[string]string{}
	for _, dir := range unitDirs {
		dir = path.Join(dir, unitName+".d")
		entries, err := f.files.ReadDir(dir, maxDropIns)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.noteConfig(dir, err)
		}
		for _, entry := range entries {
			if _, hidden := files[entry.Name]; !hidden && path.Ext(entry.Name) == ".conf" {
				files[entry.Name] = path.Join(dir, entry.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text, ok := f.read(files[name], maxUnitFile); ok {
			s.parse(string(text))
		}
	}
}

// readEnvironmentFiles reads the variables that the unit takes from files (/var/lib/kubelet/kubeadm-flags.env,
// /etc/default/kubelet). They override those of Environment.
func (f *finder) readEnvironmentFiles(s *service) {
	for _, file := range s.envFiles {
		read := f.read
		if file.optional {
			read = f.readIfThere
		}
		text, ok := read(file.path, maxUnitFile)
		if !ok {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
				s.setAll([]string{assignment(line)})
			}
		}
	}
}

// assignment undoes the quoting of one line NAME="value".
func assignment(line string) string { return strings.Join(splitWords(line), " ") }
