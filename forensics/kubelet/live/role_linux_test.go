package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The roles that a copy of the test binary can play. It says what the test has to know as one line of JSON, and ends
// when its standard input does.
const (
	roleServe = "serve" // listens on a port and answers every path with "ok"
	roleMount = "mount" // has a tmpfs of its own in $KUBELET_TEST_DIR, with a configuration file
)

type roleReport struct{ Port int }

func playRole(role string) {
	var report roleReport
	var err error
	switch role {
	case roleServe:
		report.Port, err = serveOK()
	case roleMount:
		err = mountConfiguration(os.Getenv("KUBELET_TEST_DIR"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(report)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func serveOK() (int, error) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return 0, err
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	}()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func mountConfiguration(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(configuration), 0o600)
}

// startRole starts a copy of the test binary and waits until it is ready.
func startRole(t *testing.T, role string, attr *syscall.SysProcAttr, env ...string) (pid int, report roleReport) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("a process in namespaces of its own needs root: %v", err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &report))
	return cmd.Process.Pid, report
}
