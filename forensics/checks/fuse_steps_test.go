package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// stackedOn puts the dead volume, which process 6000 serves, on a file system that process 6001 serves.
func stackedOn(tb testing.TB, e *forensics.Evidence, state string) {
	tb.Helper()
	server("S", "gocryptfs", deadPoint)(tb, e)
	process(procs.Process{PID: 6001, Comm: "sshfs", State: state, Command: []string{"sshfs"}})(tb, e)
	lower := mounts.Mount{ID: 61, ParentID: 27, Device: "0:48", Root: "/", MountPoint: "/srv", FSType: "fuse.sshfs", Class: mounts.ClassFUSE, Source: "host:/"}
	e.Mounts.Mounts = append(e.Mounts.Mounts, lower)
	e.Health = append(e.Health, mounts.Health{MountID: 61, Device: "0:48", MountPoint: "/srv", Status: mounts.StatusHung, Method: "probe", Call: "statx", Seconds: 20})
	e.MountUse.Servers = append(e.MountUse.Servers, forensics.FUSEServer{Device: "0:48", PID: 6001, Why: "descriptor 3 of process 6001 is connection 48"})
	e.Threads = append(e.Threads, procs.Thread{
		PID: 6000, TID: 6002, Comm: "gocryptfs", State: "S", Stack: []string{}, Path: "/srv", MountID: 61, Device: "0:48",
		Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"},
	})
}

func TestFirstStepOfAHungFUSEMount(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		want   string
	}{
		"its server is not known":         {func(testing.TB, *forensics.Evidence) {}, "Look at the process that serves 10.0.0.5:6789:/k8s"},
		"its server is stopped":           {server("T", "ceph-fuse"), "kill -CONT 6000"},
		"its server is traced":            {server("t", "ceph-fuse"), "grep TracerPid /proc/6000/status"},
		"its server sleeps":               {server("S", "ceph-fuse"), "Look at process 6000 (ceph-fuse), which has the connection of 10.0.0.5:6789:/k8s (fuse.ceph-fuse) open: it is neither stopped"},
		"the server behind it is stopped": {func(tb testing.TB, e *forensics.Evidence) { stackedOn(tb, e, "T") }, "kill -CONT 6001"},
		"the server behind it sleeps":     {func(tb testing.TB, e *forensics.Evidence) { stackedOn(tb, e, "S") }, "Look at process 6001 (sshfs), which has the connection of host:/"},
		"two servers wait for each other": {func(tb testing.TB, e *forensics.Evidence) {
			stackedOn(tb, e, "S")
			back := e.Threads[len(e.Threads)-1]
			back.PID, back.TID, back.Device, back.MountID, back.Path = 6001, 6003, "0:47", 60, deadPoint
			e.Threads = append(e.Threads, back)
		}, "Look at process 6001 (sshfs), which serves host:/ (fuse.sshfs): it is itself blocked"},
		"of two that have the connection one is stopped": {func(tb testing.TB, e *forensics.Evidence) {
			server("S", "keeper")(tb, e)
			e.MountUse.Servers = append(e.MountUse.Servers, forensics.FUSEServer{Device: "0:47", PID: 6001})
			process(procs.Process{PID: 6001, Comm: "ceph-fuse", State: "T", Command: []string{}})(tb, e)
		}, "kill -CONT 6001"},
		"a guessed server is stopped": {func(tb testing.TB, e *forensics.Evidence) {
			server("T", "ceph-fuse")(tb, e)
			e.MountUse.Servers[0].Guess = true
		}, "kill -CONT 6000"},
	} {
		e := sickNode(t)
		c.change(t, &e)
		for _, f := range forensics.Analyze(&e, []forensics.Check{MountHung}).Findings {
			if f.Subject.ID != "0:47" {
				continue
			}
			if step := f.Remedies[0]; !strings.HasPrefix(step.Command, c.want) {
				t.Errorf("%s: the first step is %q, want %q", name, step.Command, c.want)
			} else if guessed := strings.Contains(step.Precondition, "which is a guess"); guessed != strings.Contains(name, "guess") {
				t.Errorf("%s: precondition %q", name, step.Precondition)
			}
		}
	}
}

