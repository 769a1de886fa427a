package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

const nobody = 65534

// A disguise is what a process of a pod is that calls itself a daemon of the node.
type disguise struct {
	attr *syscall.SysProcAttr
	// hierarchy is the type of a cgroup file system in which it is in a pod, and in no other; "" is none.
	hierarchy string
	// because is what speaks against it.
	because string
}

func disguises() map[string]disguise {
	mapped := func(to int) *syscall.SysProcAttr {
		one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: to, Size: 1}}
		return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: one, GidMappings: one, Credential: &syscall.Credential{}}
	}
	return map[string]disguise{
		"another user":            {attr: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}, because: "runs as uid 65534, not as root"},
		"user namespace":          {attr: mapped(nobody), because: "runs as uid 65534, not as root"},
		"user namespace, as root": {attr: mapped(0), because: "is in another user namespace"},
		"pod, cgroup v2":          {hierarchy: "cgroup2", because: "is in the cgroup of pod "},
		"pod, one cgroup v1":      {hierarchy: "cgroup", because: "is in the cgroup of pod "},
	}
}

// start starts a program that says when it is ready, and reads its words.
func (d disguise) start(t *testing.T, cmd *exec.Cmd) (pid int, words *bufio.Reader) {
	t.Helper()
	cgroup := ""
	if d.hierarchy != "" {
		cgroup = podCgroup(t, d.hierarchy) // which is removed after the process has gone
	}
	cmd.Dir, cmd.SysProcAttr, cmd.Stderr = "/", d.attr, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("a process in a user namespace: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if cgroup != "" {
		if err := os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
			t.Skipf("a cgroup: %v", err)
		}
	}
	words = bufio.NewReader(out)
	if line, err := words.ReadString('\n'); err != nil || strings.TrimSpace(line) != "listening" {
		t.Fatalf("%s said %q: %v", cmd.Path, line, err)
	}
	return cmd.Process.Pid, words
}

// podCgroup makes the cgroup of a container of a new pod, in one hierarchy.
func podCgroup(t *testing.T, hierarchy string) string {
	t.Helper()
	at := ""
	for line := range strings.Lines(readFile(t, "/proc/self/mounts")) {
		if f := strings.Fields(line); f[2] == hierarchy && (hierarchy == "cgroup2" || strings.Contains(f[3], "freezer") || strings.Contains(f[3], "pids")) {
			at = f[1]
		}
	}
	if at == "" {
		t.Skipf("no file system of type %s", hierarchy)
	}
	for _, part := range []string{"custom-" + testfuse.NewUID(), "kubepods", "burstable", "pod" + testfuse.NewUID(), strings.Repeat("0123456789abcdef", 4)} {
		dir := filepath.Join(at, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Skipf("a cgroup: %v", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		at = dir
	}
	return at
}

// wantImpostor checks that a process that calls itself kubelet is told and not believed.
func wantImpostor(t *testing.T, k *kubelet.Instance, pid int, because string) {
	t.Helper()
	if k == nil || k.PID == pid || slices.Contains(k.Others, pid) || !slices.ContainsFunc(k.Impostors, func(i kubelet.Impostor) bool {
		return i.PID == pid && strings.Contains(i.Reason, because)
	}) {
		t.Errorf("the kubelet is %+v; process %d is none, because it %s", k, pid, because)
	}
}

// TestAnImpostorDoesNotHideThatNoKubeletRuns has the very program of a kubelet run in a pod, whose directory it says to be the
// kubelet's, while the node's own has stopped.
func TestAnImpostorDoesNotHideThatNoKubeletRuns(t *testing.T) {
	if !onNode(t) {
		return
	}
	if err := os.MkdirAll("/var/lib/kubelet/pods/"+livePod, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, d := range disguises() {
		t.Run(name, func(t *testing.T) {
			pid, _ := d.start(t, exec.Command(program(t, kubeletName), "--root-dir=/evil", "--config=/evil/config.yaml", "--port=0", "--read-only-port=0", "--healthz-port=0"))
			wantNoKubelet(t, pid, d.because)
		})
	}
	t.Run("only a name", func(t *testing.T) {
		sleep := exec.Command("sleep", "1000")
		sleep.Args = []string{"kubelet", "1000"}
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sleep.Wait() }()
		defer func() { _ = sleep.Process.Kill() }()
		wantNoKubelet(t, sleep.Process.Pid, "runs /")
	})
}

func wantNoKubelet(t *testing.T, pid int, because string) {
	t.Helper()
	r := examine(t, 0).report(t)
	f := finding(t, r, "kubelet-not-running")
	wantNamed(t, f, "kubelet is not running", fmt.Sprintf("process %d", pid), "calls itself kubelet, but "+because)
	k := r.Evidence.Kubelet
	wantImpostor(t, k, pid, because)
	if k.RootDir != "/var/lib/kubelet" || len(k.Flags) > 0 || slices.ContainsFunc(k.Sources, func(s kubelet.Source) bool { return strings.Contains(s.Path, "evil") }) {
		t.Errorf("the impostor's words are believed: %+v", k)
	}
}

// impostorMain serves the three ports of a kubelet, and says whatever reaches them.
func impostorMain() {
	flags := kubelet.ParseFlags(os.Args)
	for _, name := range []string{"port", "read-only-port", "healthz-port"} {
		listener, err := net.Listen("tcp", "127.0.0.1:"+flags[name])
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Println("request", r.URL.Path, r.Header.Get("Authorization"))
			_, _ = io.WriteString(w, "ok")
		}))
		s.Listener = listener
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				fmt.Println("connection")
			}
		}
		if name == "port" {
			s.StartTLS()
		} else {
			s.Start()
		}
	}
	fmt.Println("listening")
	select {}
}

