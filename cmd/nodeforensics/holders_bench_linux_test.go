package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/report"
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

// BenchmarkHoldersBesidePeers makes such a node once and prints what the command holders takes for one mount, beside fuser,
// lsof and lsfd for the same and bare getdents and readlink of all descriptors, all but that as processes of their own; it
// fails if the answer is wrong. It works in mount and PID namespaces of its own, so that the others meet no mount that hangs,
// and everything goes with the first process.
//
//	go test ./cmd/nodeforensics -run '^$' -bench HoldersBesidePeers -benchtime 1x
func BenchmarkHoldersBesidePeers(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root: makes namespaces")
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	binary := program(b, programName)
	for _, namespaces := range []string{benchContainers, benchCopies} {
		b.Run(namespaces, func(b *testing.B) {
			for range b.N {
				cmd := exec.CommandContext(b.Context(), exe, "-test.run=^$", binary, namespaces)
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
	case benchContainer:
		benchContained()
	}
	if err := benchNode(dir, os.Args[len(os.Args)-2], os.Args[len(os.Args)-1] == benchContainers); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func benchNode(dir, binary string, containers bool) error {
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
	mount := filepath.Join(dir, "m7")
	if err := benchCheck(binary, mount, want); err != nil {
		return err
	}
	return benchPeers(binary, mount)
}

// benchRounds is how often each is measured.
const benchRounds = 9

// benchPeers prints the median of what each takes. They take turns, so that none has the quieter machine.
func benchPeers(binary, mount string) error {
	peers := []struct {
		name string
		args []string // nil for bare reading
		took []float64
	}{
		{name: "holders", args: []string{binary, "holders", mount}},
		{name: "fuser -m", args: []string{"fuser", "-m", mount}},
		{name: "lsof -n -P", args: []string{"lsof", "-n", "-P"}},
		{name: "lsfd", args: []string{"lsfd", "--noheadings"}},
		{name: "bare getdents and readlink"},
	}
	for range benchRounds {
		for i := range peers {
			took, err := benchPeer(peers[i].args)
			if err != nil {
				return err
			}
			peers[i].took = append(peers[i].took, took.Seconds())
		}
	}
	fmt.Printf("%-26s %8s %8s %8s  of %d runs, s\n", "", "min", "median", "max", benchRounds)
	for _, p := range peers {
		slices.Sort(p.took)
		fmt.Printf("%-26s %8.3f %8.3f %8.3f\n", p.name, p.took[0], p.took[benchRounds/2], p.took[benchRounds-1])
	}
	return nil
}

// benchPeer returns how long a command takes, 0 if it is not installed.
func benchPeer(args []string) (time.Duration, error) {
	began := time.Now()
	if args == nil {
		err := benchBare()
		return time.Since(began), err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return 0, nil
	}
	_ = cmd.Run() // the status of some says whether something was found
	return time.Since(began), ctx.Err()
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
	table, err := mountslive.Read(context.Background(), fsys, 0)
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

// benchStart starts the processes. It returns the descriptors ("pid fd") of files on each mount.
func benchStart(dir string, containers bool) (map[string][]string, error) {
	want := map[string][]string{}
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
			mount := filepath.Dir(cmd.ExtraFiles[f].Name())
			want[mount] = append(want[mount], fmt.Sprintf("%d %d", cmd.Process.Pid, f+3))
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
		pid, err := strconv.Atoi(e.Name())
		for err == nil && pid != os.Getpid() {
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

// benchCheck wants exactly the descriptors that are on the mount.
func benchCheck(binary, mount string, want map[string][]string) error {
	out, err := exec.Command(binary, "holders", "-o", "json", mount).Output()
	if err != nil {
		return err
	}
	var answer struct{ Answers []report.MountHolders }
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
	}
	var found []string
	for _, m := range answer.Answers[0].Mounts {
		for _, h := range m.Holders {
			found = append(found, fmt.Sprintf("%d %d", h.PID, h.FD))
		}
	}
	slices.Sort(found)
	expected := slices.Sorted(slices.Values(want[mount]))
	if len(expected) == 0 || !slices.Equal(found, expected) {
		return fmt.Errorf("holders of %s: %d found, want %d: %v, want %v", mount, len(found), len(expected), found, expected)
	}
	fmt.Printf("%d processes with %d descriptors, %d mounts, %d other mount namespaces; %d descriptors on %s\n",
		benchProcesses, benchProcesses*(benchFiles+benchOthers+3), benchMounts, benchNamespaces, len(found), mount)
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
		if _, err := strconv.Atoi(e.Name()); err != nil {
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
