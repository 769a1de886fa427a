//go:build download

package testvm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Main has to be the first call of TestMain. In the first process of a machine it never returns.
func Main() {
	if os.Getenv(roleEnv) != roleInit {
		return
	}
	if err := runGuest(); err != nil {
		fmt.Println("testvm:", err)
	}
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // QEMU ends then; unmounting could block
}

// runGuest prepares the machine, runs the test and hands over what it has left.
func runGuest() error {
	var conf config
	text, err := os.ReadFile(guestConfig)
	if err == nil {
		err = json.Unmarshal(text, &conf)
	}
	if err := errors.Join(err, prepare(conf)); err != nil {
		return err
	}
	if err := runTest(conf.Args); err != nil {
		return err
	}
	return handOver()
}

func prepare(conf config) error {
	for _, fs := range [][2]string{
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"tmpfs", "/tmp"},
		{"tmpfs", "/run"},
		{"cgroup2", "/sys/fs/cgroup"},
		{"debugfs", "/sys/kernel/debug"},
	} {
		if err := errors.Join(os.MkdirAll(fs[1], 0o755), unix.Mount(fs[0], fs[1], fs[0], 0, "")); err != nil {
			return fmt.Errorf("%s: %w", fs[1], err)
		}
	}
	for _, module := range conf.Modules {
		if err := loadModule(module[0], module[1]); err != nil {
			return fmt.Errorf("%s: %w", module[0], err)
		}
	}
	return errors.Join(
		os.MkdirAll(guestOut, 0o755),
		os.MkdirAll("/etc", 0o755),
		os.WriteFile("/etc/passwd", []byte("root:x:0:0::/:/bin/sh\n_rpc:x:100:65534::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"), 0o644),
		os.WriteFile("/etc/group", []byte("root:x:0:\nnogroup:x:65534:\n"), 0o644),
		os.WriteFile("/etc/hosts", []byte("127.0.0.1 localhost testvm\n"), 0o644),
		os.Symlink("/proc/self/mounts", "/etc/mtab"),
		unix.Sethostname([]byte("testvm")),
		setUp("lo"),
	)
}

func loadModule(path, params string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.FinitModule(int(file.Fd()), params, 0)
}

func setUp(device string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// runTest waits for the test, and for every process that loses its parent meanwhile.
func runTest(args []string) error {
	pid, err := syscall.ForkExec(guestTest, append([]string{guestTest}, args...), &syscall.ProcAttr{
		Dir:   guestDir,
		Env:   []string{roleEnv + "=" + roleTest, "HOME=/", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []uintptr{0, 1, 2},
	})
	for err == nil || errors.Is(err, unix.EINTR) {
		var ended int
		if ended, err = unix.Wait4(-1, nil, 0, nil); ended == pid {
			return nil // its last line says how it ended
		}
	}
	return err
}

// guestPort is the second serial port.
func guestPort() string {
	if runtime.GOARCH == "arm64" { // the first one is /dev/ttyAMA0
		return "/dev/ttyS0"
	}
	return "/dev/ttyS1"
}

// handOver writes to the second serial port, which has to be told that this is no text.
func handOver() error {
	port, err := os.OpenFile(guestPort(), os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	fd := int(port.Fd())
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	mode.Oflag &^= unix.OPOST
	mode.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, mode); err != nil {
		return err
	}
	if err := pack(port, guestOut); err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TCSBRK, 1) // until all is sent
}