// TestAnImpostorGetsNoToken has a pod with the host's network listen where the kubelet does, which has stopped.
func TestAnImpostorGetsNoToken(t *testing.T) {
	if !onNode(t) {
		return
	}
	if err := os.MkdirAll("/var/lib/kubelet/pods/"+livePod, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "kubelet")
	if err := os.WriteFile(exe, []byte(readFile(t, "/proc/self/exe")), 0o755); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, d := range disguises() {
		if strings.Contains(d.because, "uid 65534") {
			continue // that user may not run what is in this directory
		}
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, "--port=10250", "--read-only-port=10255", "--healthz-port=10248", "--tls-cert-file="+token)
			cmd.Env = append(nodeEnvironment(nodeImpostor), "PATH="+os.Getenv("PATH"))
			pid, words := d.start(t, cmd)
			r := examine(t, 0, "--token-file", token).report(t)
			wantImpostor(t, r.Evidence.Kubelet, pid, d.because)
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if heard, _ := io.ReadAll(words); len(heard) > 0 {
				t.Errorf("the impostor heard:\n%s", heard)
			}
			if e := r.Evidence.Kubelet.Endpoints; len(e) > 0 {
				t.Errorf("the impostor was asked: %+v", e)
			}
		})
	}
}

// TestAnImpostorBesideTheKubelet is started after the node's own kubelet, as one that was restarted would be.
func TestAnImpostorBesideTheKubelet(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	own := startKubelet(t, root)
	for name, d := range disguises() {
		t.Run(name, func(t *testing.T) {
			pid, _ := d.start(t, exec.Command(program(t, kubeletName), "--root-dir=/evil", "--port=0", "--read-only-port=0", "--healthz-port=0"))
			r := examine(t, 0).report(t)
			k := r.Evidence.Kubelet
			wantImpostor(t, k, pid, d.because)
			if k.PID != own.Process.Pid || k.RootDir != root || len(k.Others) > 0 || len(k.Endpoints) == 0 || k.Unproven != "" {
				t.Errorf("the kubelet is %+v, want process %d", k, own.Process.Pid)
			}
			for _, f := range findings(r, "kubelet-not-running") {
				t.Errorf("%s: %s", f.ID, f.Title)
			}
		})
	}
}

// TestAnImpostorOfTheRuntime calls itself containerd, with directories of its own, in a user namespace.
func TestAnImpostorOfTheRuntime(t *testing.T) {
	if !onNode(t) {
		return
	}
	startKubelet(t, t.TempDir(), "--container-runtime-endpoint=unix:///run/containerd/containerd.sock")
	evil := t.TempDir()
	for _, dir := range []string{"io.containerd.metadata.v1.bolt", "io.containerd.runtime.v2.task/k8s.io"} {
		if err := os.MkdirAll(filepath.Join(evil, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	containerd := filepath.Join(t.TempDir(), "containerd")
	if err := os.WriteFile(containerd, []byte(readFile(t, program(t, kubeletName))), 0o755); err != nil {
		t.Fatal(err)
	}
	d := disguises()["user namespace, as root"]
	pid, _ := d.start(t, exec.Command(containerd, "--root-dir="+t.TempDir(), "--port=0", "--read-only-port=0", "--healthz-port=0", "--root="+evil, "--state="+evil))
	r := examine(t, 0).report(t)
	for _, runtime := range r.Evidence.Runtimes {
		if strings.HasPrefix(runtime.Root, evil) || strings.HasPrefix(runtime.State, evil) || runtime.Answer != nil && runtime.Answer.PID == pid {
			t.Errorf("runtime %+v is the impostor's", runtime)
		}
	}
	for _, p := range forensics.RuntimeProcesses(r.Evidence.Processes) {
		if runtimes.OfProcess(p.Comm) == "containerd" {
			t.Errorf("the runtime is process %d (%s)", p.PID, p.Cgroup)
		}
	}
}

// TestWithoutRootTheKubeletIsNotProven: who may not look at the namespaces and the program of a process of root cannot know
// whether it is the kubelet, and says so. A pod's is known to be none all the same.
func TestWithoutRootTheKubeletIsNotProven(t *testing.T) {
	if !onNode(t) {
		return
	}
	own := startKubelet(t, t.TempDir())
	impostor, _ := disguises()["pod, cgroup v2"].start(t, exec.Command(program(t, kubeletName), "--root-dir=/evil", "--port=0", "--read-only-port=0", "--healthz-port=0"))
	cmd := command(t, "-o", "json")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	o := finish(t, cmd)
	r, err := report.Read(strings.NewReader(o.stdout))
	if err != nil {
		t.Fatalf("%v\n%s", err, o.stderr)
	}
	k := r.Evidence.Kubelet
	wantImpostor(t, k, impostor, "is in the cgroup of pod ")
	if k.PID != own.Process.Pid || !strings.Contains(k.Unproven, "ns/user") {
		t.Errorf("the kubelet is %+v, want process %d, which is not proven", k, own.Process.Pid)
	}
	if _, why := r.Evidence.Saw(forensics.SourceKubelet); !slices.ContainsFunc(r.Evidence.Coverage, func(s forensics.Source) bool {
		return s.Source == forensics.SourceKubelet && strings.Contains(s.Detail, "cannot tell whether process")
	}) {
		t.Errorf("the coverage does not say so: %s", why)
	}
}
