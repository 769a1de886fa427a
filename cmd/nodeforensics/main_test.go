package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// The tests run the real program, as a process of its own. Those that need a node get one each, see onNode.
func TestMain(m *testing.M) {
	testfuse.Main()
	testvm.Main()
	nodeMain()
	measureMain()
	flag.Parse()
	if test := flag.Lookup("test.parallel"); test.Value.String() == test.DefValue {
		_ = test.Value.Set("8") // tests wait for time limits more than they compute
	}
	status := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// built are the programs under test, made when the first test wants them.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// The names of the programs, and of the variable that hands their directory on to tests on a node.
const (
	programName = "nodeforensics"
	kubeletName = "kubelet"
	stuckName   = "stuck" // in forensics/goroutines/live: blocks on a dead mount in the way that it is told
	builtEnv    = "NODEFORENSICS_TEST_BUILT"
)

// program is the path of one of the programs.
func program(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv(builtEnv); dir != "" {
		return filepath.Join(dir, name)
	}
	built.once.Do(func() {
		if built.dir, built.err = build(); built.err == nil {
			built.err = os.Setenv(builtEnv, built.dir) // for the test binaries that this one starts
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

// build makes a directory with both programs, which everybody may read and run.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "nodeforensics")
	if err != nil {
		return "", err
	}
	flags := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"} // symbols take the linker as long as all else
	if raceEnabled {
		flags = append(flags, "-race")
	}
	return dir, errors.Join(
		os.Chmod(dir, 0o755),
		recordSources(),
		goCommand(".", append(flags, ".")...),
		// A module of its own, which needs nothing but the standard library.
		goCommand("testdata/kubelet", "build", "-buildvcs=false", "-ldflags=-s -w", "-mod=mod", "-o", dir+"/", "./cmd/kubelet"),
		goCommand("../../forensics/goroutines/live/testdata/stuck", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir+"/"+stuckName, "."),
	)
}

// recordSources has "go test" take the sources of both programs for inputs of the test. Otherwise it would answer from
// its cache after a change of what only the programs that are built here contain: of the command, the test binary has no
// more than the tests call. Of a directory below the module that a test reads, the go command notes which files are in it,
// how large they are and when they were changed.
func recordSources() error {
	var errs []error
	for _, name := range []string{"../../go.mod", "../../go.sum", "../../forensics", "../../internal", "../../report", "../../examples/kubernetes", "."} {
		errs = append(errs, filepath.WalkDir(name, func(_ string, _ fs.DirEntry, err error) error { return err }))
	}
	return errors.Join(errs...)
}

func goCommand(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if !raceEnabled {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0") // as it is released
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}
