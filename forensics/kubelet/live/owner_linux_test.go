package live

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// TestNotOwned: the test's servers are asked in the name of another process, and nothing may reach them.
func TestNotOwned(t *testing.T) {
	k := startKubelet(t, say(200, "ok"), say(200, "ok"), say(200, "ok"))
	c := k.client(t)
	c.Token = "secret"
	k.instance.PID, _ = startRole(t, roleServe, nil)
	got := c.Health(t.Context())
	if s := statuses(got); s != "not-owned not-owned not-owned" {
		t.Errorf("statuses = %s; %+v", s, got)
	}
	if pods, _, e := c.Pods(t.Context()); e.Status != "not-owned" || len(pods) != 0 || pods == nil {
		t.Errorf("pods = %v, %+v", pods, e)
	}
	for _, s := range []*server{k.main, k.readOnly, k.healthz} {
		if accepted, _ := s.seen(); accepted != 0 {
			t.Errorf("%d connections to a server that is not the kubelet's", accepted)
		}
	}
}

func TestNotAsked(t *testing.T) {
	gone := func(c *Client) { c.Instance.PID = 1 << 30 }
	for name, tc := range map[string]struct {
		change func(*Client)
		want   string
	}{
		"no kubelet":  {func(c *Client) { c.Instance.PID = 0 }, "not-asked"},
		"no instance": {func(c *Client) { c.Instance = nil }, "not-asked"},
		"no /proc":    {func(c *Client) { c.FS = nil }, "not-owned"},
		"it is gone":  {gone, "not-owned"},
	} {
		t.Run(name, func(t *testing.T) {
			k := startKubelet(t, say(200, "{}"), nil, nil)
			c := k.client(t)
			tc.change(c)
			if _, _, e := c.Pods(t.Context()); e.Status != tc.want {
				t.Errorf("%+v; want %s", e, tc.want)
			}
		})
	}
}

// TestOtherNetwork asks a process that listens in a network namespace of its own, on a port that somebody else has here.
func TestOtherNetwork(t *testing.T) {
	pid, report := startRole(t, roleServe, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET})
	in := &kubelet.Instance{PID: pid, Flags: map[string]string{"read-only-port": strconv.Itoa(report.Port), "healthz-port": "0"}}
	c := &Client{Instance: in, FS: openFS(t, "/")}
	got := c.Health(t.Context())
	if s := statuses(got); s != "not-owned not-owned" || !strings.Contains(got[1].Detail, "another network namespace") {
		t.Errorf("health = %+v", got)
	}
}

// TestListeners reaches servers on the addresses that a kubelet may be bound to.
func TestListeners(t *testing.T) {
	for name, addr := range map[string]string{"any": ":0", "any IPv4": "0.0.0.0:0", "IPv6 loopback": "[::1]:0", "another loopback": "127.0.0.9:0"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, addr, nil, say(200, "ok"))
			in := &kubelet.Instance{PID: os.Getpid(), Flags: map[string]string{"port": "1", "read-only-port": "0", "healthz-port": strconv.Itoa(s.port())}}
			c := &Client{Instance: in, FS: openFS(t, "/")}
			if got := c.Health(t.Context()); statuses(got) != "refused ok" {
				t.Errorf("health = %+v", got)
			}
		})
	}
}

// TestConcurrent has many questions at once look into the same files.
func TestConcurrent(t *testing.T) {
	k := startKubelet(t, say(200, `{"kind":"PodList","items":[]}`), nil, nil)
	c := k.client(t)
	c.Timeout = time.Minute
	c.Group = new(probe.Group)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, _, e := c.Pods(t.Context()); e.Status != "ok" || e.Verified != "pinned" {
				t.Errorf("endpoint %+v", e)
			}
		})
	}
	wait.Wait()
}
