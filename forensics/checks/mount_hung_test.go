package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

var _ = scenariosOf("mount-hung", mountHungInLogs())

func mountHungInLogs() []scenario {
	return []scenario{{
		name: "the kernel says since when", base: sickNode, change: tells(fromKernel(event(logs.KindKernelNFSDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "10.0.0.5"}))),
		want: []string{"critical superblock 0:47"}, says: "Kernel log: NFS server does not respond (10.0.0.5), 4 times from 2026-11-20 09:58:00 UTC.",
	}, {
		name: "the kernel names a daemon of the Ceph cluster, not its address", base: sickNode,
		change: both(func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Mounts[2].FSType = "ceph" },
			tells(fromKernel(event(logs.KindKernelCephDown, 4, "09:58:00", "10:10:00", logs.Subject{Server: "mds0"})))),
		want: []string{"critical superblock 0:47"}, says: "4 times from 2026-11-20 09:58:00 UTC.",
	}}
}

func TestFirstStepOfAHungFUSEMount(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		want   string
	}{
		"its server is not known":         {func(testing.TB, *forensics.Evidence) {}, "Check the process that serves 10.0.0.5:6789:/k8s"},
		"its server is stopped":           {server("T", "ceph-fuse"), "kill -CONT 6000"},
		"its server is traced":            {server("t", "ceph-fuse"), "grep TracerPid /proc/6000/status"},
		"its server sleeps":               {server("S", "ceph-fuse"), "Check process 6000 (ceph-fuse): it has the connection of 10.0.0.5:6789:/k8s (fuse.ceph-fuse) open and is neither stopped"},
		"the server behind it is stopped": {func(tb testing.TB, e *forensics.Evidence) { stackedOn(tb, e, "T") }, "kill -CONT 6001"},
		"the server behind it sleeps":     {func(tb testing.TB, e *forensics.Evidence) { stackedOn(tb, e, "S") }, "Check process 6001 (sshfs): it has the connection of host:/"},
		"two servers wait for each other": {func(tb testing.TB, e *forensics.Evidence) {
			stackedOn(tb, e, "S")
			back := e.Threads[len(e.Threads)-1]
			back.PID, back.TID, back.Device, back.MountID, back.Path = 6001, 6003, "0:47", 60, deadPoint
			e.Threads = append(e.Threads, back)
		}, "Check process 6001 (sshfs): it serves host:/ (fuse.sshfs) and is itself blocked"},
		"of two that have the connection one is stopped": {func(tb testing.TB, e *forensics.Evidence) {
			server("S", "keeper")(tb, e)
			v1.AddServers(e.MountUse, forensics.FUSEServer{Device: "0:47", PID: 6001})
			process(procs.Process{PID: 6001, Comm: "ceph-fuse", State: "T", Command: []string{}})(tb, e)
		}, "kill -CONT 6001"},
		"a guessed server is stopped": {func(tb testing.TB, e *forensics.Evidence) {
			server("T", "ceph-fuse")(tb, e)
			guessed(e)
		}, "kill -CONT 6000"},
	} {
		e := sickNode(t)
		c.change(t, &e)
		for _, f := range forensics.Analyze(&e, []forensics.Check{mountHung}).Findings {
			if f.Subject.ID != "0:47" {
				continue
			}
			if step := f.Remedies[0]; !strings.HasPrefix(step.String(), c.want) {
				t.Errorf("%s: the first step is %q, want %q", name, step.String(), c.want)
			} else if guessed := strings.Contains(step.OnlyIf, "which is a guess"); guessed != strings.Contains(name, "guess") {
				t.Errorf("%s: precondition %q", name, step.OnlyIf)
			}
		}
	}
}