func TestAnErrorThatAServerPassesOn(t *testing.T) {
	for name, c := range map[string]struct {
		guess, open bool
		status      mounts.Status
		want        string
	}{
		"by the kernel's word":               {false, true, mounts.StatusDisconnected, "passes on an error of fuse.sshfs host:/ at /srv"},
		"by a guess":                         {true, true, mounts.StatusDisconnected, "passes on an error of fuse.sshfs host:/ at /srv"},
		"nothing below is open":              {false, false, mounts.StatusDisconnected, "though process 6000 (ceph-fuse) has its connection open"},
		"nothing below is open, and a guess": {true, false, mounts.StatusDisconnected, "has lost its server"},
		"an I/O error":                       {false, true, mounts.StatusIOError, "passes on an error of fuse.sshfs host:/ at /srv"},
		"an I/O error of its own":            {false, false, mounts.StatusIOError, "answers with an error"},
	} {
		e := sickNode(t)
		stackedOn(t, &e, "S")
		e.Threads = e.Threads[:len(e.Threads)-1]
		for i := range e.Health {
			if e.Health[i].Status == mounts.StatusHung {
				e.Health[i].Status, e.Health[i].Error = c.status, "no luck"
			}
		}
		e.MountUse.Servers[0].Guess = c.guess
		e.MountUse.Servers = e.MountUse.Servers[:1] // that of the lower one is gone
		if c.open {
			e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{PID: 6000, Kind: holders.HoldFD, FD: 5, Path: "/srv/x", MountID: 61, Device: "0:48"})
		}
		found := false
		for _, f := range forensics.Analyze(&e, []forensics.Check{MountDisconnected, MountIOError}).Findings {
			if f.Subject.ID != "0:47" {
				continue
			}
			found = true
			if !strings.Contains(f.Title, c.want) || c.guess && c.open != strings.Contains(f.Detail, "probably lives") {
				t.Errorf("%s: %s: %s\nwant %q", name, f.Title, f.Detail, c.want)
			}
		}
		if !found {
			t.Errorf("%s: no finding", name)
		}
	}
}

// TestAStoppedServerInANamespaceOfItsOwn has a file system that the host has not, as those of containers without root.
func TestAStoppedServerInANamespaceOfItsOwn(t *testing.T) {
	e := wellNode(t)
	ownServer("/home/user/containers/merged")(t, &e)
	for i := range e.Processes {
		if e.Processes[i].PID == 5001 {
			e.Processes[i].State = "T"
		}
	}
	e.Threads = append(e.Threads, procs.Thread{
		PID: 5002, TID: 5002, Comm: "ls", State: "S", Stack: []string{}, Path: "/home/user/containers/merged", MountID: 901, Device: "0:61", MountNS: 99,
		Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"}, WaitSeconds: ptr(60.0),
	})
	a := forensics.Analyze(&e, All())
	if len(a.Diagnoses) != 1 || a.Diagnoses[0].Root.String() != "process 5001" {
		t.Errorf("diagnoses %v, want one with the root process 5001", roots(a))
	}
	if f, ok := findingOf(a, "fuse-server-dead"); !ok || !strings.Contains(f.Title, "/home/user/containers/merged") {
		t.Errorf("%q does not name the mount", f.Title)
	}
}

// TestAThreadOnALazilyUnmountedFileSystem waits at a path that lies on another file system now.
func TestAThreadOnALazilyUnmountedFileSystem(t *testing.T) {
	for _, only := range []bool{true, false} {
		e := wellNode(t)
		server("T", "ceph-fuse")(t, &e)
		e.MountUse.Servers[0] = forensics.FUSEServer{Device: "0:99", PID: 6000, Why: "descriptor 3 of process 6000 is connection 99", Detached: true, OnlyWaiting: only}
		e.Threads = append(e.Threads, procs.Thread{
			PID: 5002, TID: 5002, Comm: "ls", State: "S", Stack: []string{}, Path: "/mnt/x", MountID: 27, Device: "254:0",
			Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse", Function: "request_wait_answer"}, WaitSeconds: ptr(60.0),
		})
		a := forensics.Analyze(&e, All())
		if joined := len(a.Diagnoses) == 1; joined != only || !strings.Contains(strings.Join(roots(a), " "), "process 6000") {
			t.Errorf("only waiting %v: diagnoses %v", only, roots(a))
		}
		f, _ := findingOf(a, "fuse-server-dead")
		if !strings.Contains(f.Title, "in no mount table") || len(f.Remedies) != 2 || !strings.Contains(f.Remedies[1].Command, "connections/99/abort") {
			t.Errorf("%s: %+v", f.Title, f.Remedies)
		}
	}
}
