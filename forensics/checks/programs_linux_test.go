package checks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	procslive "github.com/nodeforensics/nodeforensics/forensics/procs/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestPrograms judges dumps of a real program that stands still in the functions of a kubelet on a FUSE mount that
// hangs, as pprof and as the end of the program by SIGABRT write them.
func TestPrograms(t *testing.T) { judgeProgram(t, "local") }

func judgeProgram(t *testing.T, toolchain string) {
	p := startProgram(t, buildProgram(t, toolchain))
	dumps := p.dumps(t, func() { p.look(t) })
	for _, form := range []string{"debug2", "debug1", "debug0", "abort"} {
		t.Run(form, func(t *testing.T) { p.judge(t, toolchain, form, dumps[form]) })
	}
	t.Run("with threads", func(t *testing.T) { p.judgeWithThreads(t, toolchain, dumps["debug2"]) })
}

// buildProgram builds testdata/programs with a release of Go, in GOPATH mode, as kubelets up to 1.24 were.
func buildProgram(t *testing.T, toolchain string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "kubelet")
	recordSources(t, "testdata/programs")
	gopath, err := filepath.Abs("testdata/programs")
	if err != nil {
		t.Fatal(err)
	}
	root := goRoot(t, toolchain)
	cmd := exec.Command(filepath.Join(root, "bin", "go"), "build", "-o", out, "k8s.io/kubernetes/cmd/kubelet")
	cmd.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local", "GOENV=off", "GO111MODULE=off", "GOPATH="+gopath, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// recordSources has "go test" take the sources of a program that is built here for inputs of the test. Otherwise it would
// answer from its cache after they have changed: it notes what the directories that a test reads have in them.
func recordSources(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
}

// goRoot is where a release of Go is, which the go command fetches if need be.
func goRoot(t *testing.T, toolchain string) string {
	t.Helper()
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = t.TempDir() // outside of this module, which an old release could not read
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	root, err := cmd.Output()
	if err != nil {
		t.Skipf("%s cannot be had: %v: %s", toolchain, err, &stderr)
	}
	return strings.TrimSpace(string(root))
}

// program is a process of a test that stands still, and can be told to write its goroutines.
type program struct {
	cmd    *exec.Cmd
	dir    string // where it writes dumps
	said   chan string
	stderr *watched
}

// launch starts a program whose last argument is the directory for its dumps. release lets its threads end.
func launch(t *testing.T, release func(), binary string, args ...string) *program {
	t.Helper()
	p := &program{dir: t.TempDir(), said: make(chan string, 8), stderr: &watched{}}
	p.cmd = exec.Command(binary, append(args, p.dir)...)
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readLines(stdout, p.said)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		release()
		<-ended
	})
	return p
}

// stuckKubelet is the program of testdata/programs, standing still.
type stuckKubelet struct {
	*program
	path    string
	child   int
	fuse    *testfuse.Server
	list    []procs.Process
	threads []procs.Thread
	table   mounts.Table
}

// asking is how many calls of the program the mount gets.
const asking = 5

func startProgram(t *testing.T, binary string) *stuckKubelet {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pods", deadUID, "volumes", "kubernetes.io~csi", "v")
	fuse := testfuse.Mount(t, dir, testfuse.Options{Type: "fuse.testfs"})
	fuse.Hang()
	k := &stuckKubelet{fuse: fuse, path: fuse.MountPoint()}
	k.program = launch(t, fuse.Heal, binary, k.path) // a thread that waits there keeps it from ending
	fields := strings.Fields(k.awaitLine(t, "ready"))
	child, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		t.Fatal(err)
	}
	k.child = child
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	testfuse.Await(t, "all calls to reach the mount", func() bool { return fuse.Unanswered() >= asking })
	return k
}

func readLines(r io.Reader, lines chan<- string) {
	var line []byte
	b := make([]byte, 1)
	for {
		if _, err := r.Read(b); err != nil {
			close(lines)
			return
		}
		if b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		lines <- string(line)
		line = line[:0]
	}
}

