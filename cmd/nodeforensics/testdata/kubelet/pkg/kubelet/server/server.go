// Package server has the HTTP endpoints.
package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet"
)

// Server serves what a kubelet serves.
type Server struct {
	Kubelet                         *kubelet.Kubelet
	Port, ReadOnlyPort, HealthzPort int
	Version, Token                  string
	HostilePods                     int // bytes of nonsense instead of a list of pods
	Leak, LeakDepth                 int // goroutines that wait for a lock, in the dump only

	list []byte // of pods
}

// Listeners are open sockets and who serves them.
type Listeners []func() error

// Listen opens the ports.
func (s *Server) Listen() (Listeners, error) {
	s.list = s.listOfPods() // a client waits only for so long
	var all Listeners
	open := func(port int, handler http.Handler, secure bool) error {
		if port == 0 {
			return nil
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler}
		serve := func() error { return server.Serve(listener) }
		if secure {
			if server.TLSConfig, err = s.certificate(); err != nil {
				return err
			}
			serve = func() error { return server.ServeTLS(listener, "", "") }
		}
		all = append(all, serve)
		return nil
	}
	blind := http.NewServeMux()
	blind.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") })
	public, api := s.mux(), s.mux()
	api.HandleFunc("/debug/pprof/", pprof.Index)
	api.HandleFunc("/debug/pprof/goroutine", s.goroutines)
	for _, err := range []error{
		open(s.Port, s.authenticated(api), true), open(s.ReadOnlyPort, public, false), open(s.HealthzPort, blind, false),
	} {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Serve serves until one of the listeners fails.
func (l Listeners) Serve() error {
	failed := make(chan error)
	for _, serve := range l {
		go func() { failed <- serve() }()
	}
	return <-failed
}

func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.healthz)
	mux.HandleFunc("/pods", s.pods)
	mux.HandleFunc("/metrics", s.metrics)
	return mux
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
			http.Error(w, "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource=proxy)", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// healthz is k8s.io/apiserver/pkg/server/healthz.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	_, verbose := r.URL.Query()["verbose"]
	var text strings.Builder
	text.WriteString("[+]ping ok\n[+]log ok\n")
	if !s.Kubelet.SyncLoopHealthy() {
		text.WriteString("[-]syncloop failed: reason withheld\n")
		http.Error(w, text.String()+"healthz check failed", http.StatusInternalServerError)
		return
	}
	text.WriteString("[+]syncloop ok\nhealthz check passed\n")
	if !verbose {
		_, _ = fmt.Fprint(w, "ok")
		return
	}
	_, _ = fmt.Fprint(w, text.String())
}

func (s *Server) pods(w http.ResponseWriter, _ *http.Request) {
	if s.HostilePods > 0 {
		_, _ = fmt.Fprint(w, `{"kind":"PodList","a":`)
		_, _ = w.Write(bytes.Repeat([]byte("["), s.HostilePods))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.list)
}

func (s *Server) listOfPods() []byte {
	type object map[string]any
	items := []object{}
	for i, uid := range s.Kubelet.Pods {
		items = append(items, object{
			"metadata": object{"name": fmt.Sprintf("web-%d", i), "namespace": "default", "uid": uid},
			"status":   object{"phase": "Running"},
		})
	}
	list, err := json.Marshal(object{"kind": "PodList", "apiVersion": "v1", "metadata": object{}, "items": items})
	if err != nil {
		panic(err)
	}
	return append(list, '\n')
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	minor := strings.Split(s.Version+"..", ".")[1]
	_, _ = fmt.Fprintf(w, `# TYPE go_goroutines gauge
go_goroutines %d
# TYPE kubernetes_build_info gauge
kubernetes_build_info{git_version="%s",major="1",minor="%s"} 1
`, runtime.NumGoroutine()+s.Leak, s.Version, minor)
}
