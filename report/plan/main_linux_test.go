package plan

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// inNamespace says in the environment that a test runs in namespaces of its own.
const inNamespace = "NODEFORENSICS_TEST_NAMESPACE"

func TestMain(m *testing.M) {
	testfuse.Main()
	flag.Parse()
	if os.Getenv(inNamespace) != "" {
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			panic(err)
		}
	} else if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set("4") // a step waits for the kernel to unmount more than it computes
	}
	os.Exit(m.Run())
}

// alone runs the calling test in namespaces of its own, in parallel with others, so that nothing is left mounted and scripts find only
// the mounts and the processes of their test: they look at every process, and a machine that runs other tests, too, may have thousands.
// It returns true there, and false in the test binary that was started first, where the test then is to return.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("the script, and mounting, need root")
	}
	t.Parallel()
	run := "^" + t.Name() + "$"
	if _, subtests, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		run += "/" + subtests
	}
	runtime.LockOSThread() // the death signal is that of the thread
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run="+run)
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	text := otherRun.ReplaceAllString(string(out), "| $0") // so that nobody takes its lines for those of this one
	switch skip := skipped.FindString(string(out)); {
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	case skip != "":
		t.Skip(skip)
	default:
		t.Logf("\n%s", text)
	}
	return false
}

var (
	otherRun = regexp.MustCompile(`(?m)^.*\n`)
	skipped  = regexp.MustCompile(`(?m)^ *--- SKIP: .*\n(.*\n)?`)
)
