//go:build download

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
	"github.com/nodeforensics/nodeforensics/report"
)

// The addresses of the server, as they are in the source of a mount.
const (
	nfsAddress  = "10.9.0.2"
	nfsAddress6 = "[fd09::2]"
)

// TestOnRealNFS has a real client and a real server in a virtual machine. The server is silent, beyond reach, stopped, and
// forgets what it exports; what the program says of it has to be right each time, and what it advises has to help.
func TestOnRealNFS(t *testing.T) {
	if !testvm.Inside() {
		if err := recordSources(); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		build := exec.Command("go", "build", "-buildvcs=false", "-o", dir, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		testvm.Run(t, testvm.Machine{
			Packages: strings.Fields("coreutils dash iproute2 nfs-kernel-server nftables sed util-linux"),
			Modules:  append([]string{"lockd nlm_timeout=3 nlm_grace_period=3"}, strings.Fields("nfsv3 nfsv4 nfsd veth nf_tables")...),
			Files: map[string]string{
				"/usr/bin/" + programName: filepath.Join(dir, programName), "/server.sh": "testdata/nfs-server.sh",
			},
		})
		return
	}
	t.Setenv(builtEnv, "/usr/bin")
	nfsServer(t, "start")
	mountNFS(t, nfsAddress+":/a", "/mnt/v4", "vers=4.2,hard")
	mountNFS(t, nfsAddress+":/srv/b", "/mnt/v3", "vers=3,hard,nolock,timeo=20,retrans=1")
	mountNFS(t, nfsAddress+":/c", "/mnt/soft", "vers=4.1,soft,timeo=600,retrans=2")
	mountNFS(t, nfsAddress6+":/d", "/mnt/ipv6", "vers=4.2,hard")
	t.Run("a mount that is exported", testNFSExported)
	_ = t.Run("nothing is asked of a server for holders", testNFSAsksNothing) && // one begins where the one before has ended
		t.Run("silent", testNFSSilent) &&
		t.Run("beyond reach", testNFSUnreachable) &&
		t.Run("a lock that another has", testNFSLocked) &&
		t.Run("stopped", testNFSRefused) &&
		t.Run("stale", testNFSStale)
}

func nfsServer(t *testing.T, args ...string) {
	t.Helper()
	mustRun(t, "/server.sh", args...)
}

func mustRun(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout // not a pipe: what it leaves running would hold it
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
}

func mountNFS(t *testing.T, source, point, options string) {
	t.Helper()
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "mount", "-t", "nfs", "-o", options, source, point)
}

// caller starts a command that is to hang, and waits until it does. What ends it is up to the test.
func caller(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, fmt.Sprintf("%s %v to hang", name, args), func() bool {
		return taskState(cmd.Process.Pid, cmd.Process.Pid) == "D"
	})
	return cmd
}

// ends waits for callers to end, whatever they say.
func ends(t *testing.T, callers ...*exec.Cmd) {
	t.Helper()
	for _, cmd := range callers {
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%v has not ended", cmd.Args)
		}
	}
}

func testNFSAsksNothing(t *testing.T) {
	holder := exec.Command("sleep", "1000")
	holder.Dir = "/mnt/v4/dir"
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	before := operations(t)
	for _, point := range []string{"/mnt/v4", "/mnt/v3/dir", "/mnt/soft"} {
		o := finish(t, command(t, "holders", point))
		if want := strconv.Itoa(holder.Process.Pid); o.status != exitDone || strings.Contains(o.stdout, want) != (point == "/mnt/v4") {
			t.Errorf("holders %s: status %d, process %s stands in /mnt/v4\n%s%s", point, o.status, want, o.stdout, o.stderr)
		}
	}
	if after := operations(t); !slices.Equal(after, before) {
		t.Errorf("operations of the client before and after: %q, %q", before, after)
	}
}

