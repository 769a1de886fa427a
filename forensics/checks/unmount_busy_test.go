package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// TestUnmountBusySaysWhatIsMissing has each of the two things that tell who holds a mount missing, with a log beside it: the
// check runs, but its outcome says so.
func TestUnmountBusySaysWhatIsMissing(t *testing.T) {
	for _, source := range []string{forensics.SourceMounts, forensics.SourceHolders} {
		e := wellNode(t)
		e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source })
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceDenied, Detail: "permission denied"})
		outcome := forensics.Analyze(&e, []forensics.Check{unmountBusy}).Outcomes[0]
		if outcome.Status != forensics.OutcomeNotChecked || !strings.Contains(outcome.Reason, "the users of mounts were not judged: "+source+" ") {
			t.Errorf("without %s: %+v", source, outcome)
		}
	}
}

var _ = scenariosOf("unmount-busy", unmountBusyScenarios())

func unmountBusyScenarios() []scenario {
	kernel := func(k holders.KernelUser) change {
		k.MountID, k.Device = 60, "0:47"
		return holding(func(use *forensics.MountUse) { use.Kernel = append(use.Kernel, k) })
	}
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "an open file", base: sickNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"}),
			want: []string{"warning mount 60"}, says: "process 5000 (nginx) has \"" + deadPoint + "/log\" open (descriptor 7)",
		},
		{
			name: "a mount on it", base: sickNode, change: kernel(holders.KernelUser{Use: holders.UseMount, UserMount: 71, What: deadPoint + "/sub", Blocks: true}),
			want: []string{"warning mount 60"}, says: "mount 71 at " + deadPoint + "/sub is mounted on it",
		},
		{
			name: "a bind mount elsewhere keeps nothing busy", base: sickNode,
			change: kernel(holders.KernelUser{Use: holders.UseBind, UserMount: 71, What: "/mnt"}), outcome: clean,
		},
		{
			name: "held through a copy that propagation ties to it", base: sickNode,
			change: busyCopy(mounts.Copy{Of: 60, MountID: 99, MountPoint: "/host" + deadPoint, Namespace: 77}),
			want:   []string{"warning mount 60"},
			says:   "open (descriptor 7) on mount 99 at /host" + deadPoint + " in mount namespace 77 (tied to this mount by mount propagation)",
		},
		{
			name: "held through a copy of another mount", base: sickNode,
			change: busyCopy(mounts.Copy{Of: 61, MountID: 99, MountPoint: "/host" + deadPoint, Namespace: 77}), outcome: clean,
		},
		{
			name: "a file of an io_uring", base: sickNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldRing, FD: 7, Path: deadPoint + "/log", ByPath: true}),
			want: []string{"warning mount 60"}, says: "process 5000 (nginx) has \"" + deadPoint + "/log\" registered with its io_uring (descriptor 7)",
		},
		{name: "held through another mount of the file system", base: sickNode, change: holding(func(h *forensics.MountUse) {
			h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, MountID: 99, Device: "0:47"}}
		}), outcome: clean},
		{name: "a live pod", base: wellNode, change: holding(func(h *forensics.MountUse) {
			h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
		}), outcome: clean},
		{
			name: "a terminating pod's own process", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				e.Pods[0].Deleting = at("10:00:00")
				holding(func(h *forensics.MountUse) {
					h.Holders = []holders.Holder{{PID: 4000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
				})(tb, e)
			}, outcome: clean,
		},
		{
			name: "another process in the way of a terminating pod", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				e.Pods[0].Deleting = at("10:00:00")
				holding(func(h *forensics.MountUse) {
					h.Holders = []holders.Holder{{PID: 4000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}, {PID: 5000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
				}, process(nginx))(tb, e)
			}, want: []string{"warning mount 44"}, says: "cannot be unmounted: in use by nginx (pid 5000)",
		},
		{
			name: "somebody unmounts it", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", deadPoint}})(tb, e)
			}, want: []string{"warning mount 60"}, says: "process 5009 (umount) is unmounting it",
		},
		{
			name: "somebody detaches it, which is not refused", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5008, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "-cl", deadPoint}})(tb, e)
				process(procs.Process{PID: 5009, Comm: "fusermount3", State: "D", MountNS: hostMountNS, Command: []string{"fusermount3", "-u", "-z", "--", deadPoint}})(tb, e)
			}, outcome: clean,
		},
		{
			name: "somebody unmounts it by type", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "-ftglusterfs", deadPoint}})(tb, e)
			}, want: []string{"warning mount 60"}, says: "is unmounting it",
		},
		{
			name: "a process of a pod calls itself umount", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: 99, Command: []string{"umount", deadPoint}})(tb, e)
				process(procs.Process{PID: 5010, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})(tb, e)
			}, outcome: clean,
		},
		{
			name: "something calls itself umount, and nobody knows where anything is", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5010, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})(tb, e)
				e.Mounts.Namespace = 0
			}, outcome: clean,
		},
		{
			name: "somebody unmounts another", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "/mnt"}})(tb, e)
			}, outcome: clean,
		},
		{
			name: "staged, and served to a pod by another file system", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				upper := e.Mounts.Mounts[2]
				upper.ID, upper.Device = 70, "0:70"
				e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/crypt/4f2a/globalmount"
				e.Mounts.Mounts = append(e.Mounts.Mounts, upper)
				busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
				v1.AddServers(e.MountUse, forensics.FUSEServer{Device: "0:70", PID: 5000})
			}, outcome: clean,
		},
		{
			name: "staged for pods that are gone", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
				busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
			}, want: []string{"warning mount 60"}, says: "it is staged, but no pod has the volume mounted",
		},
		{
			name: "a hung mount of nobody in particular", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				e.Mounts.Mounts[2].MountPoint, e.Probes[1].MountPoint, e.Threads[0].Path = "/mnt/nfs", "/mnt/nfs", "/mnt/nfs"
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: "/mnt/nfs/log"})(tb, e)
			}, want: []string{"info mount 60"}, says: "its file system is hung",
		},
		{
			name: "an earlier examination comes first", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
				busy(holders.Holder{PID: 5010, Kind: holders.HoldFD, FD: 8, Path: deadPoint})(tb, e)
				process(procs.Process{PID: 5010, Comm: "exe", State: "S", Command: []string{"nodeforensics", "__collect"}})(tb, e)
			}, want: []string{"warning mount 60"}, says: "cannot be unmounted: in use by exe (pid 5010) and 1 more",
		},
	}
}

