package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const (
	podUID       = "5c948341-1b2c-4d3e-8f90-a1b2c3d4e5f6"
	containerID  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	kernelThread = 0x00200000 // PF_KTHREAD
)

func TestCollectProcesses(t *testing.T) {
	tr := machineFiles()
	tr.add(300, 300, tree{
		"stat": stat(300, "a) (b c", "S", 0x400000, 1, 250), "status": counts, "wchan": "do_epoll_wait",
		"cmdline": "/bin/kubelet\x00--root-dir\x00/var/lib/kubelet\x00", "ns/mnt": "-> mnt:[4026531840]",
		"cgroup": "0::/kubepods/burstable/pod" + podUID + "/" + containerID + "\n",
	})
	tr.add(40, 40, tree{"stat": stat(40, "kworker/u8:1-events", "I", kernelThread, 1, 0), "cmdline": "not read"})
	tr.add(41, 41, tree{"stat": stat(41, "gone", "Z", 0, 1, 9), "status": counts, "cmdline": ""})
	tr.add(42, 42, tree{ // wrote its title over its arguments
		"stat": stat(42, "nginx", "S", 0, 1, 9), "status": counts, "wchan": "ep_poll",
		"cmdline": "nginx: worker process\x00\x00\x00\x00", "ns/mnt": "-> something else",
	})
	tr["43/comm"] = "ended while its files were read"
	tr["44/stat"] = "44 (no status left) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0"
	fsys, _ := tr.open(t)
	snap := collect(t, fsys, Options{})
	boot := time.Unix(1763622000, 0).UTC()
	want := Snapshot{
		Threads: []procs.Thread{}, BootTime: boot, Problems: []error{},
		Processes: []procs.Process{
			{PID: 40, PPID: 1, Started: boot, Comm: "kworker/u8:1-events", State: "I", Threads: 1, Command: []string{}, Kernel: true},
			{PID: 41, PPID: 1, StartTicks: 9, Started: boot.Add(90 * time.Millisecond), Comm: "gone", State: "Z", UID: 7, Threads: 1, Command: []string{}},
			{
				PID: 42, PPID: 1, StartTicks: 9, Started: boot.Add(90 * time.Millisecond), Comm: "nginx", State: "S", UID: 7, Threads: 1,
				Command: []string{"nginx: worker process"},
			},
			{
				PID: 300, PPID: 1, StartTicks: 250, Started: boot.Add(2500 * time.Millisecond), Comm: "a) (b c", State: "S", UID: 7, Threads: 1,
				Command: []string{"/bin/kubelet", "--root-dir", "/var/lib/kubelet"}, MountNS: 4026531840,
				Cgroup: "/kubepods/burstable/pod" + podUID + "/" + containerID, PodUID: podUID, ContainerID: containerID,
			},
		},
	}
	if diff := cmp.Diff(want, snap); diff != "" {
		t.Errorf("Collect (-want +got):\n%s", diff)
	}
}

