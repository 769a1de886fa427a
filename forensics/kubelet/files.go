package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// nodeFiles are the node's files as the kubelet sees them. An error that is [context.DeadlineExceeded] or [context.Canceled]
// says that a file did not answer in time.
type nodeFiles interface {
	// ReadFile, ReadDir and ReadLink are those of [nodefs.FS].
	ReadFile(path string, limit int64) ([]byte, error)
	ReadDir(path string, limit int) ([]nodefs.Entry, error)
	ReadLink(path string) (string, error)
	// Resolve returns a path without symbolic links.
	Resolve(path string) (string, error)
}

// maxImpostors bounds the list of them: a pod can have as many as it likes.
const maxImpostors = 100

// Read adds what the command line of the chosen process and the node's files say. Without a process that is what the
// files say of the kubelet that ran here or should. rootDir is the root directory where the caller knows better than the
// node, else "". What could not be read is in Sources.
func (in *Instance) Read(files nodeFiles, c choice, rootDir string) {
	f := finder{files: files, in: in}
	if in.Sources == nil {
		in.Sources = []Source{}
	}
	in.Flags, in.Endpoints = map[string]string{}, []Endpoint{}
	in.Others, in.Impostors = c.Others, c.Impostors[:min(len(c.Impostors), maxImpostors)]
	in.MoreImpostors = len(c.Impostors) - len(in.Impostors)
	var service unit
	if p := c.Kubelet; p != nil {
		in.identify(*p, c.Program)
		if len(p.Args) == 0 {
			f.noteConfig(fmt.Sprintf("/proc/%d/cmdline", p.PID), errors.New("the command line of the process is unknown"))
		}
		f.readFlags(c.Program, p.supervises(), p.Args)
	} else if u, ok := f.findUnit(); ok {
		service = u
		in.Program = u.program
		f.readFlags(u.program, u.program == programRKE2 || u.program == programK0s, u.args)
	}
	f.findRoot(rootDir)
	f.readConfig()
	in.StaticPodPath = f.staticPodPath()
	in.NodeName = in.nodeName()
	if c.Kubelet == nil {
		in.Expected = f.expected(service)
	}
}

func (in *Instance) identify(p Candidate, program string) {
	in.PID, in.State, in.Program = p.PID, p.State, program
	in.Executable, in.MountNS = p.Executable, p.MountNS
	in.StartTicks, in.Unproven = p.StartTicks, p.Doubt
	if !p.Started.IsZero() {
		in.Started = &p.Started
	}
}

// Note records in Sources what became of reading a file, once for each.
func (in *Instance) Note(name string, err error) {
	s := sourceOf(name, err)
	known := slices.IndexFunc(in.Sources, func(old Source) bool { return old.Path == name })
	if known < 0 {
		in.Sources = append(in.Sources, s)
	} else if err != nil {
		in.Sources[known] = s
	}
}

// sourceOf says what became of reading a file.
func sourceOf(name string, err error) Source {
	s := Source{Path: name, Status: "malformed"}
	switch {
	case err == nil:
		s.Status = "read"
		return s
	case errors.Is(err, fs.ErrNotExist):
		s.Status = "absent"
	case errors.Is(err, fs.ErrPermission):
		s.Status = "denied"
	case errors.Is(err, nodefs.ErrTruncated):
		s.Status = "truncated"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		s.Status = "timeout"
	}
	s.Detail = err.Error()
	return s
}

// A finder collects what is known of one instance.
type finder struct {
	files nodeFiles
	in    *Instance
	// dataDir is where k3s and rke2 keep everything but the pods.
	dataDir string
}

// read reads a file of settings that should be there.
func (f *finder) read(name string, limit int64) ([]byte, bool) {
	data, err := f.files.ReadFile(name, limit)
	f.noteConfig(name, err)
	return data, err == nil
}

// readIfThere reads a file of settings whose absence means nothing.
func (f *finder) readIfThere(name string, limit int64) ([]byte, bool) {
	data, err := f.files.ReadFile(name, limit)
	if !errors.Is(err, fs.ErrNotExist) {
		f.noteConfig(name, err)
	}
	return data, err == nil
}

// note records what became of a file, once.
func (f *finder) note(name string, err error) { f.in.Note(name, err) }

// noteConfig is note for what has flags or settings of the kubelet.
func (f *finder) noteConfig(name string, err error) {
	f.note(name, err)
	if err != nil && !slices.Contains(f.in.ConfigUnread, name) {
		f.in.ConfigUnread = append(f.in.ConfigUnread, name)
	}
}

// nodeName returns the name that the kubelet was told to use.
func (in *Instance) nodeName() string {
	for _, name := range []string{"hostname-override", "node-name"} {
		if value := in.flag(name); value != "" {
			return value
		}
	}
	return ""
}

// expected says why a kubelet should run here: a unit, or pods that one has left.
func (f *finder) expected(u unit) string {
	if u.path != "" {
		return "unit " + u.path
	}
	if pods := path.Join(f.in.CanonicalRoot, "pods"); f.in.RootDir != "" && f.hasEntries(pods) {
		return "directory " + path.Join(f.in.RootDir, "pods")
	}
	return ""
}

func (f *finder) hasEntries(dir string) bool {
	entries, err := f.files.ReadDir(dir, 1)
	if s := sourceOf(dir, err); s.Status == "timeout" || s.Status == "denied" {
		f.note(dir, err)
	}
	return len(entries) > 0
}
