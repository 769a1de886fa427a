package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// A tree is a /proc made of files. A text that begins with "-> " is a symbolic link.
type tree map[string]string

// open writes the tree below a directory and opens that as a host.
func (tr tree) open(t *testing.T) (*hostfs.FS, string) {
	t.Helper()
	root := t.TempDir()
	tr.write(t, root)
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys, root
}

func (tr tree) write(t *testing.T, root string) {
	t.Helper()
	for name, text := range tr {
		name = filepath.Join(root, "proc", name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(err, os.Symlink(to, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// add adds a thread; leader also adds the process's own files.
func (tr tree) add(pid, tid int, files tree) tree {
	for name, text := range files {
		task := fmt.Sprintf("%d/task/%d/", pid, tid)
		tr[task+name] = text
		if pid == tid && name != "root" && name != "cwd" && !strings.HasPrefix(name, "fd") {
			tr[fmt.Sprintf("%d/%s", pid, name)] = text
		}
	}
	return tr
}

func stat(id int, comm, state string, flags uint64, threads int, start uint64) string {
	return fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 %d 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n",
		id, comm, state, flags, threads, start)
}

// call is the text of a syscall file for a call of this architecture.
func call(t *testing.T, name string, args ...uint64) string {
	t.Helper()
	for number := range 500 {
		if c, ok := procs.ParseSyscall(fmt.Sprint(number) + strings.Repeat(" 0x0", 6)); ok && c.Name == name {
			text := fmt.Sprint(number)
			for i := range 6 {
				arg := uint64(0)
				if i < len(args) {
					arg = args[i]
				}
				text += fmt.Sprintf(" %#x", arg)
			}
			return text + " 0x7ffe0895bbf8 0x499303\n"
		}
	}
	t.Skipf("no system call %s on %s", name, runtime.GOARCH)
	return ""
}

const (
	fuseStack = "[<0>] request_wait_answer+0x112/0x210\n[<0>] fuse_do_getattr+0xef/0x200\n"
	idleStack = "[<0>] futex_do_wait+0x1/0x2\n"
	cwdFD     = 0xffffff9c // AT_FDCWD as C passes it: the upper half of the register is not set
)

// hung is a thread that hangs in FUSE.
func hung(id int, syscall string) tree {
	return tree{
		"stat": stat(id, "kubelet", "S", 0x400000, 1, 700), "status": counts, "wchan": "request_wait_answer",
		"stack": fuseStack, "syscall": syscall, "root": "-> /", "ns/mnt": "-> mnt:[4026531840]",
	}
}

// machineFiles is a machine with no process.
func machineFiles() tree {
	return tree{
		"stat": "cpu 1 2 3\nintr 5 0 0\nbtime 1763622000\nprocesses 9\n", "uptime": "1000.50 1900.00\n", "meminfo": "",
		"self": "-> 1", "sys/kernel/pid_max": "4194304",
	}
}

func collect(t *testing.T, fsys *hostfs.FS, opt Options) Snapshot {
	t.Helper()
	snap, err := Collect(t.Context(), fsys, opt)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// counts is a status file with 42 context switches.
const counts = "Uid:\t5\t7\t5\t5\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"
