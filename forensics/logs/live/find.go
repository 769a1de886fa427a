package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// FindOptions say where [Find] searches.
type FindOptions struct {
	// Since leaves out files that were not written to since.
	Since time.Time
	// PodLogs is the kubelet's podLogsDir, /var/log/pods by default.
	PodLogs string
	// Kubelet are files that the kubelet is known to write its log to, as KubeletFS has them: the files that the kubelet sees, where
	// these are not those of the node. Nil is the node's.
	Kubelet   []string
	KubeletFS *hostfs.FS
	// KubeletUnit is the systemd service that the kubelet runs in, without the suffix ("k3s-edge" for INSTALL_K3S_NAME=edge): the journal
	// is asked for it where it has nothing of the usual ones. Empty asks for those alone.
	KubeletUnit string
	// Journalctl is the program that reads journals; looked for where distributions have it by default.
	Journalctl string
}

// runtimeUnits are the services of container runtimes.
func runtimeUnits() (units []string) {
	for _, r := range cri.Runtimes() {
		units = append(units, r.Units...)
	}
	return units
}

// unitArgs are arguments for journalctl.
func unitArgs(units []string) (args []string) {
	for _, u := range units {
		args = append(args, "--unit="+u)
	}
	return args
}

// ownFiles are logs that hold the lines of a kubelet alone, or of a program that runs one.
//
// k3s' install.sh has /var/log/<service>.log where OpenRC starts it, Talos /var/log/<service>.log (internal/app/machined/pkg/runtime/logging),
// Huawei's CCE /var/log/cce/kubernetes/kubelet.log. EKS, GKE, AKS, Bottlerocket, minikube and microk8s have the journal.
var ownFiles = []string{
	"/var/log/k3s.log", "/var/log/k3s-agent.log", "/var/log/k3s-service.log", "/var/log/kubelet.log", "/var/log/kubernetes/kubelet.log",
	"/var/log/kubelet/kubelet.log", "/var/log/cce/kubernetes/kubelet.log",
}

// Find finds the logs of a node: those of the kubelet, the container runtime and the kernel, and of the controller manager if it runs
// here. Of several copies of the same lines (journal, syslog, files made of them) it returns one. The notes say what is absent or not
// readable.
func Find(ctx context.Context, fsys *hostfs.FS, opt FindOptions) (sources []logs.Source, notes []logs.File) {
	f := &finder{fsys: fsys, opt: opt}
	if f.opt.PodLogs == "" {
		f.opt.PodLogs = "/var/log/pods"
	}
	f.journals(ctx)
	f.knownFiles()
	f.kubeletFiles(f.fsys)
	if !f.kubelet && opt.KubeletFS != nil {
		f.kubeletFiles(opt.KubeletFS)
	}
	f.systemLog()
	if !f.kubelet {
		f.containerised()
	}
	for _, r := range cri.Runtimes() {
		for _, name := range r.LogFiles {
			f.rotated(name, r.Process)
		}
	}
	f.kernelLog()
	f.controllerManager()
	if !f.kubelet {
		f.note("kubelet", "kubelet", "absent", "no kubelet log was found in the journal, in /var/log or in container logs")
	}
	if !f.kernel {
		f.note("kernel", "kernel", "absent", "no kernel log was found")
	}
	return f.sources, f.notes
}

// finder is one run of Find. The two flags say whose lines have been found.
type finder struct {
	fsys            *hostfs.FS
	opt             FindOptions
	kubelet, kernel bool
	sources         []logs.Source
	notes           []logs.File
}

func (f *finder) note(name, origin, status, detail string) {
	f.notes = append(f.notes, logs.File{Path: name, Origin: origin, Status: status, Detail: detail})
}

// rotated adds a log with its older files and says whether there was one.
func (f *finder) rotated(name, origin string) bool { return f.rotatedIn(f.fsys, name, origin) }

func (f *finder) rotatedIn(fsys *hostfs.FS, name, origin string) bool {
	if slices.ContainsFunc(f.sources, func(s logs.Source) bool { return s.Path == name }) {
		return true
	}
	sources, notes := rotation(fsys, name, origin, f.opt.Since)
	f.sources, f.notes = append(f.sources, sources...), append(f.notes, notes...)
	return len(sources) > 0
}

