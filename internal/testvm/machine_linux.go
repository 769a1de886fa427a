//go:build download

package testvm

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Machine says what a virtual machine consists of.
type Machine struct {
	// Suite is the Debian suite whose kernel and packages it has. If empty, it is what the environment variable TESTVM_SUITE
	// says: "bullseye" (Linux 5.10), "bookworm" (6.1, the default), "trixie" (6.12).
	Suite string
	// Arch is its processor: "amd64", which is the default, or "arm64".
	Arch string
	// Packages are there with all that they depend on, unpacked and not configured. A libc and mount are always there.
	Packages []string
	// Modules are loaded in this order, with what they depend on: a name, then parameters ("scsi_debug num_tgts=2").
	// Nothing else loads one.
	Modules []string
	// Files are further ones: the path in the machine, and the one here.
	Files map[string]string
	// Args are further arguments of QEMU.
	Args []string
}

// The limits are for a busy host. They measure nothing.
const (
	guestLimit = 4 * time.Minute
	hostLimit  = 5 * time.Minute
)

const memory = "1024" // MiB

//go:embed fetch.sh
var fetchScript string

// Where things are in the machine.
const (
	guestDir    = "/testvm"
	guestConfig = guestDir + "/config.json"
	guestTest   = guestDir + "/test"
	guestOut    = guestDir + "/out"
)

// config is what the first process has to know.
type config struct {
	Args    []string   // of the test
	Modules [][]string // files and their parameters, in the order in which to load them
}

// Inside says whether the test runs on a machine.
func Inside() bool { return os.Getenv(roleEnv) == roleTest }

// Out is the directory on a machine whose contents [Run] returns.
func Out() string { return guestOut }

// Run runs the calling test on a machine, fails with it, and returns a directory with what it has left in [Out]. Once the
// machine is on, the test is a parallel one (testing.T.Parallel): the others go on meanwhile, also those that are not.
func Run(t *testing.T, m Machine) string {
	t.Helper()
	parts := m.fetch(t)
	dir := t.TempDir()
	test := m.testBinary(t, dir)
	image := filepath.Join(dir, "initramfs")
	if err := m.writeImage(image, parts, test, testArgs(t)); err != nil {
		t.Fatalf("testvm: %v", err)
	}
	port := filepath.Join(dir, "port")
	off := m.boot(t, filepath.Join(parts, "kernel", "vmlinuz"), image, port)
	t.Parallel()
	console, err := off()
	if err != nil {
		t.Fatalf("testvm: %v\n%s", err, console)
	}
	out := filepath.Join(dir, "out")
	if err := unpack(port, out); err != nil {
		t.Fatalf("testvm: the results: %v\n%s", err, console)
	}
	if !bytes.Contains(console, []byte("\n--- PASS: "+t.Name())) {
		t.Fatalf("on the machine:\n%s", console)
	}
	return out
}

// testBinary is one that needs no libraries: the running one, or one that is built.
func (m Machine) testBinary(t *testing.T, dir string) string {
	t.Helper()
	if exe, err := os.Executable(); err == nil && m.arch() == runtime.GOARCH && isStatic(exe) {
		return exe
	}
	test := filepath.Join(dir, "test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags=download", "-o", test, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+m.arch())
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("testvm: the test binary: %v\n%s", err, out)
	}
	return test
}

