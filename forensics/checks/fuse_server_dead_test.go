package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

var _ = scenariosOf("fuse-server-dead", fuseServerDeadScenarios())

func fuseServerDeadScenarios() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "stopped", base: sickNode, change: server("T", "ceph-fuse"), want: []string{"warning process 6000"}, says: "is stopped"},
		{name: "nobody serves it", base: sickNode, change: holding(func(h *forensics.MountUse) {
			serves(h, forensics.FUSEServer{Device: "0:47"})
		}), want: []string{"warning superblock 0:47"}, says: "No process serves"},
		{name: "nobody serves it, and callers wait", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			holding(func(h *forensics.MountUse) {
				serves(h, forensics.FUSEServer{Device: "0:47"})
			})(tb, e)
			status(mounts.StatusHung)(tb, e)
		}, want: []string{"warning superblock 0:47"}, says: "its connection is still open"},
		{name: "nobody serves it, and it answers", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			holding(func(h *forensics.MountUse) {
				serves(h, forensics.FUSEServer{Device: "0:47"})
			})(tb, e)
			status(mounts.StatusOK)(tb, e)
		}, outcome: clean},
		{name: "itself blocked", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			server("S", "ceph-fuse")(tb, e)
			blockedIn(procs.Thread{PID: 6000, TID: 6001, Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitServer, FS: "nfs"}})(tb, e)
		}, want: []string{"warning process 6000"}, says: "itself blocked"},
		{name: "a thread of it waits for a lock that another program has", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			server("S", "ceph-fuse")(tb, e)
			blockedIn(procs.Thread{PID: 6000, TID: 6001, Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitFileLock, FS: "nfs"}})(tb, e)
		}, outcome: clean},
		{name: "stopped, and guessed", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			server("T", "ceph-fuse")(tb, e)
			guessed(e)
		}, want: []string{"warning process 6000"}, says: "Probable FUSE server ceph-fuse (pid 6000)"},
		{name: "itself blocked at an odd name", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			server("S", "ceph-fuse")(tb, e)
			blockedIn(procs.Thread{PID: 6000, TID: 6001, Path: "/100%d", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitServer, FS: "nfs"}})(tb, e)
		}, want: []string{"warning process 6000"}, says: `"/100%d"`},
		{name: "asleep as ever", base: sickNode, change: server("S", "ceph-fuse"), outcome: clean},
	}
}

// TestStoppedServerExplainsHang follows the chain from the kubelet to the process that was stopped.
func TestStoppedServerExplainsHang(t *testing.T) {
	for state, want := range map[string]string{"T": "process 6000", "S": "superblock 0:47"} {
		e := sickNode(t)
		server(state, "ceph-fuse")(t, &e)
		a := forensics.Analyze(&e, All())
		if len(a.Diagnoses) == 0 || a.Diagnoses[0].Root.String() != want || a.Diagnoses[0].Severity != forensics.Critical {
			t.Errorf("server in state %s: diagnoses %v, want the first critical, with root %s", state, roots(a), want)
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
	if f, ok := findingOf(a, "fuse-server-dead"); !ok || !strings.Contains(f.Detail, "/home/user/containers/merged") {
		t.Errorf("%q does not name the mount", f.Title)
	}
}