// testNFSLocked has a process wait for a lock of a file that another machine has locked, as programs that take turns do: the
// server is well. By version 4.0 the client asks for it time and again, and sleeps in between.
func testNFSLocked(t *testing.T) {
	const point = "/mnt/locks"
	mountNFS(t, nfsAddress+":/c", point, "vers=4.0,hard")
	pid, err := os.ReadFile("/run/mountd.pid")
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.OpenFile("/proc/"+strings.TrimSpace(string(pid))+"/root/srv/c/file", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(there.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	waiting := exec.Command("flock", point+"/file", "true")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "it to wait for the lock", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", waiting.Process.Pid))
		return err == nil && string(text) == "nfs4_proc_lock"
	})
	time.Sleep(4 * time.Second) // it sleeps for 1, 2, 4 seconds
	r := examine(t, 0, "--hung-after", "1s").report(t)
	if n := len(atLeast(r, forensics.Warning)); n > 0 {
		t.Errorf("%d findings: %s", n, titles(r))
	}
	at := slices.IndexFunc(r.Evidence.Threads, func(th procs.Thread) bool { return th.PID == waiting.Process.Pid })
	if at < 0 || r.Evidence.Threads[at].Wait.Kind != procs.WaitFileLock || r.Evidence.Threads[at].Path != point+"/file" {
		t.Errorf("threads %+v, want process %d waiting for a lock", r.Evidence.Threads, waiting.Process.Pid)
	}
	_ = there.Close()
	ends(t, waiting)
	mustRun(t, "umount", point)
}

// testNFSExported asks, where the server runs, who holds a mount that it exports, and believes the kernel.
func testNFSExported(t *testing.T) {
	text, err := os.ReadFile("/run/mountd.pid")
	if err != nil {
		t.Fatal(err)
	}
	inside := []string{"nsenter", "-t", strings.TrimSpace(string(text)), "-n", "-m"}
	cmd := command(t, "holders", "/srv/a")
	cmd.Path, cmd.Args = "/usr/bin/nsenter", slices.Concat(inside, cmd.Args)
	o := finish(t, cmd)
	if o.status != exitDone || !strings.Contains(o.stdout, "kernel: nfs-export /srv/a exported to ") || !strings.Contains(o.stdout, "(busy)") {
		t.Errorf("holders: status %d, want the export\n%s%s", o.status, o.stdout, o.stderr)
	}
	out, err := exec.Command(inside[0], slices.Concat(inside[1:], []string{"umount", "/srv/a"})...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "busy") {
		t.Errorf("the mount that is exported could be unmounted: %s, %v", out, err)
	}
}

// operations are the counters of what callers ask for, without what the client does by itself.
func operations(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountstats")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		for _, call := range []string{"GETATTR", "LOOKUP", "ACCESS", "READDIR", "STATFS", "FSSTAT", "OPEN", "READ"} {
			if strings.HasPrefix(strings.TrimSpace(line), call+": ") {
				list = append(list, strings.TrimSpace(line))
			}
		}
	}
	if len(list) < 20 {
		t.Fatalf("mountstats has %d of the operations", len(list))
	}
	return list
}

func testNFSSilent(t *testing.T) {
	nfsServer(t, "silence")
	callers := []*exec.Cmd{caller(t, "stat", "/mnt/v4/nothing"), caller(t, "stat", "/mnt/v3/nothing"), caller(t, "stat", "/mnt/ipv6/nothing")}
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantNFS(t, r, "/mnt/v4", mounts.StatusHung, backing.FaultSilent)
	wantNFS(t, r, "/mnt/v3", mounts.StatusHung, backing.FaultSilent)
	wantNFS(t, r, "/mnt/ipv6", mounts.StatusHung, backing.FaultSilent)
	nfsServer(t, "speak")
	ends(t, callers...)
	r = examine(t, 0, "--hung-after", "10s").report(t)
	for _, point := range []string{"/mnt/v4", "/mnt/v3", "/mnt/ipv6"} { // the counters of version 3 keep the difference
		wantNFS(t, r, point, mounts.StatusOK, backing.FaultNone)
	}
	if n := len(atLeast(r, forensics.Warning)); n > 0 {
		t.Errorf("the server is back, and there are %d findings: %s", n, titles(r))
	}
}

