package live

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// A variant is a way to build a program.
type variant struct {
	flags, env []string
	emulated   bool
}

var variants = map[string]variant{
	"plain":    {env: []string{"CGO_ENABLED=0"}},
	"stripped": {flags: []string{"-ldflags", "-s -w"}, env: []string{"CGO_ENABLED=0"}},
	"pie":      {flags: []string{"-ldflags", "-s -w", "-buildmode=pie"}, env: []string{"CGO_ENABLED=0"}},
	"cgo":      {flags: []string{"-ldflags", "-s -w", "-tags", "c"}, env: []string{"CGO_ENABLED=1"}},
	"arm64":    {flags: []string{"-ldflags", "-s -w"}, env: []string{"CGO_ENABLED=0", "GOARCH=arm64"}, emulated: true},
}

// TestVersions compares what is read of a program's memory with what the program says itself, for programs that the go command of the test
// builds: stripped or not, position-independent, with cgo, and of another processor.
func TestVersions(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) { compareVariant(t, "local", v) })
	}
}

func compareVariant(t *testing.T, version string, v variant) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil && slices.Contains(v.env, "CGO_ENABLED=1") {
		t.Skip("no C compiler: ", err)
	}
	if !v.emulated {
		compare(t, exec.Command(build(t, version, v.flags, v.env...)), Read)
		return
	}
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("no emulator: ", err)
	}
	program := build(t, version, v.flags, v.env...)
	compare(t, exec.Command(emulator, program), emulated(program))
}

// built returns the path of a program, and has make put it into a new directory, by its name, if no test has asked for it yet.
func built(tb testing.TB, name, how string, make func(dir string) *exec.Cmd) string {
	tb.Helper()
	programs.Lock()
	defer programs.Unlock()
	key := name + " " + how
	if path, ok := programs.paths[key]; ok {
		return path
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "programs")
		if err != nil {
			tb.Fatal(err)
		}
		programs.dir, programs.paths = dir, map[string]string{}
	}
	dir := filepath.Join(programs.dir, strconv.Itoa(len(programs.paths)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	if out, err := make(dir).CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		tb.Fatalf("%v\n%s", err, out)
	}
	programs.paths[key] = filepath.Join(dir, name)
	return programs.paths[key]
}

// build compiles the program with a toolchain, which the go command fetches.
func build(t *testing.T, version string, flags []string, env ...string) string {
	t.Helper()
	return built(t, "program", fmt.Sprint(version, flags, env), func(dir string) *exec.Cmd { return building(t, dir, version, flags, env) })
}

func building(t *testing.T, dir, version string, flags, env []string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile("testdata/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	inC := "// +build c\n\npackage main\n\n// int one(void) { return 1; }\nimport \"C\"\n\nvar one = C.one()\n"
	for name, text := range map[string]string{"main.go": string(text), "c.go": inC, "go.mod": "module program\n\ngo 1.13\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"main.go"} // by name: Go 1.19 takes a directory in the module cache's neighbourhood for none
	if slices.Contains(flags, "c") {
		files = append(files, "c.go")
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", "program"}, flags...), files...)...)
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GOFLAGS=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(append(cmd.Env, "GOENV=off", "GO111MODULE=on"), env...)
	if version != "local" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN=go"+version)
	}
	return cmd
}

// emulated reads a program whose processor another program emulates, with the same addresses.
func emulated(program string) func(context.Context, int, io.Writer) (Info, error) {
	return func(ctx context.Context, pid int, w io.Writer) (Info, error) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return Info{}, err
		}
		maps, err := parseMaps(bytes.NewReader(text))
		if err != nil {
			return Info{}, err
		}
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return Info{}, err
		}
		defer func() { _ = mem.Close() }()
		p, err := open(&memory{file: mem, maps: maps, exe: program}, arch{usesLR: true, quantum: 4})
		if err != nil {
			return Info{}, err
		}
		return p.write(ctx, w, monotonic(), nil)
	}
}

func compare(t *testing.T, cmd *exec.Cmd, read func(context.Context, int, io.Writer) (Info, error)) {
	t.Helper()
	own, memory, got, err := both(t, cmd, read)
	if err != nil || got.Unread > 0 || got.Goroutines != len(memory.Goroutines) {
		t.Fatalf("%+v, %d goroutines: %v", got, len(memory.Goroutines), err)
	}
	elide(&memory, own)
	want, have := lines(own), lines(memory)
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("%s (-its own dump +its memory):\n%s", got.Version, diff)
	}
	if len(want) < 100 {
		t.Errorf("only %d goroutines", len(want))
	}
}

// both starts the program, and returns the dump that it writes of itself and what is read of its memory, with the error of that.
func both(t *testing.T, cmd *exec.Cmd, read func(context.Context, int, io.Writer) (Info, error)) (own, memory goroutines.Dump, got Info, err error) {
	t.Helper()
	dump := filepath.Join(t.TempDir(), "dump")
	cmd.Args = append(cmd.Args, dump)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // the goroutine that has written the line may run still
		b.Reset()
		if got, err = read(t.Context(), cmd.Process.Pid, &b); err != nil || got.Unread == 0 || time.Now().After(end) {
			break
		}
	}
	return parsed(t, text), parsed(t, b.Bytes()), got, err
}

// parsed is the only dump in a text; nothing where it is empty. The main goroutine is left out where it runs: it has neither a stack that can
// be read nor a creator.
func parsed(t *testing.T, text []byte) goroutines.Dump {
	t.Helper()
	dumps, problems, err := goroutines.Parse(bytes.NewReader(text))
	problems = slices.DeleteFunc(problems, func(p goroutines.Problem) bool { return p.Reason == "goroutine 1 dropped: no frames" })
	if err != nil || len(problems) > 0 || len(dumps) > 1 || len(text) > 0 && len(dumps) == 0 {
		t.Fatal(len(dumps), problems, err)
	}
	return append(dumps, goroutines.Dump{})[0]
}

// elide takes what a dump leaves out of long stacks from another one, which has all: the runtime prints the 50 innermost and the 50
// outermost frames, before Go 1.21 the 100 innermost.
func elide(d *goroutines.Dump, by goroutines.Dump) {
	short := map[int64]goroutines.Goroutine{}
	for _, g := range by.Goroutines {
		short[g.ID] = g
	}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		s := short[g.ID]
		switch {
		case s.Elided > 1 && len(g.Frames) > 100:
			g.Elided = len(g.Frames) - 100
			g.Frames = append(g.Frames[:50:50], g.Frames[len(g.Frames)-50:]...)
		case s.Elided < 2 && len(s.Frames) > 90 && len(g.Frames) > len(s.Frames): // some of the 100 are not shown
			g.Elided, g.Frames = s.Elided, g.Frames[:len(s.Frames)]
		}
	}
}

// lines is a dump by goroutine, without the main one, which wrote it and went on.
func lines(d goroutines.Dump) map[int64]string {
	all := map[int64]string{}
	for _, g := range d.Goroutines {
		if g.ID == 1 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "[%s] locked %t elided %d\n", g.State, g.LockedToThread, g.Elided)
		for _, f := range g.Frames {
			fmt.Fprintf(&b, "%s %s:%d +%#x %t\n", f.Func, f.File, f.Line, f.Offset, f.Inlined)
		}
		if g.CreatedBy != nil {
			fmt.Fprintf(&b, "created by %s in %d %s:%d\n", g.CreatedBy.Func, g.CreatorID, g.CreatedBy.File, g.CreatedBy.Line)
		}
		all[g.ID] = b.String()
	}
	return all
}
