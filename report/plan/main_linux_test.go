package plan

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// inNamespace says in the environment that the tests run in namespaces of their own.
const inNamespace = "NODEFORENSICS_TEST_NAMESPACE"

// TestMain runs the tests in namespaces of their own, so that nothing is left mounted and scripts find only the mounts and the
// processes of their test: they look at every process, and a machine that runs other tests, too, may have thousands.
func TestMain(m *testing.M) {
	testfuse.Main()
	if os.Geteuid() != 0 || os.Getenv(inNamespace) != "" {
		if os.Getenv(inNamespace) != "" {
			if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
				panic(err)
			}
		}
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the death signal is that of the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
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