// TestCollectSelects says which threads are taken, by state, wchan and stack.
func TestCollectSelects(t *testing.T) {
	for name, tc := range map[string]struct {
		files tree
		flags uint64
		want  procs.WaitKind
		fn    string
	}{
		"FUSE in state S":             {tree{"wchan": "request_wait_answer", "stack": fuseStack}, 0, procs.WaitFUSE, "request_wait_answer"},
		"FUSE after a signal":         {tree{"state": "D", "wchan": "request_wait_answer", "stack": fuseStack}, 0, procs.WaitFUSE, "request_wait_answer"},
		"wchan withheld":              {tree{"wchan": "0", "stack": fuseStack}, 0, procs.WaitFUSE, "request_wait_answer"},
		"stack withheld":              {tree{"wchan": "request_wait_answer"}, 0, procs.WaitFUSE, "request_wait_answer"},
		"no wchan at all":             {tree{"stack": fuseStack}, 0, procs.WaitFUSE, "request_wait_answer"},
		"lock of a file, by its call": {tree{"wchan": "request_wait_answer", "syscall": call(t, "flock", 3, unix.LOCK_EX)}, 0, procs.WaitFileLock, "request_wait_answer"},
		"lock of a range, waits":      {tree{"wchan": "request_wait_answer", "syscall": call(t, "fcntl", 3, unix.F_SETLKW)}, 0, procs.WaitFileLock, "request_wait_answer"},
		"lock of a range, waits, OFD": {tree{"wchan": "request_wait_answer", "syscall": call(t, "fcntl", 3, unix.F_OFD_SETLKW)}, 0, procs.WaitFileLock, "request_wait_answer"},
		"lock of a range, at once":    {tree{"wchan": "request_wait_answer", "syscall": call(t, "fcntl", 3, unix.F_SETLK)}, 0, procs.WaitFUSE, "request_wait_answer"},
		"lock of a file, at once":     {tree{"wchan": "request_wait_answer", "syscall": call(t, "flock", 3, unix.LOCK_EX|unix.LOCK_NB)}, 0, procs.WaitFUSE, "request_wait_answer"},
		"unlocking a file":            {tree{"wchan": "request_wait_answer", "syscall": call(t, "flock", 3, unix.LOCK_UN)}, 0, procs.WaitFUSE, "request_wait_answer"},
		"another call":                {tree{"wchan": "request_wait_answer", "syscall": call(t, "read", 3, unix.F_SETLKW)}, 0, procs.WaitFUSE, "request_wait_answer"},
		"wchan is only the lock":      {tree{"wchan": "walk_component", "stack": "[<0>] walk_component+0x1/0x2\n"}, 0, procs.WaitFSLock, "walk_component"},
		"unknown in state D":          {tree{"state": "D", "wchan": "made_up", "stack": "[<0>] made_up_inner+0x1/0x2\n[<0>] made_up+0x1/0x2\n"}, 0, procs.WaitOtherDisk, "made_up_inner"},
		"unknown, only wchan":         {tree{"state": "D", "wchan": "made_up"}, 0, procs.WaitOtherDisk, "made_up"},
		"unknown, nothing known":      {tree{"state": "D", "wchan": "0"}, 0, procs.WaitOtherDisk, ""},
		"unknown in state S":          {tree{"wchan": "made_up", "stack": "[<0>] made_up+0x1/0x2\n"}, 0, procs.WaitUnknown, ""},
		"idle":                        {tree{"wchan": "futex_do_wait", "stack": idleStack}, 0, procs.WaitUnknown, ""},
		"idle by its suffix":          {tree{"wchan": "poll_schedule_timeout.constprop.0", "stack": fuseStack}, 0, procs.WaitUnknown, ""},
		"runs":                        {tree{"state": "R", "wchan": "0", "stack": fuseStack}, 0, procs.WaitUnknown, ""},
		"stopped":                     {tree{"state": "T", "wchan": "do_signal_stop"}, 0, procs.WaitUnknown, ""},
		"kernel thread writes":        {tree{"state": "D", "wchan": "__wait_on_buffer", "stack": "[<0>] __wait_on_buffer+0x1/0x2\n[<0>] jbd2_journal_commit_transaction+0x1/0x2\n"}, kernelThread, procs.WaitBlock, "__wait_on_buffer"},
		"kernel thread without work":  {tree{"wchan": "xfsaild"}, kernelThread, procs.WaitUnknown, ""},
		"kernel thread idle":          {tree{"state": "I", "wchan": "rescuer_thread"}, kernelThread, procs.WaitUnknown, ""},
		"lock of the network":         {tree{"state": "D", "wchan": "rtnl_lock", "stack": "[<0>] rtnl_lock+0x1/0x2\n"}, 0, procs.WaitOtherDisk, "rtnl_lock"},
		"lock of the network, S":      {tree{"wchan": "rtnl_lock", "stack": "[<0>] rtnl_lock+0x1/0x2\n"}, 0, procs.WaitUnknown, ""},
		"end of a PID namespace":      {tree{"wchan": "do_wait", "stack": "[<0>] do_wait+0x1/0x2\n[<0>] zap_pid_ns_processes+0x1/0x2\n"}, flagExiting, procs.WaitExit, "zap_pid_ns_processes"},
		"waits for children, as ever": {tree{"wchan": "do_wait", "stack": "[<0>] do_wait+0x1/0x2\n[<0>] kernel_wait4+0x1/0x2\n"}, 0, procs.WaitUnknown, ""},
	} {
		for _, threads := range []int{1, 3} {
			if tc.flags == kernelThread && threads > 1 {
				continue // a kernel thread is a process of its own
			}
			t.Run(fmt.Sprintf("%s, %d threads", name, threads), func(t *testing.T) {
				files := maps.Clone(tc.files)
				state := files["state"]
				if delete(files, "state"); state == "" {
					state = "S"
				}
				files["stat"], files["status"] = stat(50, "x", state, tc.flags, threads, 5), counts
				tr := machineFiles().add(50, 50, files)
				for tid := 51; tid < 50+threads; tid++ {
					tr.add(50, tid, tree{"stat": stat(tid, "idle", "S", tc.flags, threads, 5), "wchan": "futex_do_wait", "stack": idleStack})
				}
				fsys, _ := tr.open(t)
				var kind procs.WaitKind
				var fn string
				for _, thread := range collect(t, fsys, Options{}).Threads {
					if thread.TID != 50 {
						t.Errorf("thread %d selected: %+v", thread.TID, thread.Wait)
					}
					kind, fn = thread.Wait.Kind, thread.Wait.Function
				}
				if kind != tc.want || fn != tc.fn {
					t.Errorf("wait = %q in %q; want %q in %q", kind, fn, tc.want, tc.fn)
				}
				for _, thread := range collect(t, fsys, Options{Self: []int{50}}).Threads {
					t.Errorf("thread of our own selected: %+v", thread)
				}
			})
		}
	}
}

