package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func roots(a forensics.Analysis) []string {
	var list []string
	for _, d := range a.Diagnoses {
		list = append(list, fmt.Sprintf("%s %s", d.Severity, d.Root))
	}
	return list
}

// The evidence of a holder says whether its file was deleted, and whether the mount was only concluded from its path.
func TestEvidenceOfAHolder(t *testing.T) {
	for want, h := range map[string]holders.Holder{
		"":                                      {},
		" (deleted)":                            {Deleted: true},
		" (mount known only by path)":           {ByPath: true},
		" (deleted) (mount known only by path)": {Deleted: true, ByPath: true},
	} {
		h.PID, h.Kind, h.FD, h.Path = 6001, holders.HoldFD, 7, "/mnt/log"
		if ref := mountuse.Ref(h); ref.Excerpt != h.String()+want || ref.Source != "holders:6001" {
			t.Errorf("%+v, want %q of holders:6001", ref, h.String()+want)
		}
	}
}

// A process that calls itself kubelet, and is not, is evidence for the finding that none runs.
func TestEvidenceOfAnImpostor(t *testing.T) {
	e := wellNode(t)
	posing("unit /etc/systemd/system/kubelet.service")(t, &e)
	f, ok := findingOf(forensics.Analyze(&e, []forensics.Check{kubeletNotRunning}), kubeletNotRunning.ID)
	if !ok || !slices.ContainsFunc(f.Refs, func(r forensics.Ref) bool {
		return r.Source == "processes:4711" && strings.Contains(r.Excerpt, "is in the cgroup of pod")
	}) {
		t.Errorf("%+v, want process 4711 among the evidence", f.Refs)
	}
}

// wantSteps compares the steps of the diagnosis of a mount that is busy.
func wantSteps(t *testing.T, e *forensics.Evidence, want ...string) {
	t.Helper()
	var got []string
	for _, r := range forensics.Analyze(e, []forensics.Check{unmountBusy}).Diagnoses[0].Remedies {
		got = append(got, r.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// stepsOf are the commands of what one check says.
func stepsOf(e *forensics.Evidence, check forensics.Check) []string {
	var got []string
	for _, f := range forensics.Analyze(e, []forensics.Check{check}).Findings {
		for _, r := range f.Remedies {
			got = append(got, r.String())
		}
	}
	return got
}

// TestWhatAPodInvents has a pod with mounts of its own in its own namespace, at paths of the host and of another pod: neither are
// those of the host touched, nor is the other pod named.
func TestWhatAPodInvents(t *testing.T) {
	for _, point := range []string{kubeletRoot, "/run", deadPoint, kubeletRoot + "/plugins/kubernetes.io/csi/x/globalmount"} {
		for state, pid := range map[string]int{"served by nobody": 0, "whose server is stopped": 5001} {
			t.Run(point+" "+state, func(t *testing.T) {
				e := wellNode(t)
				m := mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: point, FSType: "fuse.x", Class: mounts.ClassFUSE, Source: "x"}
				holding(func(h *forensics.MountUse) {
					h.UserNS, h.Foreign = hostUserNS, []forensics.ForeignMount{{Namespace: 99, Mount: m, Owner: podUserNS}}
					serves(h, forensics.FUSEServer{Device: "0:61", PID: pid})
				}, process(procs.Process{PID: 5001, Comm: "evil", State: "T", MountNS: 7, PodUID: liveUID, Command: []string{"evil", deadPoint}}))(t, &e)
				a := forensics.Analyze(&e, All())
				if len(a.Findings) < 2 {
					t.Errorf("%d findings, want them to be told", len(a.Findings))
				}
				for _, f := range a.Findings {
					if f.Severity != forensics.Info || slices.Contains(f.Pods, deadUID) {
						t.Errorf("%s %s %s of pods %s, want information that does not name the other pod", f.Severity, f.ID, f.Title, f.Pods)
					}
					for _, r := range f.Remedies {
						if !strings.HasPrefix(r.String(), "Delete the pod default/web ") {
							t.Errorf("%s: step %q", f.ID, r.String())
						}
					}
				}
			})
		}
	}
}

// TestStoppingWhatAPodHasLeft wants no deletion of a pod that is being deleted: its process goes on in spite of that.
func TestStoppingWhatAPodHasLeft(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(testing.TB, *forensics.Evidence)
	}{
		{"a pod that lives, whose name only a line of a log says", "Delete the pod with the UID " + deadUID + " (kubectl delete pod), or restart its container", nil},
		{"a pod that lives", "Delete the pod default/web (" + deadUID + ") (kubectl delete pod), or restart its container", named("runtime")},
		{
			"a pod that lives, whose name is what it wrote into its hosts file", "Delete the pod with the UID " + deadUID + " (kubectl delete pod), or restart its container",
			func(_ testing.TB, e *forensics.Evidence) {
				e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: deadUID, HostName: "coredns-5d78c9869d-x7x2p"})
				e.Logs.Events = nil
				e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
			},
		},
		{"a pod that is going", "kill 5002", deleting("volumes", "10:05:00", nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := wellNode(t)
			e.Pods = []kubelet.Pod{}
			both(busy(holders.Holder{PID: 5002, Kind: holders.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 5002, Comm: "postgres", State: "S", PodUID: deadUID}),
				tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", logs.Subject{PodUID: deadUID, PodName: "default/db", Path: deadPoint})))(t, &e)
			if tt.change != nil {
				tt.change(t, &e)
			}
			var got []string
			for _, f := range forensics.Analyze(&e, []forensics.Check{unmountBusy}).Findings {
				for _, r := range f.Remedies {
					got = append(got, r.String())
				}
			}
			if want := []string{tt.want, "umount -c " + e.Mounts.Mounts[2].MountPoint}; !slices.Equal(got, want) {
				t.Errorf("steps %q, want %q", got, want)
			}
		})
	}
}