var _ = scenariosOf("unmount-busy", unmountBusyInLogs())

func unmountBusyInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "the log and who holds it", base: sickNode, change: both(busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}), tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122))),
			want: []string{"warning mount 60"}, says: "The kubelet's unmount was refused 9 times, from 10:05:01 UTC to 10:12:00 UTC. It waits 2 min until its next try.",
		},
		{
			name: "the log alone", base: wellNode, change: both(tells(numbered(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), 122)), logAlone),
			want: []string{"warning volume " + deadUID + "/kubernetes.io/cephfs/cephfs-data"}, says: "Its users were not collected.",
		},
		{
			name: "who holds it, of a pod that seems to live", base: wellNode, change: both(busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}), tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume))),
			want: []string{"warning mount 60"}, says: "process 5000 (nginx) has its working directory there",
		},
		{
			name: "what its own pod has left holds it", base: wellNode,
			change: both(busy(holders.Holder{PID: 5002, Kind: holders.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 5002, Comm: "postgres", State: "S", PodUID: deadUID}),
				tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume))),
			want: []string{"warning mount 60"}, says: "process 5002 (postgres) of pod " + deadUID + " has its working directory there",
		},
		{name: "nobody who holds it was found", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume)), want: []string{"warning mount 60"}, says: "No user was found on this node now."},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "09:40:00", "09:45:00", deadVolume)), outcome: clean},
		{name: "it was unmounted after all", base: wellNode, change: tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", deadVolume), event(logs.KindUnmountDone, 1, "10:12:10", "10:12:10", deadVolume)), outcome: clean},
	}
}

