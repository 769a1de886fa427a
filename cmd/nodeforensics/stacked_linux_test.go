package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// stackedVolume is a volume whose server has its files on the file system of another server, as encrypted and merged ones.
func stackedVolume(t testing.TB, root string) (upper, lower *testfuse.Server) {
	t.Helper()
	lower = testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.sshfs", Source: "backup@10.0.0.1:/"})
	v := volume{"kubernetes.io~csi", "pvc-" + testfuse.NewUID(), "fuse.gocryptfs", lower.MountPoint()}
	return testfuse.Mount(t, v.path(root, livePod), testfuse.Options{Type: v.fsType, Source: v.source, Below: lower.MountPoint()}), lower
}

// needConnections skips where the kernel does not tell whose connection a server has (before Linux 6.16).
func needConnections(t *testing.T, server *testfuse.Server) {
	t.Helper()
	if !tellsConnections(t, server.PID()) {
		t.Skip("this kernel does not tell who serves a connection")
	}
}

// wantFirstStep checks where a diagnosis begins.
func wantFirstStep(t testing.TB, d forensics.Diagnosis, step string) {
	t.Helper()
	if len(d.Remedies) == 0 || d.Remedies[0].String() != step {
		t.Errorf("the first step is not %q: %+v", step, d.Remedies)
	}
}

func TestTheStoppedServerIsTheFirstThingToDoSomethingAbout(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, livePod, someVolume())
	needConnections(t, server)
	startKubelet(t, root)
	server.Stop()
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantFirstStep(t, r.Diagnoses[0], fmt.Sprintf("kill -CONT %d", server.PID()))
	wantNamed(t, finding(t, r, "mount-hung"), fmt.Sprintf("Process %d", server.PID()), "is stopped")
}

// TestTheServerBehindTheServerIsTheCulprit has a volume whose server waits for another file system, and only since this
// program has asked the volume: nobody waited before.
func TestTheServerBehindTheServerIsTheCulprit(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	upper, lower := stackedVolume(t, root)
	needConnections(t, upper)
	startKubelet(t, root)
	lower.Stop()
	r := examine(t, 0, "--hung-after", "2s").report(t)
	if len(r.Diagnoses) != 1 {
		t.Fatalf("%d diagnoses, want one: %s", len(r.Diagnoses), titles(r))
	}
	wantCulprit(t, r, lower, []forensics.Kind{
		forensics.KindProcess, forensics.KindSuperblock, forensics.KindMount, forensics.KindThread, forensics.KindProcess, forensics.KindSuperblock,
	})
	wantFirstStep(t, r.Diagnoses[0], fmt.Sprintf("kill -CONT %d", lower.PID()))
	servers := map[string]string{}
	for _, f := range findings(r, "fuse-server-dead") {
		servers[f.Subject.ID] = f.Detail
	}
	if got := servers[strconv.Itoa(lower.PID())]; !strings.Contains(got, "is stopped") {
		t.Errorf("%q, want that %d is stopped", got, lower.PID())
	}
	if got := servers[strconv.Itoa(upper.PID())]; !strings.Contains(got, "blocked") || !strings.Contains(got, lower.MountPoint()) {
		t.Errorf("%q, want that %d is blocked in %s", got, upper.PID(), lower.MountPoint())
	}
}

func TestAServerThatPassesOnAnErrorIsNotCalledGone(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	upper, lower := stackedVolume(t, root)
	needConnections(t, upper)
	startKubelet(t, root)
	lower.Kill()
	r := examine(t, 0).report(t)
	titles := map[string]forensics.Finding{}
	for _, f := range findings(r, "mount-disconnected") {
		titles[f.Subject.ID] = f
	}
	if f := titles[lower.Device()]; !strings.Contains(f.Title, "has lost its server") {
		t.Errorf("%q, want that it has lost its server", f.Title)
	}
	f := titles[upper.Device()]
	wantNamed(t, f, "fails with an error of SSHFS", fmt.Sprintf("Its own server is running: process %d", upper.PID()))
	if len(f.Because) != 1 || f.Because[0].ID != lower.Device() {
		t.Errorf("it is so because of %v, want %s", f.Because, lower.Device())
	}
	if len(r.Diagnoses) != 1 || r.Diagnoses[0].Root.ID != lower.Device() {
		t.Errorf("diagnoses %+v, want one with the root %s", r.Diagnoses, lower.Device())
	}
}

// TestAnAbortedConnectionIsNotCalledGoneWhileItsServerLives has a server that does not end with its connection.
func TestAnAbortedConnectionIsNotCalledGoneWhileItsServerLives(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, livePod, someVolume())
	needConnections(t, server)
	startKubelet(t, root)
	server.Abort()
	f := finding(t, examine(t, 0).report(t), "mount-disconnected")
	wantNamed(t, f, fmt.Sprintf("Process %d (", server.PID()), ") still has its connection open", "was aborted")
}

// TestTheServerOfALazilyUnmountedFileSystemIsNamed unmounts what hangs, as people do. Whoever waited still waits, and no
// table shows what for.
func TestTheServerOfALazilyUnmountedFileSystemIsNamed(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, livePod, someVolume())
	needConnections(t, server)
	startKubelet(t, root)
	server.Stop()
	stuck := testfuse.HoldStat(t, server.MountPoint())
	testfuse.Await(t, "the stat to block", stuck.Blocked)
	if server.Waiting() == 0 { // which is read from the control file system, that may have to be mounted
		t.Fatal("no request waits")
	}
	if err := unix.Unmount(server.MountPoint(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		t.Fatal(err)
	}
	f := finding(t, examine(t, 0, "--hung-after", "1s").report(t), "fuse-server-dead")
	wantNamed(t, f, fmt.Sprintf("Process %d", server.PID()), "in no mount table", "is stopped")
}