// journals asks the journal for the kubelet and for the kernel, at the same time.
func (f *finder) journals(ctx context.Context) {
	var dir string
	switch {
	case hasJournal(f.fsys, "/var/log/journal"):
		dir = "/var/log/journal"
	case f.fsys.Live() && hasJournal(f.fsys, "/run/log/journal"):
		dir = "/run/log/journal"
	default:
		f.note("journal", "mixed", "absent", "there is no journal")
		return
	}
	program := f.journalctl()
	if program == "" {
		f.note("journal", "mixed", "absent", "journalctl is not installed, so "+dir+" could not be read")
		return
	}
	var files []*os.File
	if !f.fsys.Live() {
		if files = journalFiles(f.fsys, dir); len(files) == 0 {
			f.note("journal", "mixed", "malformed", "no file of "+dir+" could be opened")
			return
		}
		defer func() {
			for _, file := range files {
				_ = file.Close()
			}
		}()
	}
	var runtime bool
	queries := []struct {
		name, origin string
		match        []string
		other        string // a service to ask for where there is nothing of those
		found        *bool
		log          io.ReadCloser
		err          error
	}{
		{name: "journal:kubelet", origin: "kubelet", match: unitArgs(logs.KubeletUnits), other: f.opt.KubeletUnit, found: &f.kubelet},
		{name: "journal:runtime", origin: "mixed", match: unitArgs(runtimeUnits()), found: &runtime},
		{name: "journal:kernel", origin: "kernel", match: []string{"_TRANSPORT=kernel"}, found: &f.kernel},
	}
	var calls sync.WaitGroup
	for i := range queries {
		q := &queries[i]
		j := journal{program: program, files: files, since: f.opt.Since, match: q.match}
		calls.Go(func() {
			q.log, q.err = j.open(ctx)
			if q.other != "" && errors.Is(q.err, fs.ErrNotExist) {
				j.match = unitArgs([]string{q.other})
				q.log, q.err = j.open(ctx)
			} else {
				q.other = ""
			}
		})
	}
	calls.Wait()
	for _, q := range queries {
		switch {
		case q.err == nil:
			*q.found = true
			source := opened(q.name, q.origin, q.log)
			source.Unit = q.other
			f.sources = append(f.sources, source)
		case errors.Is(q.err, fs.ErrNotExist):
			f.note(q.name, q.origin, "absent", "the journal has no messages of it since "+f.opt.Since.UTC().Format(time.RFC3339))
		case errors.Is(q.err, fs.ErrPermission):
			f.note(q.name, q.origin, "denied", q.err.Error())
		case ctx.Err() != nil, errors.Is(q.err, context.DeadlineExceeded):
			f.note(q.name, q.origin, "timeout", q.err.Error())
		default:
			f.note(q.name, q.origin, "malformed", q.err.Error())
		}
	}
}

// journalctl is this machine's, also for the journal of another.
func (f *finder) journalctl() string {
	if f.opt.Journalctl != "" {
		return f.opt.Journalctl
	}
	own, err := hostfs.Open("/")
	if err != nil {
		return ""
	}
	defer func() { _ = own.Close() }()
	for _, p := range programPaths {
		if _, err := own.Resolve(p); err == nil {
			return p
		}
	}
	return ""
}

// knownFiles adds the files that the caller knows of.
func (f *finder) knownFiles() {
	fsys := cmp.Or(f.opt.KubeletFS, f.fsys)
	for _, name := range f.opt.Kubelet {
		f.kubelet = f.rotatedIn(fsys, name, "kubelet") || f.kubelet
	}
}

// kubeletFiles adds files that a kubelet, k3s or rke2 writes itself. rke2's kubelet writes to no journal; the others may be
// made of the journal.
func (f *finder) kubeletFiles(fsys *hostfs.FS) {
	rke2 := f.rotatedIn(fsys, "/var/lib/rancher/rke2/agent/logs/kubelet.log", "kubelet")
	if f.kubelet = f.kubelet || rke2; f.kubelet {
		return
	}
	for _, name := range ownFiles {
		f.kubelet = f.rotatedIn(fsys, name, "kubelet") || f.kubelet
	}
	for _, dir := range []string{"/var/log", "/var/log/kubernetes", "/var/log/kubelet"} {
		sources, _ := klogFiles(fsys, dir, "kubelet", "kubelet", f.opt.Since)
		f.sources = append(f.sources, sources...)
		f.kubelet = f.kubelet || len(sources) > 0
	}
}

// systemLog adds the syslog daemon's file if somebody is missing still.
func (f *finder) systemLog() {
	if f.kubelet && f.kernel {
		return
	}
	for _, name := range []string{"/var/log/syslog", "/var/log/messages"} {
		if before := len(f.sources); f.rotated(name, "mixed") {
			for i := range f.sources[before:] {
				f.sources[before+i].AnyWriter = true
			}
			f.kernel = true
			f.kubelet = f.kubelet || f.mentions(name, "kubelet[")
			return
		}
	}
}

// mentions says whether the end of a log holds a word.
func (f *finder) mentions(name, word string) bool {
	log, err := openFile(f.fsys, name)
	if err != nil {
		return false
	}
	defer func() { _ = log.Close() }()
	buf := make([]byte, 256<<10)
	n, _ := log.ReadAt(buf, max(log.Size()-int64(len(buf)), 0))
	return bytes.Contains(buf[:n], []byte(word))
}

func (f *finder) kernelLog() {
	switch {
	case f.kernel:
	case f.rotated("/var/log/kern.log", "kernel"):
		f.kernel = true
	case f.fsys.Live():
		f.kernel = true // or else its file says why not
		f.sources = append(f.sources, logs.Source{Path: "/dev/kmsg", Origin: "kernel", Open: func(context.Context) (io.ReadCloser, error) {
			return f.fsys.OpenKernelLog()
		}})
	default:
		f.kernel = f.rotated("/var/log/dmesg", "kernel")
	}
}