func (p *program) awaitLine(t *testing.T, word string) string {
	t.Helper()
	select {
	case line := <-p.said:
		if !strings.HasPrefix(line, word) {
			t.Fatalf("the program said %q, want %q\n%s", line, word, p.stderr)
		}
		return line
	case <-time.After(30 * time.Second):
		t.Fatalf("the program does not say %q\n%s", word, p.stderr)
	}
	return ""
}

// registers come last in the dump of a program's end.
var registers = regexp.MustCompile(`(?m)^(rip|pc) +0x[0-9a-f]+$`)

// dumps has the program write its goroutines in all forms, the last of them at its end; look is called before that.
func (p *program) dumps(t *testing.T, look func()) map[string][]byte {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	p.awaitLine(t, "dumped")
	all := map[string][]byte{}
	for _, form := range []string{"debug2", "debug1", "debug0"} {
		text, err := os.ReadFile(filepath.Join(p.dir, form))
		if err != nil {
			t.Fatal(err)
		}
		all[form] = text
	}
	look()
	if err := p.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "the dump of the end", func() bool { return registers.MatchString(p.stderr.String()) })
	all["abort"] = []byte(p.stderr.String())
	return all
}

// look reads the program's threads, its child, and the mount table.
func (p *stuckKubelet) look(t *testing.T) {
	t.Helper()
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if p.table, err = mountslive.Read(ctx, fsys, 0); err != nil {
		t.Fatal(err)
	}
	index := p.table.Index()
	snapshot, err := procslive.Collect(ctx, fsys, procslive.Options{
		Group: &probe.Group{}, Self: []int{os.Getpid()},
		Table: func(int, uint64) *mounts.Index { return index },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, t := range snapshot.Threads {
		if t.PID == p.cmd.Process.Pid {
			p.threads = append(p.threads, t)
		}
	}
	for _, process := range snapshot.Processes {
		if process.PID == p.cmd.Process.Pid || process.PID == p.child {
			p.list = append(p.list, process)
		}
	}
}

// waiting finds the states in which the program's goroutines stand.
var waiting = regexp.MustCompile(`\[(syscall|semacquire|sync\.Mutex\.Lock)(, locked to thread)?\]:`)

// judge judges a dump. The waits are younger than a minute, so that no age is printed: it is put in.
func (p *stuckKubelet) judge(t *testing.T, toolchain, form string, dump []byte) {
	aged := waiting.ReplaceAll(dump, []byte("[$1, 7 minutes$2]:"))
	if full := form == "debug2" || form == "abort"; full && bytes.Equal(aged, dump) {
		t.Fatalf("nothing waits in\n%s", dump)
	} else if !full {
		p.judgeAggregated(t, dump)
		return
	}
	e := forensics.NewEvidence()
	addRealDump(t, &e, aged)
	a := forensics.Analyze(&e, All())
	for id, severity := range map[string]forensics.Severity{
		"kubelet-housekeeping-blocked": forensics.Critical, "kubelet-status-manager-blocked": forensics.Critical,
		"kubelet-start-blocked": forensics.Critical, "kubelet-volume-manager-blocked": forensics.Warning,
		"kubelet-goroutine-leak": forensics.Warning, "kubelet-lock-contention": forensics.Warning,
	} {
		f, ok := findingOf(a, id)
		if !ok || f.Severity != severity || f.Confidence != forensics.Certain && id != "kubelet-lock-contention" {
			t.Errorf("%s: found %v, %s, %s; want %s and certain", id, ok, f.Severity, f.Confidence, severity)
		}
	}
	wantText(t, a, "kubelet-housekeeping-blocked", "is in os.Stat, called by mount-utils.(*Mounter).IsLikelyNotMountPoint",
		fmt.Sprintf("on a path of %d bytes", len(p.path)))
	wantText(t, a, "kubelet-start-blocked", "is in syscall.Statfs, called by fs.getVfsStats")
	wantText(t, a, "kubelet-lock-contention", "in kubelet.(*podWorkers).IsPodKnownTerminated", "most likely has the lock and is in os.Stat")
	child := fmt.Sprintf("its child process %d", p.child)
	if !printsChild(toolchain) {
		child = "a child process (its pid is not in the dump)"
	}
	wantText(t, a, "kubelet-volume-manager-blocked", "waits for "+child)
}

// printsChild says whether dumps of a release hold the pid that waitid is given: Go 1.19 to 1.21 print stale registers,
// and from 1.23 on it is given a descriptor.
func printsChild(toolchain string) bool {
	for _, prefix := range []string{"go1.9.", "go1.1", "go1.22"} {
		if strings.HasPrefix(toolchain, prefix) && !strings.HasPrefix(toolchain, "go1.19") {
			return true
		}
	}
	return false
}

// judgeAggregated judges a dump without states and ages.
func (p *stuckKubelet) judgeAggregated(t *testing.T, dump []byte) {
	t.Helper()
	e := forensics.NewEvidence()
	addRealDump(t, &e, dump)
	a := forensics.Analyze(&e, All())
	for _, id := range []string{"kubelet-housekeeping-blocked", "kubelet-status-manager-blocked", "kubelet-start-blocked"} {
		if f, ok := findingOf(a, id); !ok || f.Severity != forensics.Warning || f.Confidence != forensics.Likely {
			t.Errorf("%s: found %v, %s, %s; want a likely warning", id, ok, f.Severity, f.Confidence)
		}
	}
	for _, f := range a.Findings {
		if f.Severity == forensics.Critical {
			t.Errorf("%s is critical although nothing proves an age: %s", f.ID, f.Title)
		}
	}
}

// judgeWithThreads judges the dump as it is beside the program's threads, which prove the age: the goroutine and the
// thread are found to be one by the pointers in both.
func (p *stuckKubelet) judgeWithThreads(t *testing.T, toolchain string, dump []byte) {
	if strings.HasPrefix(toolchain, "go1.19") || strings.HasPrefix(toolchain, "go1.2") && toolchain < "go1.22" {
		t.Skip("this release prints stale registers in the place of a system call's arguments")
	}
	e := forensics.NewEvidence()
	e.Collected = time.Now().UTC()
	e.Collector.HungAfterSeconds = 1e-6
	e.Kubelet = &kubelet.Instance{PID: p.cmd.Process.Pid}
	e.Mounts, e.Threads, e.Processes = p.table, p.threads, p.list
	for _, source := range []string{forensics.SourceMounts, forensics.SourceThreads, forensics.SourceProcesses} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	addRealDump(t, &e, dump)
	for i := range e.Dumps {
		e.Dumps[i].PID = p.cmd.Process.Pid
	}
	a := forensics.Analyze(&e, All())
	wantText(t, a, "kubelet-housekeeping-blocked", fmt.Sprintf("= thread %d/", p.cmd.Process.Pid), strconv.Quote(p.path), "The path is in pod "+deadUID)
	f, _ := findingOf(a, "kubelet-housekeeping-blocked")
	if f.Severity != forensics.Critical || f.Confidence != forensics.Certain {
		t.Errorf("housekeeping: %s, %s; want critical and certain", f.Severity, f.Confidence)
	}
	i := slices.IndexFunc(a.Diagnoses, func(d forensics.Diagnosis) bool {
		return d.Root == forensics.Entity{Kind: forensics.KindSuperblock, ID: p.fuse.Device()}
	})
	if i < 0 {
		t.Errorf("the hung superblock %s is no root cause: %+v", p.fuse.Device(), a.Diagnoses)
	}
}

func addRealDump(t *testing.T, e *forensics.Evidence, dump []byte) {
	t.Helper()
	dumps, err := read.Dumps("dump", bytes.NewReader(dump))
	if err != nil || len(dumps) != 1 || len(dumps[0].Problems) > 0 {
		t.Fatalf("%d dumps, %v\n%s", len(dumps), err, dump)
	}
	e.Dumps = dumps
	e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceRead})
}

func wantText(t *testing.T, a forensics.Analysis, id string, parts ...string) {
	t.Helper()
	f, ok := findingOf(a, id)
	for _, part := range parts {
		if text := f.Title + "\n" + f.Detail; ok && !strings.Contains(text, part) {
			t.Errorf("%s does not say %q:\n%s", id, part, text)
		}
	}
}

// watched is a buffer that can be read while it is written.
type watched struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
