package live

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

// keepListener starts a process that has a listening socket open and accepts nothing, as one that inherited it.
func keepListener(t *testing.T, l net.Listener) int {
	t.Helper()
	file, err := l.(*net.TCPListener).File()
	must(t, err)
	defer func() { _ = file.Close() }()
	sleeper := exec.Command("sleep", "1000")
	sleeper.ExtraFiles = []*os.File{file}
	must(t, sleeper.Start())
	raw, err := l.(*net.TCPListener).SyscallConn() // Fd has made the socket a blocking one, for everybody who has it
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { must(t, unix.SetNonblock(int(fd), true)) }))
	t.Cleanup(func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	return sleeper.Process.Pid
}

// TestAcceptedByAnother has a listening socket that the kubelet owns and another process accepts from.
func TestAcceptedByAnother(t *testing.T) {
	k := startKubelet(t, say(200, "ok"), nil, nil)
	c := k.client(t)
	c.Token = "secret"
	k.instance.Flags["read-only-port"], k.instance.Flags["healthz-port"] = "0", "0"
	k.instance.PID = keepListener(t, k.main.tcp)
	if got := c.Health(t.Context()); statuses(got) != "not-owned" || !strings.Contains(got[0].Detail, "another process has accepted") {
		t.Errorf("health = %+v", got)
	}
	if _, requests := k.main.seen(); len(requests) != 0 {
		t.Errorf("it was asked: %v", requests[0].Header)
	}
}

// TestAccepted asks for connections of all sorts of sockets who has accepted them.
func TestAccepted(t *testing.T) {
	for name, addrs := range map[string][2]string{ // to listen on and to dial
		"loopback":      {"127.0.0.1:0", "127.0.0.1"},
		"any IPv4":      {"0.0.0.0:0", "127.0.0.1"},
		"any":           {"[::]:0", "127.0.0.1"},
		"any, by IPv6":  {"[::]:0", "::1"},
		"IPv6 loopback": {"[::1]:0", "::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits until times are up
			l, err := net.Listen("tcp", addrs[0])
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = l.Close() }()
			to := netip.AddrPortFrom(netip.MustParseAddr(addrs[1]), uint16(l.Addr().(*net.TCPAddr).Port))
			conn, err := net.Dial("tcp", to.String())
			must(t, err)
			defer func() { _ = conn.Close() }()
			from := netip.MustParseAddrPort(conn.LocalAddr().String())

			self := owner{fs: openFS(t, "/"), pid: os.Getpid(), ticks: startTicks(t, os.Getpid())}
			if err := self.has(from, to); !errors.Is(err, errNotAccepted) {
				t.Errorf("before accept(2): %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			// On a busy machine, the time may be up before the sockets were read once.
			if err := self.accepted(ctx, from, to); !errors.Is(err, errNotAccepted) && !errors.Is(err, context.DeadlineExceeded) || statusOf(ctx, err) != "timeout" {
				t.Errorf("before accept(2), until the time is up: %v", err)
			}
			answer := make(chan error, 1)
			go func() { answer <- self.accepted(t.Context(), from, to) }()
			server, err := l.Accept()
			must(t, err)
			if err := <-answer; err != nil {
				t.Errorf("after accept(2): %v", err)
			}
			other := owner{fs: self.fs, pid: keepListener(t, l)}
			if err := other.accepted(t.Context(), from, to); !errors.Is(err, errNotOwned) {
				t.Errorf("another process that has the listening socket: %v", err)
			}
			reused := self
			reused.ticks++
			if err := reused.has(from, to); !errors.Is(err, errNotOwned) || !errors.Is(err, procstat.ErrEnded) {
				t.Errorf("another process of that pid: %v", err)
			}
			must(t, server.Close())
			if err := self.accepted(t.Context(), from, to); !errors.Is(err, errClosed) {
				t.Errorf("after close(2): %v", err)
			}
		})
	}
}

// startTicks is when a process was started.
func startTicks(t *testing.T, pid int) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	must(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	must(t, err)
	return ticks
}

// TestNoCredentialsForTheUnproven: of whom it is not known whether it is the kubelet, it is asked as anybody may ask.
func TestNoCredentialsForTheUnproven(t *testing.T) {
	_, file := newCertificate(t, "admin")
	admin, err := os.ReadFile(file)
	must(t, err)
	for name, unproven := range map[string]string{"unproven": "is in a user namespace that could not be read", "proven": ""} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, say(200, "ok"), nil, nil)
			k.instance.Unproven = unproven
			c := k.client(t)
			c.Token, c.ClientCert = "secret", admin
			e := c.Health(t.Context())[0]
			_, requests := k.main.seen()
			if len(requests) != 1 || e.Status != "ok" {
				t.Fatalf("%d requests, endpoint %+v", len(requests), e)
			}
			r := requests[0]
			given := r.Header.Get("Authorization") != "" && len(r.TLS.PeerCertificates) > 0
			withheld := r.Header.Get("Authorization") == "" && len(r.TLS.PeerCertificates) == 0 && strings.Contains(e.Detail, "could not be determined whether")
			if unproven == "" && !given || unproven != "" && !withheld {
				t.Errorf("headers %v, certificates %v, endpoint %+v", r.Header, r.TLS.PeerCertificates, e)
			}
		})
	}
}

// TestAnotherProcessIsNotEntered has a kubelet whose pid is another process's by the time its files are read.
func TestAnotherProcessIsNotEntered(t *testing.T) {
	dir := t.TempDir()
	config := dir + "/config.yaml"
	must(t, os.WriteFile(config, []byte(configuration), 0o600))
	candidate := kubelet.Candidate{PID: os.Getpid(), StartTicks: startTicks(t, os.Getpid()), Comm: "kubelet", Args: []string{"kubelet", "--tls-cert-file", config}, MountNS: 2}
	in := Find(t.Context(), openFS(t, "/"), []kubelet.Candidate{candidate}, FindOptions{HostMountNS: 1})
	if s := statusOfSource(in, procPath(os.Getpid(), "root")); s != "" {
		t.Errorf("the same process: %s", s)
	}
	candidate.StartTicks++
	in = Find(t.Context(), openFS(t, "/"), []kubelet.Candidate{candidate}, FindOptions{HostMountNS: 1})
	if s := statusOfSource(in, procPath(os.Getpid(), "root")); s == "" {
		t.Error("another process was entered")
	}
	c := &Client{Instance: &in, FS: openFS(t, "/")}
	if pins, err := c.pins(t.Context()); !errors.Is(err, procstat.ErrEnded) || pins != nil {
		t.Errorf("pins %v of another process, %v", pins, err)
	}
}
