package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

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

func roots(a forensics.Analysis) []string {
	var list []string
	for _, d := range a.Diagnoses {
		list = append(list, fmt.Sprintf("%s %s", d.Severity, d.Root))
	}
	return list
}

// TestStoppingDespiteAWait tells waits that SIGKILL ends, as those for an NFS server, from others.
func TestAnotherExaminationIsLetAlone(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		3 * time.Second: "may be under way", -time.Second: "may be under way", time.Hour: "never came back from this mount",
	} {
		e := wellNode(t)
		e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
		busy(procs.Holder{PID: 6001, Kind: procs.HoldFD, FD: 7, Path: e.Mounts.Mounts[2].MountPoint})(t, &e)
		process(procs.Process{PID: 6001, Comm: "nodeforensics", State: "S", Command: []string{}, Started: e.Collected.Add(-ago)})(t, &e)
		a := forensics.Analyze(&e, []forensics.Check{UnmountBusy})
		if len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Remedies[0].Why, want) {
			t.Errorf("begun %s before: %+v, want %q", ago, a.Findings, want)
		}
	}
}

func TestStoppingDespiteAWait(t *testing.T) {
	step := func(command string) forensics.Remedy {
		return forensics.Remedy{Command: command, Precondition: "its owner agrees", Risk: "what it does is interrupted"}
	}
	for _, tt := range []struct {
		kill, command, want string
		first               bool // the wait has to be ended first
	}{
		{"yes", "kill 5000", "kill -9 5000", false},
		{"no", "kill 5000", "kill 5000", true},
		{"", "kill 5000", "kill 5000", true},
		{"yes", "systemctl restart kubelet", "systemctl restart kubelet", false}, // in the end, systemd sends SIGKILL
	} {
		got := despiteWait(step(tt.command), waiter{thread: procs.Thread{PID: 5000, TID: 5001, Wait: procs.Wait{Kill: tt.kill}}})
		if got.Command != tt.want || strings.Contains(got.Precondition, "the wait of its thread 5001 has been ended first") != tt.first {
			t.Errorf("%s, kill %q: %+v", tt.command, tt.kill, got)
		}
	}
}

