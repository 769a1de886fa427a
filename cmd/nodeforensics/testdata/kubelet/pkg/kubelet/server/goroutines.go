package server

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/pprof"
)

// goroutines is the kubelet's own dump, and then the goroutines of a leak, as they would be printed: so many real ones take
// the runtime many seconds.
func (s *Server) goroutines(w http.ResponseWriter, r *http.Request) {
	pprof.Handler("goroutine").ServeHTTP(w, r)
	if r.URL.Query().Get("debug") != "2" {
		return
	}
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }()
	for i := range s.Leak {
		_, _ = fmt.Fprintf(out, "\ngoroutine %d [sync.Mutex.Lock, %d minutes]:\n", 1_000_000+i, 1+i%40)
		_, _ = out.WriteString("internal/sync.runtime_SemacquireMutex(0xc000a53128?, 0x28?, 0x1?)\n\t/usr/local/go/src/runtime/sema.go:95 +0x25\n" +
			"internal/sync.(*Mutex).lockSlow(0xc000a53128)\n\t/usr/local/go/src/internal/sync/mutex.go:149 +0x15d\n")
		for j := range 1 + i%s.LeakDepth {
			_, _ = fmt.Fprintf(out, "github.com/google/cadvisor/manager.(*manager).getContainer%d(0xc000a53000, 0xc%07x%02x)\n\t/go/pkg/mod/github.com/google/cadvisor@v0.52.1/manager/manager.go:%d +0x9c\n", j, i, j, 400+j)
		}
		_, _ = out.WriteString("created by github.com/google/cadvisor/manager.(*manager).Start in goroutine 1\n\t/go/pkg/mod/github.com/google/cadvisor@v0.52.1/manager/manager.go:300 +0x5f\n")
	}
}
