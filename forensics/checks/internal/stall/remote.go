package stall

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// remoteWait is a wait for another process's answer by gRPC, HTTP or D-Bus. Who shortens a stack leaves out the calls within gRPC: then the
// innermost ones show that it is a client, and a stream may rest there.
func remoteWait(g goroutines.Goroutine) Wait {
	switch g.State {
	case "select", "chan receive", "sync.Cond.Wait", "semacquire", "":
	default:
		return Wait{}
	}
	asks, answer := false, false
	for i, f := range g.Frames {
		s := splitSymbol(f.Func)
		switch {
		case s.pkg == "google.golang.org/grpc":
			asks = asks || s.name == "Invoke" || s.name == "invoke"
			answer = answer && s.typ != "GenericClientStream"
			continue
		case s.pkg == "google.golang.org/grpc/internal/transport":
			answer = answer || s.name == "waitOnHeader" || s.name == "readClient"
			continue
		case (s.pkg == "github.com/containerd/ttrpc" || s.pkg == "github.com/stevvooe/ttrpc") && s.typ == "Client": // the latter up to containerd 1.1
			asks = asks || s.name == "Call"
			continue
		case s.typ == "kubeDockerClient":
			return Wait{Kind: WaitRuntime, Call: s.name, docker: true, frame: i}
		case s.pkg == "k8s.io/client-go/rest" && s.typ == "Request", strings.HasPrefix(s.pkg, "k8s.io/client-go/kubernetes/typed/"):
			return Wait{Kind: WaitAPI, Call: s.name, frame: i}
		case isDBus(s.pkg):
			call := systemdCall(g.Frames[i:])
			if call == "" {
				return Wait{} // the library's own goroutine, which reads messages
			}
			return Wait{Kind: WaitSystemd, Call: call, frame: i}
		}
		if (asks || answer && !strings.HasSuffix(s.name, "Recv")) && strings.HasSuffix(s.typ, "Client") {
			return Wait{Kind: grpcKind(s), Call: s.name, frame: i}
		}
	}
	return Wait{}
}

// grpcKind is the kind of server that a generated gRPC client calls.
func grpcKind(s symbol) waitKind {
	switch s.typ {
	case "runtimeServiceClient", "imageServiceClient":
		return WaitRuntime
	}
	switch {
	case strings.Contains(s.pkg, "container-storage-interface/spec"):
		return WaitCSI
	case strings.Contains(s.pkg, "/runtime/v2/task"), strings.Contains(s.pkg, "/runtime/task/"), strings.Contains(s.pkg, "/runtime/sandbox/"),
		strings.Contains(s.pkg, "/linux/shim/v1"), strings.Contains(s.pkg, "/runtime/v1/shim/"):
		return waitShim // containerd 1.0 and 1.1, their shim in later ones, 1.2 to 1.6, 1.7 and later, and its sandbox API
	}
	return waitDaemon
}

func isDBus(pkg string) bool {
	return strings.HasPrefix(pkg, "github.com/godbus/dbus") || strings.HasPrefix(pkg, "github.com/coreos/go-systemd")
}

// systemdCall is the outermost function of the D-Bus libraries (StopUnit, StartTransientUnit), "" if no other code called it.
func systemdCall(frames []goroutines.Frame) string {
	call := ""
	for _, f := range frames {
		s := splitSymbol(f.Func)
		if !isDBus(s.pkg) {
			return call
		}
		call = s.name
	}
	return ""
}
