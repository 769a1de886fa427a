package live_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
)

// serve answers gRPC on a socket, as a server of the standard library does HTTP/2.
func serve(t *testing.T, handler http.HandlerFunc) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

func answer(service string, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if r.URL.Path != "/"+service+".RuntimeService/Version" || r.Method != http.MethodPost || r.Header.Get("Te") != "trailers" {
			w.Header().Set("Grpc-Status", "12")
			return
		}
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write([]byte(message))
		w.Header().Set("Grpc-Status", "0")
	}
}

func TestAsk(t *testing.T) {
	message := "\x0a\x050.1.0\x12\x0acontainerd\x1a\x07v1.7.27"
	framed := "\x00\x00\x00\x00" + string(rune(len(message))) + message
	name := strings.Repeat("containerd-", 30) // a message and a frame of more than a byte's length
	long := "\x12\xca\x02" + name + "\x1a\x07v1.7.27"
	longFramed := "\x00\x00\x00" + string([]byte{byte(len(long) >> 8), byte(len(long))}) + long
	self := []runtimeslive.Hint{{PID: os.Getpid(), Comm: "containerd"}}
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	removed := serve(t, answer("runtime.v1", framed)) // as by somebody who cleans up /run: the daemon still listens, and nobody reaches it
	if err := os.Remove(removed); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		socket  string
		daemons []runtimeslive.Hint
		status  string
		version string
		detail  string
	}{
		"v1":              {serve(t, answer("runtime.v1", framed)), self, "ok", "1.7.27", ""},
		"a long name":     {serve(t, answer("runtime.v1", longFramed)), self, "ok", "1.7.27", ""},
		"v1alpha2 alone":  {serve(t, answer("runtime.v1alpha2", framed)), self, "ok", "1.7.27", ""},
		"neither":         {serve(t, answer("other", framed)), self, "error", "", "its answer has no message"},
		"empty message":   {serve(t, answer("runtime.v1", "\x00\x00\x00\x00\x00")), self, "ok", "", ""},
		"large answer":    {serve(t, answer("runtime.v1", strings.Repeat("\x00\xff", 1<<17))), self, "error", "", "its answer has no message"},
		"no answer":       {serve(t, func(http.ResponseWriter, *http.Request) { <-never }), self, "timeout", "", ""},
		"nothing listens": {filepath.Join(t.TempDir(), "none.sock"), self, "refused", "", "no process listens there"},
		"it was removed":  {removed, self, "refused", "", "no such file or directory"},
		"another process": {serve(t, answer("runtime.v1", framed)), []runtimeslive.Hint{{PID: 1}}, "not-owned", "", "no process of the runtime has it open"},
		"one has ended":   {serve(t, answer("runtime.v1", framed)), append([]runtimeslive.Hint{{PID: 1 << 30}}, self...), "ok", "1.7.27", ""},
		"no socket":       {"", self, "not-asked", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			opt := runtimeslive.AskOptions{Daemons: tc.daemons}
			if tc.status == "timeout" {
				opt.Limit = 200 * time.Millisecond
			} else {
				opt.Limit = time.Minute
			}
			got := runtimeslive.Ask(t.Context(), open(t, "/"), runtimes.Runtime{Socket: tc.socket}, opt)
			if got.Status != tc.status || got.Version != tc.version || !strings.HasSuffix(got.Detail, tc.detail) {
				t.Errorf("%+v; want %s, version %q, detail %q", got, tc.status, tc.version, tc.detail)
			}
			if got.Status == "ok" && got.PID != os.Getpid() {
				t.Errorf("pid %d", got.PID)
			}
		})
	}
}