// TestOrderOfStopping has a dead FUSE mount that one process holds which can be stopped at once, and another that waits for it
// as no signal ends: that one comes after the step that ends its wait.
func TestOrderOfStopping(t *testing.T) {
	e := sickNode(t)
	for _, pid := range []int{5000, 5001} {
		busy(procs.Holder{PID: pid, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	}
	process(procs.Process{PID: 5001, Comm: "tail", State: "S", Command: []string{"tail"}})(t, &e)
	blockedIn(procs.Thread{PID: 5000, TID: 5000, MountID: 60, Device: "0:47", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitFUSE}})(t, &e)
	wantSteps(t, &e, "kill 5001", "echo 1 > /sys/fs/fuse/connections/47/abort", "kill 5000", "umount -c "+deadPoint)
	for i := range e.Mounts.Mounts {
		if m := &e.Mounts.Mounts[i]; m.ID == 60 {
			m.FSType, m.Class = "nfs4", mounts.ClassNetwork
		}
	}
	e.Threads[len(e.Threads)-1].Wait = procs.Wait{Kind: procs.WaitServer, FS: "nfs"}
	force := "umount -i -c -f " + deadPoint // the same twice: it ends the wait, and then it unmounts
	wantSteps(t, &e, "kill 5001", force, "kill 5000", force)
}

// wantSteps compares the steps of the diagnosis of a mount that is busy.
func wantSteps(t *testing.T, e *forensics.Evidence, want ...string) {
	t.Helper()
	var got []string
	for _, r := range forensics.Analyze(e, []forensics.Check{UnmountBusy}).Diagnoses[0].Remedies {
		got = append(got, r.Command)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestUnpinning wants the way to where a namespace is mounted, which may be in another one than the host's.
func TestUnpinning(t *testing.T) {
	const pod = "umount -c /host" + deadPoint
	for name, c := range map[string]struct {
		pins []forensics.PinnedNamespace
		want []string
	}{
		"on the host": {
			[]forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/inside", MountNS: 7}, {Namespace: 99, MountPoint: "/run/x", MountNS: 1}},
			[]string{"nsenter --mount=/run/x " + pod, "umount -c /run/x"},
		},
		"in a container": {
			[]forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/run/x", MountNS: 7}},
			[]string{"nsenter --mount=/proc/5001/root/run/x " + pod, "nsenter -m -t 5001 umount -c /run/x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := wellNode(t)
			e.Mounts.Namespace = 1
			holding(func(h *forensics.Held) {
				m := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
				h.Leaked, h.Pinned = []forensics.LeakedMount{{Namespace: 99, Mount: m}}, c.pins
			}, process(procs.Process{PID: 5001, Comm: "dind", State: "S", MountNS: 7}))(t, &e)
			var got []string
			for _, r := range forensics.Analyze(&e, []forensics.Check{MountLeakedNamespace}).Findings[0].Remedies {
				got = append(got, r.Command)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStepsForALeakedMount wants all copies unmounted, inner ones first, before the processes are stopped that the steps go
// through, and all of those: the namespace ends with the last.
func TestStepsForALeakedMount(t *testing.T) {
	e := wellNode(t)
	outer := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	inner := outer
	inner.ID, inner.MountPoint = 901, outer.MountPoint+"/in it"
	agent := procs.Process{PID: 5001, Comm: "agent", State: "S", MountNS: 99, Command: []string{}}
	helper := agent
	helper.PID = 5002
	other := outer
	other.ID, other.Device, other.MountPoint = 902, "0:61", strings.Replace(outer.MountPoint, "cephfs-data", "other", 1)
	holding(func(h *forensics.Held) {
		h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: outer}, {Namespace: 99, Mount: inner}, {Namespace: 99, Mount: other}}
	}, process(agent), process(helper))(t, &e)
	var got []string
	for _, r := range forensics.Analyze(&e, []forensics.Check{MountLeakedNamespace}).Diagnoses[0].Remedies {
		got = append(got, r.Command)
	}
	want := []string{
		"nsenter -m -t 5001 umount -c '" + inner.MountPoint + "'", "nsenter -m -t 5001 umount -c " + outer.MountPoint,
		"nsenter -m -t 5001 umount -c " + other.MountPoint, "kill 5001 5002",
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

// TestStoppingWhatAPodHasLeft wants no deletion of a pod that is being deleted: its process goes on in spite of that.
func TestStoppingWhatAPodHasLeft(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(testing.TB, *forensics.Evidence)
	}{
		{"a pod that lives", "Delete the pod default/db (" + deadUID + ") (kubectl delete pod), or have its container restarted", nil},
		{"a pod that is going", "kill 5002", deleting("volumes", "10:05:00", nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := wellNode(t)
			e.Pods = []kubelet.Pod{}
			both(busy(procs.Holder{PID: 5002, Kind: procs.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 5002, Comm: "postgres", State: "S", PodUID: deadUID}),
				tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", logs.Subject{PodUID: deadUID, PodName: "default/db", Path: deadPoint})))(t, &e)
			if tt.change != nil {
				tt.change(t, &e)
			}
			var got []string
			for _, f := range forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings {
				for _, r := range f.Remedies {
					got = append(got, r.Command)
				}
			}
			if want := []string{tt.want, "umount -c " + deadPoint}; !slices.Equal(got, want) {
				t.Errorf("steps %q, want %q", got, want)
			}
		})
	}
}

// TestStoppingProcesses wants no command that stops what must not be stopped, or a unit that does not exist.
func TestStoppingProcesses(t *testing.T) {
	e := wellNode(t)
	for pid, comm := range map[int]string{1: "systemd", 7: "dockerd", 8: "kubelet", 9: "nginx"} {
		process(procs.Process{PID: pid, Comm: comm, State: "S"})(t, &e)
	}
	process(procs.Process{PID: 10, Comm: "kubelet", State: "S", UserNS: 1, Identity: &procs.Identity{ReaderUserNS: 1, UIDs: []int{1000, 1000, 1000}}})(t, &e)
	process(procs.Process{PID: 11, Comm: "nodeforensics", State: "S", PodUID: liveUID})(t, &e)
	p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
	for pid, want := range map[int]string{
		1: "Find out what process 1 (systemd) does with it", 7: "systemctl restart docker", 8: "systemctl restart kubelet", 9: "kill 9",
		10: "kill 10", 11: "Delete the pod default/web (" + liveUID + ") (kubectl delete pod), or have its container restarted", // whatever they call themselves
	} {
		if got := stopHolder(p, pid).Command; got != want {
			t.Errorf("process %d: %q, want %q", pid, got, want)
		}
	}
	if r := reapRemedy(p, 1); strings.Contains(r.Command, "kill") || !strings.HasPrefix(r.Why, "process 1 (systemd) is to reap them") {
		t.Errorf("zombies of process 1: %+v", r)
	}
}

// TestBusyTellsWhatIsNotSeen wants the processes to be named that may hold it, too.
func TestBusyTellsWhatIsNotSeen(t *testing.T) {
	e := sickNode(t)
	busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	e.Held.Unseen = []string{"process 5003: its thread 5003 (cat) closes a file"}
	f := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings[0]
	if want := "Of some processes it is not known what they hold: process 5003: its thread 5003 (cat) closes a file."; !strings.Contains(f.Detail, want) {
		t.Errorf("says %s, want %q", f.Detail, want)
	}
}

// TestRemediesOfKernelUsers wants what is mounted to go first, and a command for each.
func TestRemediesOfKernelUsers(t *testing.T) {
	e := sickNode(t)
	holding(func(h *forensics.Held) {
		for _, k := range []mounts.KernelUser{
			{Use: mounts.UseBinfmt, What: "/proc/sys/fs/binfmt_misc/qemu-arm", Detail: deadPoint + "/qemu"},
			{Use: mounts.UseLoop, What: "/dev/loop3", Detail: deadPoint + "/image", UsedBy: []string{"/mnt/inner", "/dev/dm-1"}},
			{Use: mounts.UseUprobe, What: "bcc/malloc", Detail: deadPoint + "/libc.so"},
			{Use: mounts.UseImage, UserMount: 71, What: "/layers/1", Detail: deadPoint + "/layer.erofs"},
			{Use: mounts.UseMount, UserMount: 72, What: deadPoint + "/a/b"},
		} {
			k.MountID, k.Device, k.Blocks = 60, "0:47", true
			h.Kernel = append(h.Kernel, k)
		}
	})(t, &e)
	f := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings[0]
	for i, want := range []string{
		"umount -c " + deadPoint + "/a/b", "umount -c /layers/1", "echo -1 > /proc/sys/fs/binfmt_misc/qemu-arm",
		"losetup -d /dev/loop3", "echo -:bcc/malloc >> /sys/kernel/tracing/uprobe_events",
	} {
		if got := f.Remedies[i].Command; got != want {
			t.Errorf("step %d is %q, want %q", i, got, want)
		}
	}
	for _, want := range []string{deadPoint + "/layer.erofs is mounted at /layers/1 (mount 71)", "has its interpreter " + deadPoint + "/qemu open", "loop device /dev/loop3 uses " + deadPoint + "/image, and is itself in use by /mnt/inner, /dev/dm-1", "uprobe event bcc/malloc is in " + deadPoint + "/libc.so"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("says %s, want %q", f.Detail, want)
		}
	}
}

// TestRemediesOfFUSE wants the commands that fit: a signal moves no server that a debugger has stopped, and the connection
// of a fuseblk mount is not called by its minor number, which may be that of another.
func TestRemediesOfFUSE(t *testing.T) {
	for state, want := range map[string]string{"T": "kill -CONT 6000", "t": "grep TracerPid /proc/6000/status"} {
		e := sickNode(t)
		server(state, "ceph-fuse")(t, &e)
		f := forensics.Analyze(&e, []forensics.Check{FUSEServerDead}).Findings[0]
		if got := f.Remedies[0].Command; got != want {
			t.Errorf("state %s: remedy %q, want %q", state, got, want)
		}
	}
	for state, want := range map[string][]string{
		"T": {"kill -CONT 6000"}, "S": {"Look at process 6000 (ceph-fuse), which has the connection of "},
	} {
		e := sickNode(t)
		both(server(state, "ceph-fuse"), busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, Path: deadPoint}))(t, &e)
		want = append(want, "echo 1 > /sys/fs/fuse/connections/47/abort", "kill 5000", "umount -c -l "+deadPoint)
		var got []string
		for _, r := range forensics.Analyze(&e, []forensics.Check{MountHung, FUSEServerDead, UnmountBusy}).Diagnoses[0].Remedies {
			got = append(got, r.Command)
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("state %s: steps %q, want %q", state, got, want)
		}
	}
	for device, want := range map[string]string{"0:46": "/46/", "7:46": "/7340078/"} {
		if got := abortFUSE(mounts.Mount{Device: device}).Command; !strings.Contains(got, want) {
			t.Errorf("%s: remedy %q, want connection %s", device, got, want)
		}
	}
}

// TestStepsOfADiagnosis wants holders stopped before anything is unmounted, and the plan last, from whatever findings the
// steps are.
func TestStepsOfADiagnosis(t *testing.T) {
	for state, want := range map[mounts.Status][]string{
		mounts.StatusOK:           {"kill 5000", "umount -c " + deadPoint, planFirst().Command},
		mounts.StatusDisconnected: {"kill 5000", "umount -c " + deadPoint, "umount -c -l " + deadPoint, planFirst().Command},
	} {
		e := sickNode(t)
		e.Threads, e.Dumps = nil, nil
		both(status(state), busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, Path: deadPoint}))(t, &e)
		var got []string
		for _, d := range forensics.Analyze(&e, []forensics.Check{PodOrphanedMounted, MountDisconnected, UnmountBusy}).Diagnoses {
			for _, r := range d.Remedies {
				got = append(got, r.Command)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: steps %q, want %q", state, got, want)
		}
	}
}

// TestSinceCountsFromTheSecondLook has a thread that waits for 32 s at the second look, 7 s after the examination began.
func TestSinceCountsFromTheSecondLook(t *testing.T) {
	e := sickNode(t)
	waited := 32.0
	e.Threads[0].WaitSeconds, e.Threads[0].SampledSeconds = &waited, 7
	for i := range e.Dumps[0].Goroutines {
		e.Dumps[0].Goroutines[i].WaitMinutes = 0
	}
	want := e.Collected.Add(-25 * time.Second)
	for _, f := range forensics.Analyze(&e, []forensics.Check{ThreadBlocked, KubeletHousekeepingBlocked}).Findings {
		if f.Since == nil || !f.Since.Equal(want) {
			t.Errorf("%s: since %v, want %v", f.Title, f.Since, want)
		}
	}
}