// TestCollectZombieLeader reads a process that was killed while one of its threads cannot die. Its own files are empty.
func TestCollectZombieLeader(t *testing.T) {
	tr := machineFiles().add(60, 60, tree{"stat": stat(60, "kubelet", "Z", 0, 2, 5), "status": counts, "wchan": "0", "cmdline": ""})
	files := hung(61, "running")
	files["cmdline"], files["cgroup"] = "kubelet\x00-v\x00", "0::/kubelet.service\n"
	tr.add(60, 61, files)
	fsys, _ := tr.open(t)
	snap := collect(t, fsys, Options{})
	if len(snap.Threads) != 1 || snap.Threads[0].TID != 61 || snap.Threads[0].PID != 60 {
		t.Errorf("threads = %+v; want 60/61", snap.Threads)
	}
	p := snap.Processes[0]
	if diff := cmp.Diff([]string{"kubelet", "-v"}, p.Command); diff != "" || p.Cgroup != "/kubelet.service" || p.MountNS != 4026531840 {
		t.Errorf("process = %+v", p)
	}
}

// TestCollectJournal reads kernel threads that write the journal of a file system; the names are those of Linux 6.1.
func TestCollectJournal(t *testing.T) {
	tr := machineFiles()
	tr["../sys/class/block/dm-1/dev"], tr["../sys/class/block/loop0/dev"], tr["../sys/dev"] = "253:1\n", "7:0\n", "1:1\n"
	want := map[int]string{}
	for id, named := range []struct{ comm, device string }{
		{"jbd2/dm-1-8", "253:1"}, {"jbd2/loop0-8", "7:0"}, {"xfsaild/dm-1", "253:1"}, {"jbd2/sdz-8", ""}, {"jbd2/..-8", ""}, {"xfsaild/../..", ""},
	} {
		id += 30
		want[id] = named.device
		tr.add(id, id, tree{
			"stat": stat(id, named.comm, "D", kernelThread, 1, 5), "status": counts, "wchan": "jbd2_journal_commit_transaction",
			"stack": "[<0>] jbd2_journal_commit_transaction+0x119d/0x1a50 [jbd2]\n[<0>] kjournald2+0xa9/0x280 [jbd2]\n",
		})
	}
	fsys, _ := tr.open(t)
	got := map[int]string{}
	for _, thread := range collect(t, fsys, Options{}).Threads {
		got[thread.TID] = thread.Device
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

// TestCollectFlusher reads a kernel thread that writes a file system back.
func TestCollectFlusher(t *testing.T) {
	tr := machineFiles()
	for id, comm := range map[int]string{30: "kworker/u8:1+flush-0:45", 31: "kworker/u8:2-events", 32: "kworker/u8:3-flush-8:0"} {
		tr.add(id, id, tree{
			"stat": stat(id, comm, "D", kernelThread, 1, 5), "status": counts, "wchan": "folio_wait_bit_common",
			"syscall": call(t, "read", 3), "stack": "[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] nfs_writepages+0x1/0x2 [nfs]\n",
		})
	}
	fsys, _ := tr.open(t)
	want := map[int]string{30: "0:45", 31: "", 32: ""}
	got := map[int]string{}
	for _, thread := range collect(t, fsys, Options{}).Threads {
		got[thread.TID] = thread.Device
		if thread.Wait.Kind != procs.WaitServer || thread.Syscall != nil {
			t.Errorf("thread = %+v; want one that waits for NFS, in no system call", thread)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

// TestCollectPaths says what a thread waits on, by the arguments of its system call.
func TestCollectPaths(t *testing.T) {
	const pointer, second = 0x1000, 0x1800
	mem := strings.Repeat("\x00", pointer) + "%s"
	for name, tc := range map[string]struct {
		call        string
		args        []uint64
		text, text2 string
		root        string
		path, from  string
		mountID     int
		device      string
	}{
		"absolute":                  {"newfstatat", []uint64{cwdFD, pointer}, "/vol/f", "", "/", "/vol/f", "argument", 5, "0:46"},
		"relative":                  {"newfstatat", []uint64{cwdFD, pointer}, "f/./g", "", "/", "/vol/dir/f/g", "argument", 5, "0:46"},
		"the working directory":     {"newfstatat", []uint64{cwdFD, pointer}, ".", "", "/", "/vol/dir", "argument", 5, "0:46"},
		"relative to a descriptor":  {"openat", []uint64{3, pointer}, "f", "", "/", "/vol/fd3/f", "argument", 5, "0:46"},
		"descriptor, path empty":    {"statx", []uint64{3, pointer}, "", "", "/", "/vol/fd3", "descriptor", 77, ""},
		"descriptor, path null":     {"statx", []uint64{3, 0}, "", "", "/", "/vol/fd3", "descriptor", 77, ""},
		"descriptor":                {"read", []uint64{4, pointer}, "", "", "/", "/etc/fd4 (deleted)", "descriptor", 5, "0:46"},
		"descriptor of a socket":    {"read", []uint64{5}, "", "", "/", "", "", 0, ""},
		"descriptor that is closed": {"close", []uint64{9}, "", "", "/", "", "", 0, ""},
		"base is deleted":           {"openat", []uint64{4, pointer}, "f", "", "/", "/etc/fd4/f", "argument", 0, ""},
		"base is a socket":          {"openat", []uint64{5, pointer}, "f", "", "/", "", "", 0, ""},
		"two paths":                 {"renameat2", []uint64{cwdFD, pointer, cwdFD, second}, "/etc/a", "/vol/b", "/", "/vol/b", "argument", 5, "0:46"},
		"mount reads its target":    {"mount", []uint64{second, pointer}, "/etc/a", "/vol/b", "/", "/vol/b", "argument", 5, "0:46"},
		"mount from a server":       {"mount", []uint64{second, pointer}, "/etc/a", "10.0.0.5:/x", "/", "/etc/a", "argument", 0, ""},
		"chrooted, absolute":        {"newfstatat", []uint64{cwdFD, pointer}, "/f", "", "/vol", "/f", "argument", 5, "0:46"},
		"chrooted, relative":        {"newfstatat", []uint64{cwdFD, pointer}, "f", "", "/vol", "/dir/f", "argument", 5, "0:46"},
		"chrooted, outside":         {"read", []uint64{4}, "", "", "/vol", "/etc/fd4 (deleted)", "descriptor", 5, "0:46"},
		"memory unreadable":         {"newfstatat", []uint64{cwdFD, 0x70000000}, "", "", "/", "", "", 0, ""},
		"no path":                   {"futex", []uint64{pointer}, "/vol", "", "/", "", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := hung(70, call(t, tc.call, tc.args...))
			maps.Copy(files, tree{
				"root": "-> " + tc.root, "cwd": "-> /vol/dir",
				"fd/3": "-> /vol/fd3", "fdinfo/3": "pos:\t0\nflags:\t02\nmnt_id:\t77\n",
				"fd/4": "-> /etc/fd4 (deleted)", "fdinfo/4": "pos:\t0\nmnt_id:\t5\nino:\t3\n",
				"fd/5": "-> socket:[123]", "fdinfo/5": "mnt_id:\t10\n",
			})
			tr := machineFiles().add(70, 70, files)
			for pid := range 2 { // the second has not been chrooted
				tr.add(1+pid, 1+pid, tree{
					"stat": stat(1+pid, "init", "S", 0, 1, 3), "status": counts, "wchan": "ep_poll", "ns/mnt": "-> mnt:[4026531840]",
				})
			}
			tr["1/root"], tr["2/root"] = "-> /vol", "-> /"
			text := []byte(fmt.Sprintf(mem, tc.text) + strings.Repeat("\x00", 0x2000))
			copy(text[second:], tc.text2)
			tr["70/task/70/mem"] = string(text)
			fsys, _ := tr.open(t)
			table := mounts.Table{Mounts: []mounts.Mount{
				{ID: 1, Device: "254:0", MountPoint: "/", FSType: "ext4", Class: mounts.ClassBlock},
				{ID: 5, ParentID: 1, Device: "0:46", MountPoint: "/vol", FSType: "fuse.x", Class: mounts.ClassFUSE},
			}}
			reads := 0
			snap := collect(t, fsys, Options{Table: func(tid int, ns uint64) *mounts.Index {
				want := 70
				if tc.root != "/" {
					want = 2
				}
				if reads++; tid != want || ns != 4026531840 {
					t.Errorf("Table(%d, %d); want %d", tid, ns, want)
				}
				return table.Index()
			}})
			if len(snap.Threads) != 1 {
				t.Fatalf("%d threads; problems %v", len(snap.Threads), snap.Problems)
			}
			got := snap.Threads[0]
			if got.Syscall == nil || got.Syscall.Name != tc.call {
				t.Errorf("Syscall = %+v; want %s", got.Syscall, tc.call)
			}
			if got.Path != tc.path || got.PathFrom != tc.from || got.MountID != tc.mountID || got.Device != tc.device {
				t.Errorf("path %q (%s) on mount %d %q; want %q (%s) on %d %q", got.Path, got.PathFrom, got.MountID, got.Device,
					tc.path, tc.from, tc.mountID, tc.device)
			}
			if got.MountNS != 4026531840 || got.Switches != 42 || got.UptimeSeconds != 1000.5 || reads > 1 {
				t.Errorf("namespace %d, switches %d, read at %v, table asked %d times", got.MountNS, got.Switches, got.UptimeSeconds, reads)
			}
			if got.WaitSeconds != nil {
				t.Errorf("wait of %v s from the clock of another machine", *got.WaitSeconds)
			}
		})
	}
}

func TestCollectLimits(t *testing.T) {
	tr := machineFiles()
	for pid := 10; pid < 14; pid++ {
		tr.add(pid, pid, hung(pid, "running"))
	}
	tr.add(10, 11, tree{})
	fsys, _ := tr.open(t)
	snap := collect(t, fsys, Options{Limits: Limits{Processes: 3, Threads: 2}})
	if len(snap.Processes) != 3 || snap.Processes[2].PID != 12 || len(snap.Threads) != 2 {
		t.Errorf("%d processes, %d threads; want 3 and 2", len(snap.Processes), len(snap.Threads))
	}
	if len(snap.Problems) != 2 {
		t.Errorf("problems = %v; want one for each limit", snap.Problems)
	}
	for _, err := range snap.Problems {
		if !errors.Is(err, nodefs.ErrTruncated) {
			t.Errorf("problem %v does not wrap ErrTruncated", err)
		}
	}
}

// TestCollectAfterLosses does not ask a process with a waiting thread for its command line when many others have not
// answered; one without is still asked.
func TestCollectAfterLosses(t *testing.T) {
	files := hung(20, "running")
	files["cmdline"], files["cgroup"] = "a\x00", "0::/x\n"
	tr := machineFiles().add(20, 20, files)
	tr.add(21, 21, tree{"stat": stat(21, "b", "S", 0, 1, 5), "status": counts, "wchan": "ep_poll", "cmdline": "b\x00"})
	fsys, _ := tr.open(t)
	snap := collect(t, fsys, Options{Limits: Limits{Lost: -1}})
	first, second := snap.Processes[0], snap.Processes[1]
	if len(first.Command) != 0 || first.CommandError == "" || first.Cgroup != "/x" {
		t.Errorf("process with a waiting thread = %+v", first)
	}
	if diff := cmp.Diff([]string{"b"}, second.Command); diff != "" || second.CommandError != "" {
		t.Errorf("process without: %s %s", diff, second.CommandError)
	}
}

func TestCollectCut(t *testing.T) {
	tr := machineFiles().add(20, 20, tree{
		"stat": stat(20, "x", "S", 0, 1, 5), "status": counts, "wchan": "ep_poll", "cmdline": strings.Repeat("x", limitCommand+1),
	})
	fsys, _ := tr.open(t)
	p := collect(t, fsys, Options{}).Processes[0]
	if len(p.Command) != 1 || len(p.Command[0]) != limitCommand || !strings.Contains(p.CommandError, nodefs.ErrTruncated.Error()) {
		t.Errorf("%d words, error %q; want %d bytes and that they were cut", len(p.Command), p.CommandError, limitCommand)
	}
}

func TestCollectCancelled(t *testing.T) {
	fsys, _ := machineFiles().add(20, 20, tree{"stat": stat(20, "x", "S", 0, 1, 5)}).open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	snap, err := Collect(ctx, fsys, Options{})
	if err != nil || len(snap.Processes) != 0 || len(snap.Problems) != 1 || !errors.Is(snap.Problems[0], context.Canceled) {
		t.Errorf("Collect = %+v, %v; want one problem, that ctx ended", snap, err)
	}
	before := []procs.Thread{{PID: 20, TID: 20}}
	if after := Resample(ctx, fsys, before, Options{}); len(after) != 1 || after[0].Gone || after[0].Same {
		t.Errorf("Resample = %+v; want nothing said", after)
	}
}

func TestCollectProblems(t *testing.T) {
	tr := tree{
		"10/stat": "garbage", "11/stat": "garbage", "uptime": "x",
	}
	fsys, _ := tr.open(t)
	snap := collect(t, fsys, Options{})
	if len(snap.Processes) != 0 || !snap.BootTime.IsZero() || len(snap.Problems) != 3 {
		t.Errorf("processes %v, boot %v, problems %v", snap.Processes, snap.BootTime, snap.Problems)
	}

	fsys, _ = tree{"../etc/hostname": "dead"}.open(t)
	if snap, err := Collect(t.Context(), fsys, Options{}); !errors.Is(err, fs.ErrNotExist) || snap.Processes == nil || snap.Threads == nil {
		t.Errorf("Collect without /proc = %+v, %v; want fs.ErrNotExist and empty lists", snap, err)
	}
}

func TestResample(t *testing.T) {
	first := call(t, "newfstatat", cwdFD, 0x1000)
	for name, tc := range map[string]struct {
		then      tree
		same      bool
		gone      bool
		remaining time.Duration
	}{
		"nothing happened":    {tree{}, true, false, 30 * time.Second},
		"ran, same call":      {tree{"status": "voluntary_ctxt_switches:\t43\n"}, false, false, 0},
		"another call":        {tree{"status": "voluntary_ctxt_switches:\t43\n", "syscall": call(t, "newfstatat", cwdFD, 0x2000)}, false, true, 0},
		"out of the kernel":   {tree{"status": "voluntary_ctxt_switches:\t43\n", "syscall": "running"}, false, true, 0},
		"idle":                {tree{"status": "voluntary_ctxt_switches:\t43\n", "wchan": "futex_do_wait"}, false, true, 0},
		"runs":                {tree{"stat": stat(80, "kubelet", "R", 0, 1, 700)}, false, true, 0},
		"another thread":      {tree{"stat": stat(80, "kubelet", "S", 0, 1, 701)}, false, true, 0},
		"counts withheld":     {tree{"status": "Uid:\t1\t1\t1\t1\n"}, false, false, 0},
		"call cannot be read": {tree{"status": "", "syscall": "-> nowhere"}, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr := machineFiles().add(80, 80, hung(80, first))
			fsys, root := tr.open(t)
			before := collect(t, fsys, Options{}).Threads
			if len(before) != 1 {
				t.Fatalf("%d threads", len(before))
			}
			for file := range tc.then {
				for _, dir := range []string{"80", "80/task/80"} {
					if err := os.Remove(filepath.Join(root, "proc", dir, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			tree{}.add(80, 80, tc.then).write(t, root)
			tree{"uptime": "1030.50 2.00\n"}.write(t, root)
			kept := before[0]
			after := Resample(t.Context(), fsys, before, Options{})
			if diff := cmp.Diff(kept, before[0]); diff != "" {
				t.Errorf("Resample changed its argument:\n%s", diff)
			}
			want := kept
			want.Same, want.Gone = tc.same, tc.gone
			if tc.same {
				seconds := tc.remaining.Seconds()
				want.SampledSeconds, want.WaitSeconds, want.WaitFrom = seconds, &seconds, "samples"
			}
			if diff := cmp.Diff([]procs.Thread{want}, after); diff != "" {
				t.Errorf("Resample (-want +got):\n%s", diff)
			}
			if tc.same {
				tree{"uptime": "1045.50 2.00\n"}.write(t, root)
				if third := Resample(t.Context(), fsys, after, Options{})[0]; third.SampledSeconds != 45 || *third.WaitSeconds != 45 {
					t.Errorf("third reading: %v s sampled, %v s waited; want 45", third.SampledSeconds, *third.WaitSeconds)
				}
			}
		})
	}
}

func TestResampleEnded(t *testing.T) {
	tr := machineFiles().add(81, 81, hung(81, "running"))
	tr.add(82, 82, tree{"stat": stat(82, "x", "S", 0, 2, 5), "status": counts, "wchan": "futex_do_wait"})
	tr.add(82, 83, hung(83, "running"))
	fsys, root := tr.open(t)
	before := collect(t, fsys, Options{}).Threads
	for _, dir := range []string{"proc/81", "proc/82/task/83"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	after := Resample(t.Context(), fsys, before, Options{})
	if len(after) != 2 || !after[0].Gone || !after[1].Gone {
		t.Errorf("after the end: %+v; want both gone", after)
	}
}