// TestAskFullQueue is a daemon that is stopped with its queue of connections full: the kernel refuses more.
func TestAskFullQueue(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var d net.Dialer
	for range 100_000 {
		c, err := d.DialContext(ctx, "unix", socket)
		if err != nil {
			break
		}
		defer func() { _ = c.Close() }()
	}
	got := runtimeslive.Ask(t.Context(), open(t, "/"), runtimes.Runtime{Socket: socket}, runtimeslive.AskOptions{
		Daemons: []runtimeslive.Hint{{PID: os.Getpid()}}, Limit: time.Minute,
	})
	if got.Status != "timeout" {
		t.Errorf("%+v; want timeout", got)
	}
}

// TestAskWhoListens has a socket that a daemon has open and another process listens at: the path was bound anew by somebody
// who handed it over, or the pid is another process's by now.
func TestAskWhoListens(t *testing.T) {
	connected := false
	socket := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	holder := exec.Command("sleep", "1000")
	holder.ExtraFiles = []*os.File{file}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Wait() }()
	defer func() { _ = holder.Process.Kill() }()
	raw, err := l.(*net.UnixListener).SyscallConn() // Fd has made the socket a blocking one, for everybody who has it
	if err == nil {
		err = raw.Control(func(fd uintptr) { _ = unix.SetNonblock(int(fd), true) })
	}
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { connected = true }), Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	for name, tc := range map[string]struct {
		daemon runtimeslive.Hint
		detail string
	}{
		"another listens":     {runtimeslive.Hint{PID: holder.Process.Pid}, "listens there now"},
		"another of that pid": {runtimeslive.Hint{PID: os.Getpid(), StartTicks: 1}, "no process of the runtime has it open"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runtimeslive.Ask(t.Context(), open(t, "/"), runtimes.Runtime{Socket: socket}, runtimeslive.AskOptions{
				Daemons: []runtimeslive.Hint{tc.daemon}, Limit: time.Minute,
			})
			if got.Status != "not-owned" || !strings.HasSuffix(got.Detail, tc.detail) || connected {
				t.Errorf("%+v, asked: %t; want not-owned, %q", got, connected, tc.detail)
			}
		})
	}
}

// TestAskBesideANamesake has a container in the host's network namespace that listens at the path of the daemon's socket in a
// mount namespace of its own: the daemon is asked all the same.
func TestAskBesideANamesake(t *testing.T) {
	message := "\x0a\x050.1.0\x12\x0acontainerd\x1a\x07v1.7.27"
	socket := serve(t, answer("runtime.v1", "\x00\x00\x00\x00"+string(rune(len(message)))+message))
	file := listenInNamespace(t, socket)
	pod := exec.Command("sleep", "1000")
	pod.ExtraFiles = []*os.File{file}
	err := pod.Start()
	_ = file.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pod.Wait() }()
	defer func() { _ = pod.Process.Kill() }()
	table, err := os.ReadFile("/proc/net/unix")
	if n := strings.Count(string(table), " "+socket+"\n"); err != nil || n != 2 {
		t.Fatalf("%d sockets have the name %s, %v; want 2", n, socket, err)
	}
	got := runtimeslive.Ask(t.Context(), open(t, "/"), runtimes.Runtime{Socket: socket}, runtimeslive.AskOptions{
		Daemons: []runtimeslive.Hint{{PID: os.Getpid(), Comm: "containerd"}}, Limit: time.Minute,
	})
	if got.Status != "ok" || got.PID != os.Getpid() {
		t.Errorf("%+v; want ok", got)
	}
}

// listenInNamespace listens at a path in a mount namespace where its directory is another one.
func listenInNamespace(t *testing.T, socket string) *os.File {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and its namespace with it
		fd, err := -1, unix.Unshare(unix.CLONE_FS|unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("none", filepath.Dir(socket), "tmpfs", 0, "")
		}
		if err == nil {
			fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: socket})
		}
		if err == nil {
			err = unix.Listen(fd, 1)
		}
		done <- result{fd: fd, err: err}
	}()
	r := <-done
	if errors.Is(r.err, unix.EPERM) {
		t.Skip("needs root: ", r.err)
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return os.NewFile(uintptr(r.fd), socket)
}
