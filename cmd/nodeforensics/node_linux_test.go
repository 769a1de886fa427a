package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A node is a copy of the test binary in PID, mount, network and UTS namespaces of its own, in which one test runs:
// what the program sees there is what that test has made, whatever else goes on on the machine. When the first process
// of the namespace ends, everything on the node does, and with the FUSE servers go the threads that wait for them.

// nodeEnv makes a copy of the test binary a part of a node.
const (
	nodeEnv  = "NODEFORENSICS_TEST_NODE"
	nodeBoot = "boot" // the first process, which prepares the node
	nodeInit = "init" // and then reaps
	nodeTest = "test" // the test on it

	nodeTraffic  = "traffic"  // a process that keeps directories busy
	nodeImpostor = "impostor" // a process that listens where the kubelet does
	nodeCrowd    = "crowd"    // one that makes very much of something
	nodeRefuse   = "refuse"   // one that becomes another, which some system calls are refused
)

const nodeName = "node-7"

// nodeLimit is how long one test may take on a machine that is busy with other tests.
const nodeLimit = 4 * time.Minute

// nodeMain is where a copy of the test binary turns into a part of a node.
func nodeMain() {
	benchMain()
	switch os.Getenv(nodeEnv) {
	case nodeBoot:
		os.Exit(bootMain())
	case nodeInit:
		os.Exit(initMain())
	case nodeRefuse:
		os.Exit(refuseMain(os.Args[1:]))
	case nodeTraffic:
		os.Exit(trafficMain(os.Args[1:]))
	case nodeCrowd:
		os.Exit(crowdMain(os.Args[1:]))
	case nodeImpostor:
		impostorMain()
	}
}

// onNode runs the calling test on a node, in parallel with others. It returns true there, and false in the test binary
// that was started first, where the test then is to return.
func onNode(t *testing.T) bool {
	t.Helper()
	if os.Getenv(nodeEnv) == nodeTest {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("a node of its own needs root")
	}
	dir := t.TempDir()
	program(t, kubeletName)
	t.Parallel()
	out, err := runNode(t, dir)
	if reason, ok := skipped(out); ok {
		t.Skip(reason)
	}
	if errors.Is(err, unix.EPERM) {
		t.Skipf("a node of its own: %v", err)
	}
	if text := tidy(out); err != nil {
		t.Errorf("on its node: %v\n%s", err, text)
	} else if text != "" {
		t.Logf("on its node:\n%s", text)
	}
	return false
}

// strayDir is a directory on a node to which a process may still write that the test leaves behind: it is removed after both.
func strayDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stray")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func runNode(t *testing.T, dir string) ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-test.v", "-test.count=1", "-test.parallel=1", fmt.Sprintf("-test.short=%t", testing.Short()),
		"-test.run="+strings.Join(parts, "/"))
	cmd.Env = append(os.Environ(), nodeEnv+"="+nodeBoot, "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS,
	}
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	life, err := cmd.StdinPipe() // its end tells the node that this process is gone
	if err != nil {
		return nil, err
	}
	defer func() { _ = life.Close() }()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
		return out.Bytes(), err
	case <-time.After(nodeLimit + 30*time.Second): // a thread in it waits for what is not on the node
		return nil, fmt.Errorf("the node (pid %d) did not end", cmd.Process.Pid)
	}
}

var skipLine = regexp.MustCompile(`(?m)^--- SKIP: .*\n((?:    .*\n)*)`)

// skipped returns the reason if the test was skipped.
func skipped(out []byte) (string, bool) {
	m := skipLine.FindSubmatch(out)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(string(m[1])), true
}

var testNoise = regexp.MustCompile(`^(=== |PASS$|FAIL$|exit status |--- PASS)`)

// tidy marks the lines of another test run, so that nobody takes them for those of this one.
func tidy(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimRight(line, "\n"); !testNoise.MatchString(line) {
			b.WriteString("| " + line + "\n")
		}
	}
	return b.String()
}

// bootMain is the first process of a node. It becomes another, so that it holds nothing of the machine's mounts.
func bootMain() int {
	err := prepareNode()
	if err == nil {
		err = unix.Exec(os.Args[0], os.Args, nodeEnvironment(nodeInit))
	}
	fmt.Println("node:", err)
	return 1
}