func testNFSUnreachable(t *testing.T) {
	nfsServer(t, "drop")
	v4 := []*exec.Cmd{caller(t, "stat", "/mnt/v4/missing"), caller(t, "ls", "/mnt/v4"), caller(t, "touch", "/mnt/v4/new")}
	v3 := caller(t, "stat", "-f", "/mnt/v3")
	df := caller(t, "df")
	soft, ipv6 := caller(t, "stat", "/mnt/soft/missing"), caller(t, "stat", "/mnt/ipv6/missing")

	waiting := tasksOfCallers(t)
	o := finish(t, command(t, "holders", "/mnt/v4"))
	if o.status != exitDone || !strings.Contains(o.stdout, "sleep") {
		t.Errorf("holders: status %d, %s%s", o.status, o.stdout, o.stderr)
	}
	if after := tasksOfCallers(t); after != waiting {
		t.Errorf("holders has changed how many requests wait from %d to %d", waiting, after)
	}

	r := examine(t, 0, "--hung-after", "3s").report(t)
	for _, point := range []string{"/mnt/v4", "/mnt/v3", "/mnt/soft", "/mnt/ipv6"} {
		wantNFS(t, r, point, mounts.StatusHung, backing.FaultUnreachable)
	}
	wantWaits(t, r, append(slices.Clone(v4), v3, soft, ipv6))
	wantNFSRoots(t, r)
	if state := taskState(df.Process.Pid, df.Process.Pid); state != "D" {
		t.Errorf("df is in state %s: the server has answered it", state)
	}

	testfuse.Await(t, "the kernel to report the server", func() bool {
		text := make([]byte, 1<<20)
		n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, text)
		return err == nil && strings.Contains(string(text[:n]), "server "+nfsAddress+" not responding")
	})
	forceOff(t, r, "/mnt/v3", v3)
	forceOff(t, r, "/mnt/v4", v4...)
	forceOff(t, r, "/mnt/ipv6", ipv6)
	nfsServer(t, "pass")
	ends(t, soft, df)
}