// isStatic says whether a program has no loader to be started by.
func isStatic(program string) bool {
	f, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// testArgs selects the calling test, and of its subtests those that were selected here.
func testArgs(t *testing.T) []string {
	pattern := "^" + regexp.QuoteMeta(t.Name()) + "$"
	for i, arg := range os.Args {
		value, ok := strings.CutPrefix(arg, "-test.run=")
		if arg == "-test.run" && i+1 < len(os.Args) {
			value, ok = os.Args[i+1], true
		}
		if _, sub, found := strings.Cut(value, "/"); ok && found {
			pattern += "/" + sub
		}
	}
	return []string{"-test.v", "-test.run=" + pattern, "-test.timeout=" + guestLimit.String()}
}

// fetch returns the directory with the kernel and the packages.
func (m Machine) fetch(t *testing.T) string {
	if raceEnabled {
		t.Skip("what runs in a virtual machine is built without the race detector")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("a virtual machine is made on amd64 only")
	}
	for _, tool := range []string{m.emulator()[0], "apt-get", "dpkg-deb", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("a virtual machine: %v", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("a virtual machine: %v", err)
	}
	suite := cmp.Or(m.Suite, os.Getenv("TESTVM_SUITE"), "bookworm")
	packages := slices.Compact(slices.Sorted(slices.Values(append([]string{"libc6", "mount"}, m.Packages...))))
	dir := filepath.Join(cache, "nodeforensics-testvm", suite+"-"+strings.Join(packages, "-"))
	if m.arch() != "amd64" {
		dir += "-" + m.arch()
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	fetch := exec.CommandContext(t.Context(), "bash", append([]string{"-c", fetchScript, "fetch.sh", dir, suite, m.arch()}, packages...)...)
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Skipf("a virtual machine: fetch.sh: %v\n%s", err, out)
	}
	return dir
}

func (m Machine) arch() string { return cmp.Or(m.Arch, "amd64") }

// emulator is QEMU with the arguments that say what machine it is, with a serial port for the results.
func (m Machine) emulator() []string {
	if m.arch() == "arm64" {
		return []string{"qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72", "-device", "pci-serial,chardev=results"}
	}
	return []string{"qemu-system-x86_64", "-machine", "pc", "-cpu", "qemu64,-cx16", "-device", "isa-serial,chardev=results,index=1"}
}

// console is the serial port that the kernel writes to.
func (m Machine) console() string {
	if m.arch() == "arm64" {
		return "ttyAMA0"
	}
	return "ttyS0"
}

// boot switches the machine on, and returns what waits until it is off and then has what was written to its console. The
// machine is emulated: it boots in a few seconds, everywhere, while KVM inside a virtual machine that has no second level of
// page tables takes minutes, or stops at an instruction that it cannot emulate. CMPXCHG16B is left out: QEMU 7.2 gets it wrong
// in Linux 6.12. Whether the timer interrupts is not tested (no_timer_check): on a busy machine it does too late, and the kernel panics.
func (m Machine) boot(t *testing.T, kernel, image, port string) (off func() ([]byte, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), hostLimit)
	emulator := m.emulator()
	cmd := exec.CommandContext(ctx, emulator[0], append(append([]string{
		"-accel", "tcg", "-smp", "2", "-m", memory,
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-kernel", kernel, "-initrd", image,
		"-append", "console=" + m.console() + " no_timer_check loglevel=4 panic=-1 rdinit=" + guestTest + " " + roleEnv + "=" + roleInit,
		"-serial", "stdio", "-chardev", "file,id=results,path=" + port,
	}, emulator[1:]...), m.Args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if testing.Verbose() {
		cmd.Stdout = io.MultiWriter(&out, os.Stdout)
	}
	cmd.Stderr = cmd.Stdout
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- cmd.Run()
	}()
	return func() ([]byte, error) {
		err := <-done
		return bytes.ReplaceAll(out.Bytes(), []byte("\r"), nil), err
	}
}

// writeImage writes the machine's first and only file system.
func (m Machine) writeImage(path, parts, test string, args []string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	image := newArchive(file)
	image.tree(filepath.Join(parts, "root"))
	image.file(guestTest, test)
	for name, from := range m.Files {
		image.file(name, from)
	}
	conf := config{Args: args}
	found, err := findModules(filepath.Join(parts, "kernel", "modules"), m.Modules)
	if err != nil {
		return err
	}
	for _, module := range found {
		name := guestDir + "/" + filepath.Base(module.path)
		image.file(name, module.path)
		conf.Modules = append(conf.Modules, []string{name, module.params})
	}
	text, err := json.Marshal(conf)
	if err != nil {
		return err
	}
	image.add(guestConfig, 0o100644, text)
	return image.close()
}