// named has a source name the pod that is gone.
func named(source string) change {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Pods = []kubelet.Pod{{UID: deadUID, Namespace: "default", Name: "web", Source: source}}
	}
}

// TestStoppingProcesses wants no command that stops what must not be stopped, or a unit that does not exist.
func TestStoppingProcesses(t *testing.T) {
	e := wellNode(t)
	for pid, process := range map[int]procs.Process{
		1: {Comm: "systemd"}, 7: {Comm: "dockerd", Cgroup: "/system.slice/docker.service"}, 8: {Comm: "kubelet", Cgroup: "/system.slice/snap.kubelet.daemon.service"},
		9: {Comm: "nginx", Cgroup: "/system.slice/docker.service", Started: *at("09:00:00")}, 13: {Comm: "nodeforensics", PodUID: liveUID}, 10: {Comm: "kubelet", Cgroup: "/kubelet"}, 11: {Comm: "kubelet", ContainerID: "c"},
		12: {Comm: "crio", Cgroup: "/user.slice/user-1.slice/user@1.service/app.slice/docker.service"}, 0: {Comm: "x"}, -1: {Comm: "x"},
	} {
		process.PID, process.State = pid, "S"
		e.Processes = append(e.Processes, process)
	}
	process(procs.Process{PID: 15, Comm: "kubelet", State: "S", Cgroup: "/system.slice/kubelet.service", UserNS: 1, Identity: &procs.Identity{ReaderUserNS: 1, UIDs: []int{1000, 1000, 1000}}})(t, &e)
	p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
	for pid, want := range map[int]string{
		1: "Find out why process 1 (systemd) uses it", 7: "systemctl restart docker.service", 8: "systemctl restart snap.kubelet.daemon.service", 9: "kill 9",
		10: "Restart the unit of process 10 (kubelet): systemctl status 10 names it", 11: "kill 11",
		12: "Restart the unit of process 12 (crio): systemctl status 12 names it",
		13: "Delete the pod default/web (" + liveUID + ") (kubectl delete pod), or restart its container",
		15: "kill 15", // whatever it calls itself
		0:  "Identify the process: no signal may be sent to pid 0",
		-1: "Identify the process: no signal may be sent to pid -1",
	} {
		if got := remedy.StopHolder(p, pid).String(); got != want {
			t.Errorf("process %d: %q, want %q", pid, got, want)
		}
	}
	if got, want := remedy.StopHolder(p, 9).OnlyIf, "it is still the same process (TZ=UTC ps -o pid,lstart,comm -p 9: started 2026-11-20 09:00:00), and its owner agrees"; got != want {
		t.Errorf("if %q, want %q", got, want)
	}
	if got := remedy.StopHolder(p, 14); !strings.HasPrefix(got.String(), "ps ") || got.Risk != "none: read-only" {
		t.Errorf("a process that was not seen: %+v", got)
	}
	if r := reapRemedy(p, 1); strings.Contains(r.String(), "kill") || !strings.HasPrefix(r.Why, "process 1 (systemd) must reap them") {
		t.Errorf("zombies of process 1: %+v", r)
	}
}