// tasksOfCallers counts the requests that wait, but for renewals of the lease.
func tasksOfCallers(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/sys/kernel/debug/sunrpc/rpc_clnt/*/tasks")
	if err != nil || len(files) == 0 {
		t.Fatal("no clients", err)
	}
	n := 0
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " nfsv") && !strings.Contains(line, " SEQUENCE ") {
				n++
			}
		}
	}
	return n
}

// wantNFS wants a mount to be judged rightly, and what is said of it.
func wantNFS(t *testing.T, r report.Report, point string, status mounts.Status, fault backing.Fault) {
	t.Helper()
	h := healthAt(t, r, point)
	at := slices.IndexFunc(r.Evidence.Backings, func(b backing.Backing) bool { return b.Device == h.Device })
	if at < 0 || r.Evidence.Backings[at].NFS == nil {
		t.Fatalf("%s: nothing is known of its server", point)
	}
	b := r.Evidence.Backings[at]
	if h.Status != status || b.Fault != fault {
		t.Errorf("%s is %s, fault %q (%s); want %s, %q", point, h.Status, b.Fault, b.Why, status, fault)
	}
	server := map[bool]string{false: nfsAddress, true: nfsAddress6}[point == "/mnt/ipv6"]
	if b.NFS.Server != server || b.NFS.Outstanding == nil || *b.NFS.Outstanding == 0 && status == mounts.StatusHung {
		t.Errorf("%s: %+v", point, *b.NFS)
	}
	version := map[string]string{"/mnt/v3": "3", "/mnt/v4": "4.2", "/mnt/soft": "4.1", "/mnt/ipv6": "4.2"}[point]
	if b.NFS.Hard == (point == "/mnt/soft") || b.NFS.Version != version {
		t.Errorf("%s: version %s, hard %t", point, b.NFS.Version, b.NFS.Hard)
	}
}

// wantWaits wants each caller to be seen in its wait.
func wantWaits(t *testing.T, r report.Report, callers []*exec.Cmd) {
	t.Helper()
	for _, cmd := range callers {
		at := slices.IndexFunc(r.Evidence.Threads, func(th procs.Thread) bool { return th.PID == cmd.Process.Pid })
		if at < 0 {
			t.Errorf("%v is not among the threads that wait", cmd.Args)
			continue
		}
		if w := r.Evidence.Threads[at].Wait; w.FS != "nfs" && w.Kind != "fs-lock" || w.Meaning == "" {
			t.Errorf("%v waits for %+v", cmd.Args, w)
		}
	}
}

// wantNFSRoots wants nothing but the file systems to be at the root of what is wrong.
func wantNFSRoots(t *testing.T, r report.Report) {
	t.Helper()
	for _, d := range r.Diagnoses {
		if d.Root.Kind != forensics.KindSuperblock {
			t.Errorf("%s is said to be the cause of: %s", d.Root, d.Title)
		}
	}
	if len(r.Diagnoses) != 4 {
		t.Errorf("%d diagnoses, want one for each mount: %s", len(r.Diagnoses), titles(r))
	}
}

// forceOff does what is advised for a mount, in that order, until its callers are gone and it is, too.
func forceOff(t *testing.T, r report.Report, point string, callers ...*exec.Cmd) {
	t.Helper()
	var commands []string
	for _, f := range findings(r, "mount-hung") {
		for _, remedy := range f.Remedies {
			if strings.HasPrefix(remedy.String(), "umount ") && strings.HasSuffix(remedy.String(), " "+point) {
				commands = append(commands, remedy.String())
			}
		}
	}
	if want := []string{"umount -i -c -f " + point, "umount -c -l " + point}; !slices.Equal(commands, want) {
		t.Fatalf("advice for %s is %q, want %q", point, commands, want)
	}
	stop := make(chan struct{})
	var repeating sync.WaitGroup
	repeating.Go(func() { // "repeat it": a caller may ask again
		for {
			_ = exec.Command("sh", "-c", commands[0]).Run()
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	})
	ends(t, callers...)
	close(stop)
	repeating.Wait()
	if mounted(t, point) {
		mustRun(t, "sh", "-c", commands[1])
	}
	if mounted(t, point) {
		t.Errorf("%s is still mounted", point)
	}
}

func mounted(t *testing.T, point string) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), " "+point+" ")
}

func testNFSRefused(t *testing.T) {
	nfsServer(t, "stop")
	c := caller(t, "stat", "/mnt/soft/refused")
	testfuse.Await(t, "the connection to be closed", func() bool {
		text, err := os.ReadFile("/proc/net/tcp")
		return err == nil && !strings.Contains(string(text), ":0801 01 ")
	})
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantNFS(t, r, "/mnt/soft", mounts.StatusHung, backing.FaultRefused)
	wantNamed(t, finding(t, r, "mount-hung"), "NFS server does not respond ("+nfsAddress+")") // in the kernel's log, since before
	nfsServer(t, "resume")
	ends(t, c)
}

func testNFSStale(t *testing.T) {
	nfsServer(t, "forget")
	n := 0
	testfuse.Await(t, "the server to forget", func() bool {
		n++ // that there is no such file is remembered
		err := unix.Access("/mnt/soft/stale"+strconv.Itoa(n), unix.F_OK)
		return errors.Is(err, unix.ESTALE)
	})
	r := examine(t, 0, "--hung-after", "10s").report(t)
	wantNFS(t, r, "/mnt/soft", mounts.StatusStale, backing.FaultNone)
	f := finding(t, r, "mount-stale")
	mustRun(t, f.Remedies[0].Command[0], f.Remedies[0].Command[1:]...)
	if mounted(t, "/mnt/soft") {
		t.Error("/mnt/soft is still mounted")
	}
}
