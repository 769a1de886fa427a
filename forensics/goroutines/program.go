package goroutines

import (
	"cmp"
	"path"
	"strings"
)

// ProgramByFrames names the program that was dumped, as its frames tell: "kubelet" for each that runs a kubelet (hyperkube, k3s), else
// "containerd", "dockerd", "etcd", the name of the directory below cmd/ that its main function is from, or "csi-driver" for a server of CSI
// calls whose name the frames do not have. "" if they do not tell: the dump is cut, or of another kind of program.
func (d *Dump) ProgramByFrames() string {
	main, named, served, vendored := "", "", "", ""
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		for j := range g.Frames {
			f := &g.Frames[j]
			if isKubelet(f.Func) {
				return kubeletProgram
			}
			main = cmp.Or(main, mainOf(f))
			vendored = cmp.Or(vendored, vendorOf(f.File))
			named = cmp.Or(named, serverOf(f.Func))
			if strings.HasPrefix(f.Func, csiHandler) || strings.HasPrefix(f.Func, path.Base(csiHandler)) { // somebody has shortened it
				served = "csi-driver"
			}
		}
		if g.CreatedBy != nil && isKubelet(g.CreatedBy.Func) {
			return kubeletProgram
		}
	}
	return cmp.Or(named, main, served, vendored)
}

const (
	kubeletProgram = "kubelet"
	csiHandler     = "github.com/container-storage-interface/spec/lib/go/csi._"
)

func isKubelet(symbol string) bool {
	rest, ok := strings.CutPrefix(symbol, "k8s.io/kubernetes/")
	return ok && (strings.HasPrefix(rest, "pkg/kubelet.") || strings.HasPrefix(rest, "pkg/kubelet/") || strings.HasPrefix(rest, "cmd/kubelet/"))
}

// mainOf is the last directory of a main package, where that is named after the program: k8s.io/kubernetes/cmd/kube-proxy.
func mainOf(f *Frame) string {
	if !strings.HasPrefix(f.Func, "main.") {
		return ""
	}
	dir := path.Dir(f.File)
	if path.Base(path.Dir(dir)) != "cmd" {
		return ""
	}
	return path.Base(dir)
}

// vendorOf is the program in whose module the source of another one was copied: github.com/containerd/containerd/vendor/… All programs of
// Kubernetes share one module.
func vendorOf(file string) string {
	module, _, ok := strings.Cut(file, "/vendor/")
	if !ok {
		return ""
	}
	for _, m := range []struct{ module, program string }{
		{"github.com/containerd/containerd", "containerd"},
		{"github.com/cri-o/cri-o", "crio"},
		{"github.com/docker/docker", "dockerd"},
		{"github.com/Mirantis/cri-dockerd", "cri-dockerd"},
	} {
		if strings.HasSuffix(module, m.module) {
			return m.program
		}
	}
	return ""
}

// serverOf knows packages that only one program runs, with the path of their module cut.
func serverOf(symbol string) string {
	for _, s := range []struct{ prefix, part, program string }{
		{"github.com/containerd/containerd/", "cmd/containerd/command.", "containerd"},
		{"github.com/containerd/containerd/", "cmd/containerd/server", "containerd"},
		{"github.com/containerd/containerd/", "cri/server.", "containerd"},
		{"github.com/containerd/containerd/", "cri/sbserver.", "containerd"},
		{"github.com/containerd/containerd/", "runtime/v2.(*", "containerd"},
		{"github.com/containerd/containerd/", "services/tasks.", "containerd"},
		{"github.com/containerd/containerd/", "taskClient).", "containerd"}, // which calls a shim
		{"github.com/containerd/cri/", "pkg/server.", "containerd"},
		{"github.com/docker/containerd/", "supervisor.", "containerd"}, // 0.2, of docker 1.11 to 17.09
		{"github.com/containerd/containerd/", "runtime/v2/shim.", "containerd-shim"},
		{"github.com/containerd/containerd/", "pkg/shim.", "containerd-shim"},
		{"github.com/containerd/containerd/", "runc/task.(*service).", "containerd-shim"},
		{"github.com/containerd/containerd/", "cmd/containerd-shim-runc-v2/task.(*service).", "containerd-shim"},
		{"github.com/cri-o/cri-o/", "server.(*Server).", "crio"},
		{"github.com/docker/docker/", "daemon.(*Daemon).", "dockerd"},
		{"github.com/moby/moby/", "daemon.(*Daemon).", "dockerd"},
		{"github.com/Mirantis/cri-dockerd/", "core.", "cri-dockerd"},
		{"go.etcd.io/etcd/", "etcdmain.", "etcd"},
	} {
		if rest, ok := strings.CutPrefix(symbol, s.prefix); ok && strings.Contains(rest, s.part) {
			return s.program
		}
	}
	return ""
}
