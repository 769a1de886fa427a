package collect

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// waitsInOpen is the goroutine of the tests that stands in a system call: openat(2) of a FIFO that nobody writes.
func waitsInOpen(fifo string, done chan<- struct{}) {
	if fd, err := syscall.Open(fifo, syscall.O_RDONLY, 0); err == nil {
		_ = syscall.Close(fd)
	}
	close(done)
}

// blockedKubelet is a process that serves its goroutines as a kubelet does, this one, of which one goroutine stands in
// openat(2) until release is called. served is called behind each dump.
func blockedKubelet(t *testing.T, served func(number int)) (url string, release func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go waitsInOpen(fifo, done)
	release = sync.OnceFunc(func() {
		fd, err := syscall.Open(fifo, syscall.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		<-done
		_ = syscall.Close(fd)
	})
	t.Cleanup(release)
	var dumps atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/goroutine", func(w http.ResponseWriter, r *http.Request) {
		pprof.Handler("goroutine").ServeHTTP(w, r)
		if r.FormValue("debug") == "2" {
			served(int(dumps.Add(1)))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for !inOpen() {
		runtime.Gosched()
	}
	return server.URL, release
}

// inOpen says whether the goroutine has come to its system call.
func inOpen() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for g := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(g, "waitsInOpen") && strings.Contains(g, "[syscall") {
			return true
		}
	}
	return false
}

// ask collects what the kubelet says.
func ask(t *testing.T, opt Options) forensics.Evidence {
	t.Helper()
	c, err := newCollector(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.fs.Close() }()
	c.evidence.Kubelet = &kubelet.Instance{PID: os.Getpid()}
	c.askKubelet(t.Context())
	return c.seen()
}

func stuckGoroutine(t *testing.T, d forensics.Dump) (goroutines.Goroutine, bool) {
	t.Helper()
	i := slices.IndexFunc(d.Goroutines, func(g goroutines.Goroutine) bool {
		return slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool { return strings.HasSuffix(f.Func, ".waitsInOpen") })
	})
	if i < 0 {
		return goroutines.Goroutine{}, false
	}
	return d.Goroutines[i], true
}

// A suspect in the first dump makes a second one; both show it in the same call with the same arguments.
func TestSecondDumpShowsTheSameCall(t *testing.T) {
	url, _ := blockedKubelet(t, func(int) {})
	e := ask(t, Options{KubeletURL: url, Interval: 100 * time.Millisecond})
	var forms []goroutines.Form
	for _, d := range e.Dumps {
		forms = append(forms, d.Form)
	}
	if want := []goroutines.Form{goroutines.FormDebug2, goroutines.Form("debug0"), goroutines.FormDebug2}; !slices.Equal(forms, want) {
		t.Fatalf("dumps = %v, want %v; coverage %+v", forms, want, e.Coverage)
	}
	m := forensics.NewModel(&e)
	if latest := m.LatestDumps(); !slices.Equal(latest, []int{2}) {
		t.Errorf("the dumps to judge are %v, want the last one", latest)
	}
	g, ok := stuckGoroutine(t, e.Dumps[2])
	if !ok {
		t.Fatal("the goroutine is not in the second dump")
	}
	first, ok := stuckGoroutine(t, e.Dumps[0])
	if between := e.Dumps[2].Taken.Sub(*e.Dumps[0].Taken); !ok || first.ID != g.ID || first.State != g.State || between < 100*time.Millisecond {
		t.Errorf("goroutine %d %q, %v after %d %q; want the same one, and at least the interval", g.ID, g.State, between, first.ID, first.State)
	}
	if ok, why := e.Saw(forensics.SourceGoroutines + ":second"); !ok {
		t.Errorf("the second dump is not covered: %s", why)
	}
}

// What has gone on before the second dump no longer counts.
func TestSecondDumpShowsThatItWentOn(t *testing.T) {
	var release func()
	url, release := blockedKubelet(t, func(number int) {
		if number == 1 {
			release()
		}
	})
	e := ask(t, Options{KubeletURL: url, Interval: 100 * time.Millisecond})
	if len(e.Dumps) != 3 {
		t.Fatalf("%d dumps, want 3", len(e.Dumps))
	}
	if _, ok := stuckGoroutine(t, e.Dumps[0]); !ok {
		t.Error("the goroutine is not in the first dump")
	}
	if _, ok := stuckGoroutine(t, e.Dumps[2]); ok {
		t.Error("the goroutine is still in the second dump")
	}
}

func TestNoSecondDumpWithoutASuspectOrAgainstTheWill(t *testing.T) {
	url, release := blockedKubelet(t, func(int) {})
	if e := ask(t, Options{KubeletURL: url, Interval: -1}); len(e.Dumps) != 2 {
		t.Errorf("%d dumps although none was wanted, want 2", len(e.Dumps))
	}
	release()
	for range 100 { // goroutines of this very process, which stands for the kubelet, may pass through a system call
		e := ask(t, Options{KubeletURL: url, Interval: time.Millisecond})
		if suspicious(e.Dumps) {
			continue
		}
		if len(e.Dumps) != 2 {
			t.Errorf("%d dumps of a process without a suspect, want 2", len(e.Dumps))
		}
		return
	}
	t.Error("every one of 100 dumps shows a suspect")
}

// A run that would be over before the interval takes no second dump.
func TestNoSecondDumpBehindTheDeadline(t *testing.T) {
	c := &collector{opt: Options{Interval: time.Hour}.withDefaults()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if part := c.secondDump(ctx, nil, 1, false); part.Kubelet != nil || len(part.Dumps) > 0 {
		t.Errorf("asked for %+v", part)
	}
}

func TestCPUProfileIsCollected(t *testing.T) {
	url, _ := blockedKubelet(t, func(int) {})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	e := ask(t, Options{KubeletURL: url, Interval: -1, CPUProfile: time.Second})
	p := e.CPUProfile
	if p == nil {
		t.Fatalf("no profile; coverage %+v", e.Coverage)
	}
	if p.PID != os.Getpid() || p.Seconds < 0.5 || p.CPUSeconds <= 0 || len(p.Stacks) == 0 || p.Taken == nil {
		t.Errorf("profile = %+v", p)
	}
	if !slices.ContainsFunc(p.Stacks[0].Frames, func(f string) bool { return strings.Contains(f, "TestCPUProfileIsCollected") }) {
		t.Errorf("the heaviest stack is %v", p.Stacks[0])
	}
	if _, err := goroutines.ParseCPUProfile("x", []byte("junk")); err == nil {
		t.Error("junk is taken for a profile")
	}
}
