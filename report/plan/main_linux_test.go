package plan

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
)

// inNamespace says in the environment that the tests run in a mount namespace of their own.
const inNamespace = "NODEFORENSICS_TEST_NAMESPACE"

// TestMain runs the tests in a mount namespace of their own, so that nothing is left mounted and scripts find only the
// mounts of their test.
func TestMain(m *testing.M) {
	testfuse.Main()
	if os.Geteuid() != 0 || os.Getenv(inNamespace) != "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the death signal is that of the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
