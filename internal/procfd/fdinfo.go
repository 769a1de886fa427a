// Package procfd reads what /proc shows of the files that a process has open: fdinfo of descriptors, maps, io_urings.
package procfd

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// Number returns the decimal number behind a key ("mnt_id:") in /proc/PID/fdinfo/N, 0 if there is none.
func Number(text []byte, key string) uint64 {
	n, err := strconv.ParseUint(string(fdinfoValue(text, key)), 10, 31)
	if err != nil {
		return 0
	}
	return n
}

// fdinfoValue returns what stands behind a key, nil if there is none.
func fdinfoValue(text []byte, key string) []byte {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		if value, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return bytes.TrimSpace(value)
		}
		text = rest
	}
	return nil
}

// MaybeKernelMount says whether a descriptor can be one of a file on a mount that the kernel has made for itself, in no table. It
// takes the path of the link and the text of fdinfo.
func MaybeKernelMount(path string, info []byte) bool {
	return maybeQueue(path, info) || path == nullOfSELinux
}

// nullOfSELinux is what SELinux puts in the place of a descriptor that a program may not have after execve(2): a device of
// its own, on its own mount of selinuxfs (flush_unauthorized_files in security/selinux/hooks.c).
const nullOfSELinux = "/null"

// maybeQueue says whether a descriptor can be one of a POSIX message queue. Each IPC namespace has a file system of them
// that the kernel mounts for itself, in no table (mq_init_ns in ipc/mqueue.c), also where another mount of it is at
// /dev/mqueue. A queue has a name without a directory, and mq_open(3) alone leaves out O_LARGEFILE, which a 64-bit kernel
// sets for every file that a program opens otherwise (force_o_largefile in include/linux/fcntl.h); O_PATH takes it off.
func maybeQueue(path string, info []byte) bool {
	const pathOnly = 0o10000000
	largeFile := largeFileFlag(runtime.GOARCH)
	flags, err := strconv.ParseUint(string(fdinfoValue(info, "flags:")), 8, 32) // as of open(2)
	return err == nil && largeFile != 0 && flags&(largeFile|pathOnly) == 0 && path != "/" && strings.LastIndexByte(path, '/') == 0
}

// largeFileFlag is O_LARGEFILE as the kernels of 64-bit machines show it, 0 where that is not known.
func largeFileFlag(arch string) uint64 {
	switch arch {
	case "amd64", "riscv64", "s390x", "loong64":
		return 0o100000
	case "arm64":
		return 0o400000
	case "ppc64", "ppc64le":
		return 0o200000
	}
	return 0
}

// ParseMark reads which superblock, as "8:19", or else which mount a line of the fdinfo of inotify or fanotify watches; it is
// false for other lines. All numbers but wd are hexadecimal (fs/notify/fdinfo.c, Linux 3.8):
//
//	inotify wd:1 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:7e9e0000640d1b6d
//	fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000 fhandle-bytes:8 fhandle-type:1 f_handle:69f90400
//	fanotify mnt_id:12 mflags:0 mask:3b ignored_mask:40000000
func ParseMark(line []byte) (device string, mountID int, ok bool) {
	if !bytes.HasPrefix(line, []byte("inotify ")) && !bytes.HasPrefix(line, []byte("fanotify ")) {
		return "", 0, false
	}
	for _, word := range bytes.Fields(line) {
		key, value, _ := bytes.Cut(word, []byte{':'})
		n, err := strconv.ParseUint(string(value), 16, 32)
		if err != nil {
			continue
		}
		switch string(key) {
		case "sdev": // as the kernel counts, MKDEV of include/linux/kdev_t.h
			return fmt.Sprintf("%d:%d", n>>20, n&0xfffff), 0, true
		case "mnt_id":
			return "", int(n), true
		}
	}
	return "", 0, false
}