// nodeEnvironment is the environment of a process with another role.
func nodeEnvironment(role string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, nodeEnv+"=") })
	return append(env, nodeEnv+"="+role)
}

// initMain starts the test and waits for everybody.
func initMain() int {
	go func() { // the other processes of the namespace are killed with this one
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	null, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Println("node:", err)
		return 1
	}
	process, err := os.StartProcess(os.Args[0], os.Args, &os.ProcAttr{
		Env: nodeEnvironment(nodeTest), Files: []*os.File{null, os.Stdout, os.Stderr},
	})
	if err != nil {
		fmt.Println("node:", err)
		return 1
	}
	return reap(process.Pid)
}

// reap waits for everybody, as the first process has to, until the test has ended.
func reap(test int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			fmt.Println("node: wait:", err)
			return 1
		case pid == test && status.Signaled():
			fmt.Println("node: the test was killed:", status.Signal())
			return 1
		case pid == test:
			return status.ExitStatus()
		}
	}
}

// prepareNode makes a place where nothing but the machine's own disk and kernel is left. What other people have mounted
// may be dead, so it is not unmounted one by one but left behind with the old root.
func prepareNode() error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "root")
	if err != nil {
		return err
	}
	binds, err := bindMounts(cwd)
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, dir := range binds {
		if err := unix.Mount(dir, filepath.Join(root, dir), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", dir, err)
		}
	}
	if err := unix.Mount("proc", filepath.Join(root, "/proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// As systemd does; on the machine perhaps nobody has yet. EBUSY: it is the machine's.
	if err := unix.Mount("fusectl", filepath.Join(root, "/sys/fs/fuse/connections"), "fusectl", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("mount the control file system of FUSE: %w", err)
	}
	// What the machine's kernel logs is not the node's: it tells of threads that other tests have blocked for long. See withKernelLog.
	if err := unix.Mount(os.DevNull, filepath.Join(root, "/dev/kmsg"), "", unix.MS_BIND, ""); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("hide /dev/kmsg: %w", err)
	}
	// The machine's kubelet, container runtimes and logs are not the node's.
	for _, dir := range []string{
		"/dev/shm", "/var/lib/kubelet", "/var/log", "/run/log", "/run/containerd", "/run/containers", "/run/crio", "/run/docker",
		"/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/cri-dockerd", "/var/lib/rancher",
	} {
		err := unix.Mount("tmpfs", filepath.Join(root, dir), "tmpfs", 0, "")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return errors.Join(pivot(root), os.Chdir(cwd), unix.Sethostname([]byte(nodeName)), loopbackUp())
}

// withKernelLog gives a node the log of the machine's kernel.
func withKernelLog(t testing.TB) {
	t.Helper()
	if err := unix.Unmount("/dev/kmsg", unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
}

// bindMounts are the mounts that a node shares with the machine: its kernel's, and what leads to what the tests need.
func bindMounts(cwd string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	list, _ := mounts.Parse(bytes.NewReader(text))
	needed := []string{cwd, os.TempDir(), os.Getenv(builtEnv), os.Args[0], "/usr", "/etc", "/bin", "/sbin"}
	binds := []string{"/"}
	for _, m := range list {
		keep := m.MountPoint == "/dev" || m.MountPoint == "/dev/pts" || m.MountPoint == "/sys" || strings.HasPrefix(m.MountPoint, "/sys/")
		local := m.Class == mounts.ClassBlock || m.Class == mounts.ClassMemory || m.Class == mounts.ClassOverlay
		if local && m.MountPoint != "/" {
			keep = keep || slices.ContainsFunc(needed, func(path string) bool {
				return path == m.MountPoint || strings.HasPrefix(path, m.MountPoint+"/")
			})
		}
		if keep && !slices.Contains(binds, m.MountPoint) {
			binds = append(binds, m.MountPoint)
		}
	}
	return binds, nil
}

// pivot makes a directory the root and leaves the old one behind, see pivot_root(2).
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	return unix.Unmount(".", unix.MNT_DETACH)
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("loopback up: %w", err)
	}
	return nil
}
