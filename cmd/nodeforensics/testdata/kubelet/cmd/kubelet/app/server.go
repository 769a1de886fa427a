// Package app starts the kubelet.
package app

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/server"
)

// Run parses the flags and serves until the process is killed. Once it listens everywhere, it says so on standard
// output.
func Run(args []string) error {
	k := &kubelet.Kubelet{}
	s := &server.Server{Kubelet: k}
	fs := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	// These are flags of a real kubelet.
	fs.StringVar(&k.RootDir, "root-dir", "/var/lib/kubelet", "where pods/ is")
	fs.IntVar(&s.Port, "port", 10250, "the port of the authenticated API, with TLS")
	fs.IntVar(&s.ReadOnlyPort, "read-only-port", 10255, "the port without authentication; 0 disables it")
	fs.IntVar(&s.HealthzPort, "healthz-port", 10248, "the port that proves nothing; 0 disables it")
	fs.String("config", "", "is ignored")
	fs.String("eviction-hard", "", "is ignored")
	fs.String("container-runtime-endpoint", "", "is ignored")
	fs.String("root", "", "is a flag of containerd, as which this program is started, too, and ignored")
	fs.String("state", "", "is as well")
	// These are not.
	pods := fs.String("pods", "", "UIDs of the pods that it is told to run, separated by commas")
	more := fs.Int("more-pods", 0, "how many pods without a directory it lists besides")
	fs.StringVar(&s.Version, "pretend-version", "v1.34.4", "the version that metrics tell")
	fs.StringVar(&s.Token, "require-token", "", "answer 403 on the authenticated API to everybody else")
	fs.IntVar(&s.Leak, "leak", 0, "how many goroutines of its dump wait for a lock")
	fs.IntVar(&s.LeakDepth, "leak-depth", 1, "how many frames they have at most")
	fs.IntVar(&s.HostilePods, "hostile-pods", 0, "answer /pods with so many brackets")
	fs.DurationVar(&k.StalledAfter, "stalled-after", 5*time.Minute, "when the syncloop check fails")
	if err := fs.Parse(args); err != nil {
		return err
	}
	k.Pods = strings.FieldsFunc(*pods, func(r rune) bool { return r == ',' })
	for i := range *more {
		k.Pods = append(k.Pods, fmt.Sprintf("%08x-6ffa-4d31-9a2b-7e13c40f1f7e", i))
	}
	listeners, err := s.Listen()
	if err != nil {
		return err
	}
	startKubelet(k)
	fmt.Println("listening")
	return listeners.Serve()
}

// startKubelet has its name in every dump of a kubelet: it creates the goroutine of the sync loop.
//
//go:noinline
func startKubelet(k *kubelet.Kubelet) {
	go k.Run(make(chan struct{}))
}
