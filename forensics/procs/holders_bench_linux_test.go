package procs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// benchEnv makes the test binary the first process of that node.
const benchEnv = "PROCS_TEST_BENCH"

// The size of the node.
const (
	benchProcesses  = 2000
	benchFiles      = 40 // of each process, on different mounts
	benchOthers     = 20 // sockets, pipes, epoll
	benchMounts     = 3000
	benchNamespaces = 50
)

// What the mount namespaces of that node are like. A container's has what its runtime mounted there; that of a service with
// a private /tmp, or of "unshare --mount", is a copy of the host's table, and all 50 together have 150,000 mounts then.
const (
	benchContainers = "containers"
	benchCopies     = "copies"
)

// BenchmarkHoldersBesidePeers makes such a node once and prints what Holders, lsof, fuser and bare getdents and readlink
// take on it; it fails if the answer is wrong. It works in mount and PID namespaces of its own, so that lsof and fuser
// meet no mount that hangs, and everything goes with the first process.
//
//	go test ./forensics/procs -run '^$' -bench HoldersBesidePeers -benchtime 1x
func BenchmarkHoldersBesidePeers(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root: makes namespaces")
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, namespaces := range []string{benchContainers, benchCopies} {
		b.Run(namespaces, func(b *testing.B) {
			for range b.N {
				cmd := exec.CommandContext(b.Context(), exe, "-test.run=^$", namespaces)
				cmd.Env = append(os.Environ(), benchEnv+"="+b.TempDir())
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
				out, err := cmd.CombinedOutput()
				b.Logf("%s", out)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchMain is the first process of the node. It returns if this is none.
func benchMain() {
	dir := os.Getenv(benchEnv)
	switch dir {
	case "":
		return
	case benchAlone:
		benchMeasure()
	case benchContainer:
		benchContained()
	}
	if err := benchNode(dir, os.Args[len(os.Args)-1] == benchContainers); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func benchNode(dir string, containers bool) error {
	if err := benchMountAll(dir); err != nil {
		return err
	}
	want, err := benchStart(dir, containers)
	if err != nil {
		return err
	}
	if err := benchSettle(); err != nil {
		return err
	}
	result, err := benchHolders()
	if err != nil {
		return err
	}
	if err := benchCheck(result, want); err != nil {
		return err
	}
	return benchPeers(filepath.Join(dir, "m7"))
}

// benchPeers prints the shortest time that each takes. They take turns, so that none has the quieter machine.
func benchPeers(mount string) error {
	alone := exec.Command("/proc/self/exe", "-test.run=^$")
	alone.Env = append(os.Environ(), benchEnv+"="+benchAlone)
	peers := []struct {
		name string
		cmd  *exec.Cmd // nil for bare reading
		best time.Duration
		out  string
	}{
		{name: "bare getdents and readlink"},
		{name: "Holders", cmd: alone},
		{name: "fuser -m", cmd: exec.Command("fuser", "-m", mount)},
		{name: "lsof -n -P", cmd: exec.Command("lsof", "-n", "-P")},
	}
	for range benchRounds {
		for i := range peers {
			p := &peers[i]
			took, out, err := benchPeer(p.cmd)
			if err != nil {
				return err
			}
			if p.best == 0 || took < p.best {
				p.best, p.out = took, out
			}
		}
	}
	for _, p := range peers {
		fmt.Printf("%-26s %8.3f s%s\n", p.name, p.best.Seconds(), p.out)
	}
	return nil
}

// benchRounds is how often each peer is measured.
const benchRounds = 5

// benchPeer returns how long a command takes, or what it says of that itself; 0 if it is not installed.
func benchPeer(cmd *exec.Cmd) (took time.Duration, says string, err error) {
	began := time.Now()
	switch {
	case cmd == nil:
		err = benchBare()
		return time.Since(began), "", err
	case cmd.Err != nil:
		return 0, " (not installed)", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	again := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	again.Env = cmd.Env
	out, err := again.Output()
	took = time.Since(began)
	if cmd.Path != "/proc/self/exe" {
		return took, "", nil // their status says whether something was found
	}
	text, says, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil {
		return 0, "", fmt.Errorf("%w: %s", err, out)
	}
	took, err = time.ParseDuration(text)
	return took, " (" + says + ")", err
}

// benchAlone makes the test binary a process that does nothing else, so that its memory can be told.
const benchAlone = "alone"

// benchMeasure prints how long Holders takes, and what it has found.
func benchMeasure() {
	debug.SetGCPercent(50) // as the program does
	began := time.Now()
	result, err := benchHolders()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("%v %d processes, %d descriptors, %d holders, %s\n",
		time.Since(began), result.Processes, result.Descriptors, len(result.Holders), peak())
	os.Exit(0)
}

func benchHolders() (HoldersResult, error) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		return HoldersResult{}, err
	}
	defer func() { _ = fsys.Close() }()
	return Holders(context.Background(), fsys, HoldersOptions{})
}

// benchMountAll makes the mounts, without those that the machine has and that may hang.
func benchMountAll(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	fsys, err := hostfs.Open("/")
	if err != nil {
		return err
	}
	table, err := mounts.Read(context.Background(), fsys, 0)
	if err != nil {
		return err
	}
	for _, m := range table.Mounts {
		if m.Class == mounts.ClassFUSE || m.Class == mounts.ClassNetwork || m.Class == mounts.ClassAutofs {
			_ = unix.Unmount(m.MountPoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "from"), 0o755); err != nil {
		return err
	}
	for i := range benchMounts {
		to := filepath.Join(dir, "m"+strconv.Itoa(i))
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(filepath.Join(dir, "from"), to, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// benchStart starts the processes. It returns which mount each of their files is on.
func benchStart(dir string, containers bool) (map[string]int, error) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		return nil, err
	}
	table, err := mounts.Read(context.Background(), fsys, 0)
	if err != nil {
		return nil, err
	}
	index, want := table.Index(), map[string]int{}
	for p := range benchProcesses {
		cmd := exec.Command("sleep", "1000")
		for f := range benchFiles {
			mount := filepath.Join(dir, "m"+strconv.Itoa((p*benchFiles+f)%benchMounts))
			file, err := os.OpenFile(filepath.Join(mount, "file"), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return nil, err
			}
			cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		}
		others, err := benchSpecial()
		if err != nil {
			return nil, err
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, others...)
		if p%(benchProcesses/benchNamespaces) == 0 {
			if containers {
				cmd.Path, cmd.Args = "/proc/self/exe", []string{benchContainer, "-test.run=^$", dir}
				cmd.Env = append(os.Environ(), benchEnv+"="+benchContainer)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		for f := range benchFiles {
			at := index.At(filepath.Dir(cmd.ExtraFiles[f].Name()))
			want[fmt.Sprintf("%d %d", cmd.Process.Pid, f+3)] = at[0].ID
		}
		for _, f := range cmd.ExtraFiles {
			_ = f.Close()
		}
	}
	return want, nil
}

// benchSettle waits until all processes sleep: until then their start takes the processors that are to be measured.
func benchSettle() error {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range list {
		pid, ok := parseID(e.Name())
		for ok && pid != os.Getpid() {
			text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
			if err != nil {
				return err
			}
			if bytes.Contains(text, []byte(" (sleep) S ")) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// benchContainer makes the test binary take the host's mounts out of its mount namespace, as a container runtime does with
// pivot_root(2), and become a process of the container.
const benchContainer = "container"

func benchContained() {
	err := unix.Unmount(os.Args[len(os.Args)-1], unix.MNT_DETACH)
	if err == nil {
		err = unix.Exec("/bin/sleep", []string{"sleep", "1000"}, nil)
	}
	fmt.Println(err)
	os.Exit(1)
}

// benchSpecial opens what is no file.
func benchSpecial() ([]*os.File, error) {
	var files []*os.File
	for len(files) < benchOthers {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return nil, err
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		files = append(files, os.NewFile(uintptr(epoll), "epoll"), os.NewFile(uintptr(pair[0]), "a"), os.NewFile(uintptr(pair[1]), "b"), r, w)
	}
	return files, nil
}

// benchCheck wants every file on its mount, and nothing else on those mounts.
func benchCheck(result HoldersResult, want map[string]int) error {
	var wrong []error
	found := map[string]bool{}
	for _, h := range result.Holders {
		if h.Kind != HoldFD || filepath.Base(h.Path) != "file" {
			continue
		}
		key := fmt.Sprintf("%d %d", h.PID, h.FD)
		found[key] = true
		if want[key] != h.MountID || h.Detached {
			wrong = append(wrong, fmt.Errorf("%+v, want mount %d", h, want[key]))
		}
	}
	if len(found) != len(want) || len(wrong) > 0 {
		return fmt.Errorf("%d of %d found, %d wrong: %w", len(found), len(want), len(wrong), errors.Join(wrong[:min(3, len(wrong))]...))
	}
	return nil
}

// benchBare does the least that can be done.
func benchBare() error {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	buf, text := make([]byte, 32<<10), make([]byte, 4096)
	var names []string
	for _, e := range list {
		if _, ok := parseID(e.Name()); !ok {
			continue
		}
		fd, err := unix.Open("/proc/"+e.Name()+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		for {
			n, err := unix.Getdents(fd, buf)
			if err != nil || n == 0 {
				break
			}
			_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
			for _, name := range names {
				_, _ = unix.Readlinkat(fd, name, text)
			}
		}
		_ = unix.Close(fd)
	}
	return nil
}

// peak is the largest resident set of this process.
func peak() string {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	value, _, _ := bytes.Cut(rest, []byte{'\n'})
	return "peak memory " + strings.TrimSpace(string(value))
}