func TestAnotherExaminationIsLetAlone(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		3 * time.Second: "may still be running", -time.Second: "may still be running", time.Hour: "is still blocked on this mount",
	} {
		e := wellNode(t)
		e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
		busy(holders.Holder{PID: 6001, Kind: holders.HoldFD, FD: 7, Path: e.Mounts.Mounts[2].MountPoint})(t, &e)
		process(procs.Process{PID: 6001, Comm: "nodeforensics", State: "S", Command: []string{}, Started: e.Collected.Add(-ago)})(t, &e)
		a := forensics.Analyze(&e, []forensics.Check{unmountBusy})
		if len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Remedies[0].Why, want) {
			t.Errorf("begun %s before: %+v, want %q", ago, a.Findings, want)
		}
	}
}

// TestStoppingDespiteAWait tells waits that SIGKILL ends, as those for an NFS server, from others.
func TestStoppingDespiteAWait(t *testing.T) {
	step := func(action forensics.Action, command string) forensics.Remedy {
		return forensics.Remedy{Action: action, Command: strings.Fields(command), OnlyIf: "its owner agrees", Risk: "what it does is interrupted"}
	}
	for _, tt := range []struct {
		kill          string
		action        forensics.Action
		command, want string
		first         bool // the wait has to be ended first
	}{
		{"yes", remedy.ActionStop, "kill 5000", "kill -9 5000", false},
		{"no", remedy.ActionStop, "kill 5000", "kill 5000", true},
		{"", remedy.ActionStop, "kill 5000", "kill 5000", true},
		{"yes", remedy.ActionRestart, "systemctl restart kubelet", "systemctl restart kubelet", false}, // in the end, systemd sends SIGKILL
	} {
		got := despiteWait(step(tt.action, tt.command), stall.Waiter{Thread: procs.Thread{PID: 5000, TID: 5001, Wait: procs.Wait{Kill: tt.kill}}})
		if got.String() != tt.want || strings.Contains(got.OnlyIf, "the wait of its thread 5001 has ended before") != tt.first {
			t.Errorf("%s, kill %q: %+v", tt.command, tt.kill, got)
		}
	}
}

