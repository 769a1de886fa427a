package live

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// machine opens the live machine and returns options that read its mount tables.
func machine(t testing.TB) (*hostfs.FS, Options) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: kernel stacks and the memory of other processes")
	}
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	tables := map[uint64]*mounts.Index{}
	group := &probe.Group{}
	return fsys, Options{Group: group, Table: func(tid int, ns uint64) *mounts.Index {
		if tables[ns] == nil {
			table, err := mountslive.Read(t.Context(), fsys, tid)
			if err != nil {
				t.Errorf("mount table of %d: %v", tid, err)
			}
			if table.Namespace != ns {
				t.Errorf("table read through %d is of namespace %d; want %d", tid, table.Namespace, ns)
			}
			tables[ns] = table.Index()
		}
		return tables[ns]
	}}
}

// await collects until the thread waits, and returns it.
func await(t testing.TB, fsys *hostfs.FS, opt Options, tid int) procs.Thread {
	t.Helper()
	var found procs.Thread
	testfuse.Await(t, fmt.Sprintf("thread %d to wait", tid), func() bool {
		snap, err := Collect(t.Context(), fsys, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range snap.Threads {
			if thread.TID == tid {
				found = thread
				return true
			}
		}
		return false
	})
	return found
}

// mountID is the id that a mount has in the table of a thread.
func mountID(t *testing.T, fsys *hostfs.FS, tid int, point string) int {
	t.Helper()
	table, err := mountslive.Read(t.Context(), fsys, tid)
	if err != nil {
		t.Fatal(err)
	}
	at := table.Index().At(point)
	if len(at) == 0 {
		t.Fatalf("nothing mounted at %s in the table of %d", point, tid)
	}
	return at[len(at)-1].ID
}

func TestThreadHangsInFUSE(t *testing.T) {
	type world struct{ base, real, vol string } // real is base/real, vol the mount point base/real/pods/vol
	for name, tc := range map[string]struct {
		job   func(w world) job
		path  func(w world) string
		point func(w world) string // where the mount is in the thread's table
		from  string
		call  string
	}{
		"absolute path": {
			job: func(w world) job { return job{Call: "stat", Path: w.vol + "/dir/f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"the mount point itself": {
			job: func(w world) job { return job{Call: "stat", Path: w.vol} }, call: "newfstatat",
			path: func(w world) string { return w.vol },
		},
		"relative to the working directory": {
			job: func(w world) job { return job{Call: "stat", Dir: w.vol + "/dir", Path: "f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"relative, from outside": {
			job: func(w world) job { return job{Call: "stat", Dir: w.real, Path: "pods/./vol//dir/f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"relative to a descriptor": {
			job: func(w world) job { return job{Call: "fstatat", Open: w.vol + "/dir", Path: "f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"a descriptor": {
			job: func(w world) job { return job{Call: "getdents", Open: w.vol + "/dir"} }, call: "getdents64",
			path: func(w world) string { return w.vol + "/dir" }, from: "descriptor",
		},
		"through a symbolic link": {
			job: func(w world) job { return job{Call: "stat", Path: w.base + "/link/pods/vol/dir/f"} }, call: "newfstatat",
			path: func(w world) string { return w.base + "/link/pods/vol/dir/f" },
		},
		"path across a page boundary": {
			job: func(w world) job { return job{Call: "across pages", Path: w.vol + "/dir/f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"path at the end of a mapping": {
			job: func(w world) job { return job{Call: "end of page", Path: w.vol + "/dir/f"} }, call: "newfstatat",
			path: func(w world) string { return w.vol + "/dir/f" },
		},
		"chrooted": {
			job: func(w world) job { return job{Call: "stat", Chroot: w.real, Dir: "/", Path: "/pods/vol/dir/f"} }, call: "newfstatat",
			path:  func(world) string { return "/pods/vol/dir/f" },
			point: func(world) string { return "/pods/vol" },
		},
		"chrooted, relative": {
			job: func(w world) job { return job{Call: "stat", Chroot: w.real, Dir: "/pods/vol/dir", Path: "f"} }, call: "newfstatat",
			path:  func(world) string { return "/pods/vol/dir/f" },
			point: func(world) string { return "/pods/vol" },
		},
		"mount namespace of the process": {
			job: func(w world) job {
				return job{Namespace: "process", From: w.vol, To: w.base + "/else", Call: "stat", Path: w.base + "/else/dir/f"}
			}, call: "newfstatat",
			path:  func(w world) string { return w.base + "/else/dir/f" },
			point: func(w world) string { return w.base + "/else" },
		},
		"mount namespace of the thread": {
			job: func(w world) job {
				return job{Namespace: "thread", From: w.vol, To: w.base + "/else", Call: "stat", Path: w.base + "/else/dir/f"}
			}, call: "newfstatat",
			path:  func(w world) string { return w.base + "/else/dir/f" },
			point: func(w world) string { return w.base + "/else" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			fsys, opt := machine(t)
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			w := world{base: base, real: base + "/real", vol: base + "/real/pods/vol"}
			for _, dir := range []string{w.vol, base + "/else"} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("real", base+"/link"); err != nil {
				t.Fatal(err)
			}
			server := testfuse.Mount(t, w.vol, testfuse.Options{Type: "fuse.ceph-fuse", Files: map[string]string{"dir/f": "text"}})
			j := tc.job(w)
			j.CPU = -1
			c := start(t, j)
			if tc.point == nil {
				tc.point = func(w world) string { return w.vol }
			}
			want := procs.Thread{
				PID: c.pid(), TID: c.tid, State: "S", WChan: "request_wait_answer", Path: tc.path(w), PathFrom: tc.from,
				MountID: mountID(t, fsys, c.tid, tc.point(w)), Device: server.Device(),
				Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"},
			}
			if want.PathFrom == "" {
				want.PathFrom = "argument"
			}
			server.Hang()
			c.call(t)
			got := await(t, fsys, opt, c.tid)
			if got.Syscall == nil || got.Syscall.Name != tc.call || len(got.Syscall.Args) != 6 {
				t.Errorf("Syscall = %+v; want %s", got.Syscall, tc.call)
			}
			if len(got.Stack) < 3 || !strings.Contains(got.Stack[0], "request_wait_answer") || got.Comm == "" || got.Switches == 0 {
				t.Errorf("stack %q, comm %q, switches %d", got.Stack, got.Comm, got.Switches)
			}
			if other := got.MountNS != ownNamespace(t, fsys); other != (j.Namespace != "") {
				t.Errorf("MountNS = %d; in another namespace: %t", got.MountNS, other)
			}
			got.Wait.Meaning = ""
			if got.State == "D" { // after a signal, as Go's runtime sends them (request_wait_answer in fs/fuse/dev.c)
				want.State = "D"
			}
			opts := cmp.FilterPath(func(p cmp.Path) bool {
				switch p.Last().String() {
				case ".Comm", ".StartTicks", ".Stack", ".Syscall", ".MountNS", ".WaitSeconds", ".WaitFrom", ".UptimeSeconds", ".Switches":
					return true
				}
				return false
			}, cmp.Ignore())
			if diff := cmp.Diff(want, got, opts); diff != "" {
				t.Errorf("thread (-want +got):\n%s", diff)
			}
			if lost := opt.Group.Outstanding(); len(lost) != 0 {
				t.Errorf("outstanding calls: %+v", lost)
			}
		})
	}
}

func ownNamespace(t *testing.T, fsys *hostfs.FS) uint64 {
	t.Helper()
	table, err := mountslive.Read(t.Context(), fsys, 0)
	if err != nil {
		t.Fatal(err)
	}
	return table.Namespace
}

func TestResampleHungThread(t *testing.T) {
	fsys, opt := machine(t)
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	stuck := testfuse.HoldStat(t, server.MountPoint())
	first := await(t, fsys, opt, stuck.TID())
	var second procs.Thread
	testfuse.Await(t, "time to pass between two readings", func() bool {
		second = Resample(t.Context(), fsys, []procs.Thread{first}, opt)[0]
		return second.SampledSeconds > 0
	})
	if !second.Same || second.Gone || second.WaitSeconds == nil || *second.WaitSeconds < second.SampledSeconds {
		t.Errorf("while it hangs: same %t, gone %t, sampled %v s, waited %v", second.Same, second.Gone, second.SampledSeconds, second.WaitSeconds)
	}

	// After a signal the wait cannot be interrupted any more, and in between the thread has run.
	testfuse.Await(t, "the server to take the request", func() bool { return server.Unanswered() > 0 })
	stuck.Kill()
	testfuse.Await(t, "state D", func() bool { return await(t, fsys, opt, stuck.TID()).State == "D" })
	third := Resample(t.Context(), fsys, []procs.Thread{first}, opt)[0]
	if third.Same || third.Gone {
		t.Errorf("after SIGKILL: same %t, gone %t; want neither", third.Same, third.Gone)
	}
	if dying := await(t, fsys, opt, stuck.TID()); dying.Wait.Kind != procs.WaitFUSE || dying.Path != server.MountPoint() {
		t.Errorf("after SIGKILL: %+v on %q", dying.Wait, dying.Path)
	}

	server.Heal()
	testfuse.Await(t, "the thread to go on", func() bool {
		return Resample(t.Context(), fsys, []procs.Thread{first}, opt)[0].Gone
	})
}

// TestKilledProcess kills a process while a thread of it waits for a server that has taken the request: the process stays,
// its first thread is a zombie, and all that is known about it has to be asked of the other one.
func TestKilledProcess(t *testing.T) {
	fsys, opt := machine(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := testfuse.Mount(t, dir, testfuse.Options{})
	c := start(t, job{CPU: -1, Call: "stat", Path: dir, Second: true})
	if c.tid == c.pid() {
		t.Fatalf("child works in its first thread")
	}
	server.Hang()
	c.call(t)
	testfuse.Await(t, "the server to take the request", func() bool { return server.Unanswered() > 0 })
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var process procs.Process
	var snap Snapshot
	testfuse.Await(t, "a zombie", func() bool {
		if snap, err = Collect(t.Context(), fsys, opt); err != nil {
			t.Fatal(err)
		}
		for _, p := range snap.Processes {
			if p.PID == c.pid() {
				process = p
			}
		}
		return process.State == "Z"
	})
	if len(process.Command) != 2 || process.MountNS != ownNamespace(t, fsys) || process.Cgroup == "" {
		t.Errorf("process = %+v; want its command line, namespace and cgroup", process)
	}
	thread := await(t, fsys, opt, c.tid)
	if thread.State != "D" || thread.PID != c.pid() || thread.Path != dir || thread.Device != server.Device() {
		t.Errorf("thread = %+v; want one in state D on %s", thread, dir)
	}
}

// TestAge compares what the scheduler says with what is known about a thread: when it was told to call, and that the
// age can only be too small. It is tried on every CPU, since each has a clock of its own.
func TestAge(t *testing.T) {
	fsys, opt := machine(t)
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skipf("needs a kernel with CONFIG_SCHED_DEBUG: %v", err)
	}
	before := affinities(t)
	for cpu := range runtime.NumCPU() {
		server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		c := start(t, job{CPU: cpu, Call: "stat", Path: server.MountPoint()})
		server.Hang()
		began := time.Now()
		c.call(t)
		const enough = 0.3
		testfuse.Await(t, "an age", func() bool {
			thread := await(t, fsys, opt, c.tid)
			if thread.WaitSeconds == nil {
				return false // the thread had run between two of our looks
			}
			if age, most := *thread.WaitSeconds, time.Since(began).Seconds(); age < 0 || age > most || thread.WaitFrom != "sched" {
				t.Fatalf("cpu %d: age %v s from %q; the call is %v s old", cpu, age, thread.WaitFrom, most)
			}
			return *thread.WaitSeconds > enough
		})
	}
	// A call that was given up on a busy CPU lets its thread go when it gets there.
	testfuse.Await(t, "our threads to run where they could before", func() bool { return cmp.Equal(before, affinities(t)) })
}

// affinities lists the sets of CPUs that the threads of this process may run on.
func affinities(t *testing.T) map[string]bool {
	t.Helper()
	sets := map[string]bool{}
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if _, rest, ok := strings.Cut(string(text), "Cpus_allowed:\t"); ok {
			set, _, _ := strings.Cut(rest, "\n")
			sets[set] = true
		}
	}
	return sets
}

// TestAgeLimits asks for the age of a thread that does nothing, with clocks that cannot be right.
func TestAgeLimits(t *testing.T) {
	fsys, _ := machine(t)
	c, err := newCollector(t.Context(), fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	child := start(t, job{CPU: -1})
	task := fmt.Sprintf("%d/task/%d/", child.pid(), child.tid)
	testfuse.Await(t, "the child to wait for its order", func() bool { return strings.Contains(c.readLook(c.proc, task).wchan, "pipe_read") })
	text, err := os.ReadFile("/proc/" + task + "stat")
	if err != nil {
		t.Fatal(err)
	}
	stat, err := procs.ParseStat(text)
	if err != nil {
		t.Fatal(err)
	}
	thread := waitingThread{processor: stat.Processor, Thread: procs.Thread{
		PID: child.pid(), TID: child.tid, StartTicks: stat.StartTicks, UptimeSeconds: float64(stat.StartTicks)/ticksPerSecond + 2,
		Switches: c.readLook(c.proc, task).switches,
	}}
	if _, ok := c.lastRan(task); !ok {
		t.Skip("needs a kernel with CONFIG_SCHED_DEBUG")
	}
	c.age(&thread, math.MaxFloat64)
	if thread.WaitSeconds == nil || math.Abs(*thread.WaitSeconds-2) > 1e-6 {
		t.Errorf("age = %v; want the 2 s that the thread has lived", thread.WaitSeconds)
	}
	c.age(&thread, 0)
	if thread.WaitSeconds == nil || *thread.WaitSeconds != 0 {
		t.Errorf("age = %v with a clock that is behind; want 0", thread.WaitSeconds)
	}
	for what, change := range map[string]func(*waitingThread){
		"has run since":     func(th *waitingThread) { th.Switches-- },
		"counts unknown":    func(th *waitingThread) { th.Switches = 0 },
		"is another":        func(th *waitingThread) { th.StartTicks++ },
		"is on another CPU": func(th *waitingThread) { th.processor++ },
	} {
		other := thread
		other.WaitSeconds = nil
		change(&other)
		if c.age(&other, math.MaxFloat64); other.WaitSeconds != nil {
			t.Errorf("age = %v of a thread that %s", *other.WaitSeconds, what)
		}
	}
}

// TestMemoryThatBlocks reads a thread whose path is in memory that can only be read when its file system answers. The
// thread is found all the same, and nobody waits.
func TestMemoryThatBlocks(t *testing.T) {
	fsys, opt := machine(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := dir + "/f"
	server := testfuse.Mount(t, dir, testfuse.Options{
		Files: map[string]string{"f": file + strings.Repeat("\x00", os.Getpagesize()-len(file))},
	})
	c := start(t, job{CPU: -1, Call: "forgotten", Path: file})
	c.call(t)
	c.said(t, "mapped")
	server.Hang()
	c.call(t)
	c.said(t, "forgotten <nil>")
	opt.Limits.Read = time.Second // long enough for all others, also on a busy machine
	opt.Identify = func(_ string, command []string) bool { return len(command) == 0 }
	for pass := range 2 {
		snap, err := Collect(t.Context(), fsys, opt)
		if err != nil {
			t.Fatal(err)
		}
		var thread procs.Thread
		for _, th := range snap.Threads {
			if th.TID == c.tid {
				thread = th
			}
		}
		if thread.Wait.Kind != procs.WaitFUSE || thread.Syscall == nil && pass == 0 || thread.Path != "" {
			t.Errorf("pass %d: thread = %+v; want one that waits in FUSE, without a path", pass, thread)
		}
		var process procs.Process
		for _, p := range snap.Processes {
			if p.PID == c.pid() {
				process = p
			}
		}
		if process.CommandError == "" || len(process.Command) != 0 || process.Cgroup == "" {
			t.Errorf("pass %d: process = %+v; want no command line, the reason, and the cgroup", pass, process)
		}
		if id := process.Identity; id == nil || len(id.Cgroups) == 0 || id.Executable == "" || len(id.Unread) > 0 {
			t.Errorf("pass %d: identity = %+v; want all of it, since none of it is in the memory", pass, id)
		}
		key := fmt.Sprintf("pid %d", c.pid())
		if calls := opt.Group.Outstanding(); len(calls) != 1 || calls[0].Key != key {
			t.Errorf("pass %d: outstanding = %+v; want %s", pass, calls, key)
		}
		if !strings.Contains(fmt.Sprint(snap.Problems), key) {
			t.Errorf("pass %d: problems = %v; want one with %s", pass, snap.Problems, key)
		}
	}
	server.Heal()
	testfuse.Await(t, "the call to come back", func() bool { return len(opt.Group.Outstanding()) == 0 })
}

func TestSelfIsRead(t *testing.T) {
	fsys, opt := machine(t)
	opt.Limits.Read = time.Minute // also on a busy machine
	snap, err := Collect(t.Context(), fsys, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range snap.Processes {
		if p.PID != os.Getpid() {
			continue
		}
		if diff := cmp.Diff(os.Args, p.Command); diff != "" {
			t.Errorf("command line (-want +got):\n%s", diff)
		}
		if p.PPID != os.Getppid() || p.UID != os.Geteuid() || p.MountNS != ownNamespace(t, fsys) || p.Kernel || p.Threads < 2 {
			t.Errorf("process = %+v", p)
		}
		// Both are known to a second at best: the boot time is whole seconds.
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			t.Fatal(err)
		}
		if p.Started.After(time.Unix(now.Unix()).Add(2*time.Second)) || p.Started.Before(snap.BootTime) {
			t.Errorf("started %v; booted %v", p.Started, snap.BootTime)
		}
		return
	}
	t.Errorf("this process (%d) is not among %d", os.Getpid(), len(snap.Processes))
}