// TestRemediesOfFUSE wants the commands that fit: a signal moves no server that a debugger has stopped, and the connection
// of a fuseblk mount is not called by its minor number, which may be that of another.
func TestRemediesOfFUSE(t *testing.T) {
	for state, want := range map[string]string{"T": "kill -CONT 6000", "t": "grep TracerPid /proc/6000/status"} {
		e := sickNode(t)
		server(state, "ceph-fuse")(t, &e)
		f := forensics.Analyze(&e, []forensics.Check{fuseServerDead}).Findings[0]
		if got := f.Remedies[0].String(); got != want {
			t.Errorf("state %s: remedy %q, want %q", state, got, want)
		}
	}
	for state, want := range map[string][]string{
		"T": {"kill -CONT 6000"}, "S": {"Check process 6000 (ceph-fuse): it has the connection of "},
	} {
		e := sickNode(t)
		both(server(state, "ceph-fuse"), busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}))(t, &e)
		want = append(want, "sh -c 'echo 1 > /sys/fs/fuse/connections/47/abort'", "kill 5000", "umount -c -l "+deadPoint)
		var got []string
		for _, r := range forensics.Analyze(&e, []forensics.Check{mountHung, fuseServerDead, unmountBusy}).Diagnoses[0].Remedies {
			got = append(got, r.String())
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("state %s: steps %q, want %q", state, got, want)
		}
	}
	for device, want := range map[string]string{"0:46": "/46/", "7:46": "/7340078/"} {
		if got := remedy.AbortFUSE(mounts.Mount{Device: device}).String(); !strings.Contains(got, want) {
			t.Errorf("%s: remedy %q, want connection %s", device, got, want)
		}
	}
}

// TestStepsOfADiagnosis wants holders stopped before anything is unmounted, and the plan last, from whatever findings the
// steps are.
func TestStepsOfADiagnosis(t *testing.T) {
	for state, want := range map[mounts.Status][]string{
		mounts.StatusOK:           {"kill 5000", "umount -c " + deadPoint, orphans.PlanFirst().String()},
		mounts.StatusDisconnected: {"kill 5000", "umount -c " + deadPoint, "umount -c -l " + deadPoint, orphans.PlanFirst().String()},
	} {
		e := sickNode(t)
		e.Threads, e.Dumps = nil, nil
		both(status(state), busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, Path: deadPoint}))(t, &e)
		var got []string
		for _, d := range forensics.Analyze(&e, []forensics.Check{podOrphanedMounted, mountDisconnected, unmountBusy}).Diagnoses {
			for _, r := range d.Remedies {
				got = append(got, r.String())
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
	for _, f := range forensics.Analyze(&e, []forensics.Check{threadBlocked, kubeletHousekeepingBlocked}).Findings {
		if f.Since == nil || !f.Since.Equal(want) {
			t.Errorf("%s: since %v, want %v", f.Title, f.Since, want)
		}
	}
}