// TestOrderOfStopping has a dead FUSE mount that one process holds which can be stopped at once, and another that waits for it
// as no signal ends: that one comes after the step that ends its wait.
func TestOrderOfStopping(t *testing.T) {
	e := sickNode(t)
	for _, pid := range []int{5000, 5001} {
		busy(holders.Holder{PID: pid, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	}
	process(procs.Process{PID: 5001, Comm: "tail", State: "S", Command: []string{"tail"}})(t, &e)
	blockedIn(procs.Thread{PID: 5000, TID: 5000, MountID: 60, Device: "0:47", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitFUSE}})(t, &e)
	wantSteps(t, &e, "kill 5001", "sh -c 'echo 1 > /sys/fs/fuse/connections/47/abort'", "kill 5000", "umount -c "+deadPoint)
	for i := range e.Mounts.Mounts {
		if m := &e.Mounts.Mounts[i]; m.ID == 60 {
			m.FSType, m.Class = "nfs4", mounts.ClassNetwork
		}
	}
	for i := range e.Threads {
		e.Threads[i].Wait = procs.Wait{Kind: procs.WaitServer, FS: "nfs"}
	}
	force := "umount -i -c -f " + deadPoint // the same twice: it ends the wait, and then it unmounts
	wantSteps(t, &e, "kill 5001", force, "kill 5000", force)
}

// TestBusyTellsWhatIsNotSeen wants the processes to be named that may hold it, too.
func TestBusyTellsWhatIsNotSeen(t *testing.T) {
	e := sickNode(t)
	busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	e.MountUse.Unseen = []string{"process 5003: its thread 5003 (cat) closes a file"}
	f := forensics.Analyze(&e, []forensics.Check{unmountBusy}).Findings[0]
	if want := "The open files of some processes are not known: process 5003: its thread 5003 (cat) closes a file."; !strings.Contains(f.Detail, want) {
		t.Errorf("says %s, want %q", f.Detail, want)
	}
}

// TestRemediesOfKernelUsers wants what is mounted to go first, and a command for each.
func TestRemediesOfKernelUsers(t *testing.T) {
	e := sickNode(t)
	holding(func(h *forensics.MountUse) {
		for _, k := range []holders.KernelUser{
			{Use: holders.UseBinfmt, What: "/proc/sys/fs/binfmt_misc/qemu-arm", Detail: deadPoint + "/qemu"},
			{Use: holders.UseLoop, What: "/dev/loop3", Detail: deadPoint + "/image", UsedBy: []string{"/mnt/inner", "/dev/dm-1"}},
			{Use: holders.UseUprobe, What: "bcc/malloc", Detail: deadPoint + "/libc.so"},
			{Use: holders.UseImage, UserMount: 71, What: "/layers/1", Detail: deadPoint + "/layer.erofs"},
			{Use: holders.UseMount, UserMount: 72, What: deadPoint + "/a/b"},
		} {
			k.MountID, k.Device, k.Blocks = 60, "0:47", true
			h.Kernel = append(h.Kernel, k)
			if k.UserMount != 0 {
				e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: k.UserMount, ParentID: 60, Device: "0:70", Root: "/", MountPoint: k.What, FSType: "tmpfs"})
			}
		}
	})(t, &e)
	f := forensics.Analyze(&e, []forensics.Check{unmountBusy}).Findings[0]
	for i, want := range []string{
		"umount -c " + deadPoint + "/a/b", "umount -c /layers/1", "Unregister the interpreter: write -1 to /proc/sys/fs/binfmt_misc/qemu-arm",
		"losetup -d /dev/loop3", `sh -c 'echo "-:$1" >> /sys/kernel/tracing/uprobe_events' sh bcc/malloc`,
	} {
		if got := f.Remedies[i].String(); got != want {
			t.Errorf("step %d is %q, want %q", i, got, want)
		}
	}
	if got, want := f.Remedies[0].OnlyIf, "mount 72 still exists (grep '^72 ' /proc/self/mountinfo)"; !strings.Contains(got, want) {
		t.Errorf("the mount in the volume goes if %q, want %q", got, want)
	}
	for _, want := range []string{deadPoint + "/layer.erofs is mounted at /layers/1 (mount 71)", "has its interpreter " + deadPoint + "/qemu open", "loop device /dev/loop3 uses " + deadPoint + "/image, and is itself in use by /mnt/inner, /dev/dm-1", "uprobe event bcc/malloc is set in " + deadPoint + "/libc.so"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("says %s, want %q", f.Detail, want)
		}
	}
}

// TestUnmountBusyNamesItsUser has one process with four open files: the headline and the effect name it, the detail names its files.
func TestUnmountBusyNamesItsUser(t *testing.T) {
	e := sickNode(t)
	for fd := range 4 {
		busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: fd, Path: fmt.Sprintf("%s/%d", deadPoint, fd)})(t, &e)
	}
	f, ok := findingOf(forensics.Analyze(&e, []forensics.Check{unmountBusy}), "unmount-busy")
	if want := "Volume cephfs-data of pod " + deadUID + " cannot be unmounted: in use by nginx (pid 5000)"; !ok || f.Title != want {
		t.Errorf("%q, want %q", f.Title, want)
	}
	if want := "volume cephfs-data in use by nginx (pid 5000)"; f.Effect != want {
		t.Errorf("%q, want %q", f.Effect, want)
	}
	if want := "/2\" open (descriptor 2) and 1 more."; !strings.Contains(f.Detail, want) {
		t.Errorf("says %s, want %q", f.Detail, want)
	}
}
