package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// stackedOn puts the dead volume, which process 6000 serves, on a file system that process 6001 serves.
func stackedOn(tb testing.TB, e *forensics.Evidence, state string) {
	tb.Helper()
	server("S", "gocryptfs", deadPoint)(tb, e)
	process(procs.Process{PID: 6001, Comm: "sshfs", State: state, Command: []string{"sshfs"}})(tb, e)
	lower := mounts.Mount{ID: 61, ParentID: 27, Device: "0:48", Root: "/", MountPoint: "/srv", FSType: "fuse.sshfs", Class: mounts.ClassFUSE, Source: "host:/"}
	e.Mounts.Mounts = append(e.Mounts.Mounts, lower)
	v1.AddHealth(e, mounts.Health{MountID: 61, Device: "0:48", MountPoint: "/srv", Status: mounts.StatusHung, Method: "probe", Call: "statx", Seconds: 20})
	v1.AddServers(e.MountUse, forensics.FUSEServer{Device: "0:48", PID: 6001})
	e.Threads = append(e.Threads, procs.Thread{
		PID: 6000, TID: 6002, Comm: "gocryptfs", State: "S", Stack: []string{}, Path: "/srv", MountID: 61, Device: "0:48",
		Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"},
	})
}

func TestAnErrorThatAServerPassesOn(t *testing.T) {
	detached := false
	for name, c := range map[string]struct {
		guess, open bool
		status      mounts.Status
		want        string
	}{
		"by the kernel's word":               {false, true, mounts.StatusDisconnected, "fails with an error of SSHFS host:/"},
		"by a guess":                         {true, true, mounts.StatusDisconnected, "fails with an error of SSHFS host:/"},
		"nothing below is open":              {false, false, mounts.StatusDisconnected, "but its server ceph-fuse (pid 6000) still exists"},
		"nothing below is open, and a guess": {true, false, mounts.StatusDisconnected, "has lost its server"},
		"an I/O error":                       {false, true, mounts.StatusIOError, "fails with an error of SSHFS host:/"},
		"an I/O error of its own":            {false, false, mounts.StatusIOError, "answers with an error"},
	} {
		e := sickNode(t)
		stackedOn(t, &e, "S")
		e.Threads = e.Threads[:len(e.Threads)-1]
		e.Probes = e.Probes[:1]
		for _, p := range []mounts.Health{{MountID: 60, Device: "0:47", MountPoint: deadPoint}, {MountID: 61, Device: "0:48", MountPoint: "/srv"}} {
			p.Status, p.Error, p.Method, p.Seconds = c.status, "no luck", mounts.MethodProbe, 20
			v1.AddHealth(&e, p)
		}
		serves(e.MountUse, forensics.FUSEServer{Device: "0:47", PID: 6000, Guess: c.guess}) // that of the lower one is gone
		if c.open {
			e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{PID: 6000, Kind: holders.HoldFD, FD: 5, Path: "/srv/x", MountID: 61, Device: "0:48"})
		}
		found := false
		for _, f := range forensics.Analyze(&e, []forensics.Check{mountDisconnected, mountIOError}).Findings {
			if f.Subject.ID != "0:47" {
				continue
			}
			found = true
			if !strings.Contains(f.Title, c.want) || c.guess && c.open != strings.Contains(f.Detail, "is probably running") {
				t.Errorf("%s: %s: %s\nwant %q", name, f.Title, f.Detail, c.want)
			}
			for _, r := range f.Remedies { // the upper one is unmounted first
				if first := strings.HasPrefix(r.OnlyIf, "unmount this one first"); first != (c.open && r.Action == remedy.ActionDetach) {
					t.Errorf("%s: %s %q only if %q", name, r.Action, r.String(), r.OnlyIf)
				}
				detached = detached || c.open && r.Action == remedy.ActionDetach
			}
		}
		if !found {
			t.Errorf("%s: no finding", name)
		}
	}
	if !detached {
		t.Error("no step unmounts a file system that passes on an error")
	}
}

// TestAThreadOnALazilyUnmountedFileSystem waits at a path that lies on another file system now.
func TestAThreadOnALazilyUnmountedFileSystem(t *testing.T) {
	for _, only := range []bool{true, false} {
		e := wellNode(t)
		server("T", "ceph-fuse")(t, &e)
		serves(e.MountUse, forensics.FUSEServer{Device: "0:99", PID: 6000, Detached: true, OnlyWaiting: only})
		e.Threads = append(e.Threads, procs.Thread{
			PID: 5002, TID: 5002, Comm: "ls", State: "S", Stack: []string{}, Path: "/mnt/x", MountID: 27, Device: "254:0",
			Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"}, WaitSeconds: ptr(60.0),
		})
		a := forensics.Analyze(&e, All())
		if joined := len(a.Diagnoses) == 1; joined != only || !strings.Contains(strings.Join(roots(a), " "), "process 6000") {
			t.Errorf("only waiting %v: diagnoses %v", only, roots(a))
		}
		f, _ := findingOf(a, "fuse-server-dead")
		if !strings.Contains(f.Title, "in no mount table") || len(f.Remedies) != 2 || !strings.Contains(f.Remedies[1].String(), "connections/99/abort") {
			t.Errorf("%s: %+v", f.Title, f.Remedies)
		}
	}
}
