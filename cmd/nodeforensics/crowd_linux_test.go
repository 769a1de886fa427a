package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// What a pod can have very many of: files in the memory of a process (vm.max_map_count is 65,530), mounts in a namespace
// (fs.mount-max is 100,000).
const (
	crowdMaps   = "maps"
	crowdMounts = "mounts"
)

// crowd starts two processes that have as many as they can, with long names. The maps are of files on the volume of a pod;
// those with mounts have a namespace each, and keep a volume there that is then unmounted here.
func crowd(of string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		volume := crowdVolume(t, root)
		for range 2 {
			cmd := exec.Command(os.Args[0], of, volume)
			if of == crowdMounts {
				cmd = exec.Command(os.Args[0], of, t.TempDir())
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			}
			cmd.Env, cmd.Stderr = append(os.Environ(), nodeEnv+"="+nodeCrowd), os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { // its end may take long, and that of the node takes it along
				_ = cmd.Process.Kill()
				_ = in.Close()
			})
			if n, err := out.Read(make([]byte, 1)); n != 1 {
				t.Fatalf("the process that makes %s: %v", of, err)
			}
		}
		if of == crowdMaps {
			return
		}
		if err := unix.Unmount(volume, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// crowdVolume mounts the volume of a new pod.
func crowdVolume(t *testing.T, root string) string {
	t.Helper()
	dir := volume{plugin: "kubernetes.io~empty-dir", name: "crowd"}.path(root, testfuse.NewUID())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	inMemory(t, dir)
	return dir
}

// crowdFound wants both processes as users of the volume, or both copies of it.
func crowdFound(t *testing.T, r report.Report) {
	t.Helper()
	found := map[any]bool{}
	for _, h := range r.Evidence.MountUse.Holders {
		if h.Kind == holders.HoldMap && h.MountID != 0 {
			found[h.PID] = true
		}
	}
	for _, l := range forensics.NewModel(&r.Evidence).Uses().Leaked() {
		if l.On != "" {
			found[l.Namespace] = true
		}
	}
	if len(found) != 2 {
		t.Errorf("found %v, want two: %s", found, titles(r))
	}
}

func crowdMain(args []string) int {
	runtime.LockOSThread()
	make := map[string]func(dir string) error{crowdMaps: makeMaps, crowdMounts: makeMounts}[args[0]]
	if err := make(args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		return 1
	}
	fmt.Print(".")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// longNames changes into a directory with a path of some length.
func longNames(dir string, length int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	for n := len(dir); n < length; n += 201 {
		name := strings.Repeat("x", 200)
		if err := unix.Mkdir(name, 0o755); err != nil {
			return err
		}
		if err := unix.Chdir(name); err != nil {
			return err
		}
	}
	return nil
}

// makeMaps maps half of the files once, and one of them as often as all others.
func makeMaps(dir string) error {
	if err := longNames(filepath.Join(dir, fmt.Sprint(os.Getpid())), 3000); err != nil {
		return err
	}
	common, err := openMapped("common")
	if err != nil {
		return err
	}
	for i := range 32_000 {
		fd, err := openMapped(fmt.Sprintf("file-%d", i))
		if err != nil {
			return err
		}
		for _, fd := range []int{common, fd} { // in turns: neighbours of one file would become one map
			if _, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED); err != nil {
				return err
			}
		}
		_ = unix.Close(fd)
	}
	return errors.Join(unix.Close(common), os.Chdir("/")) // only the maps are to be found
}

func openMapped(name string) (int, error) {
	return unix.Open(name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
}

// makeMounts mounts one directory on many.
func makeMounts(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("crowd", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := longNames(dir, 3000); err != nil {
		return err
	}
	for i := range 1000 {
		name := fmt.Sprintf("0/mount-%d", i)
		if err := os.MkdirAll(name, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(name, name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %d: %w", i, err)
		}
	}
	for i := 1; i < 99; i++ { // each with all that is mounted in it
		name := fmt.Sprint(i)
		if err := unix.Mkdir(name, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("0", name, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounts %d: %w", i, err)
		}
	}
	return nil
}

// inMemory mounts a file system in memory on a directory of the node, which is gone at once when the node is.
func inMemory(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("crowd", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// podDirectories makes directories of pods.
func podDirectories(count int) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		inMemory(t, filepath.Join(root, "pods"))
		for i := range count {
			dir := filepath.Join(root, "pods", fmt.Sprintf("%08x-6ffa-4d31-9a2b-7e13c40f1f7e", i), "volumes")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}
