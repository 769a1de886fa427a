package checks

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestChains follows causes through what a goroutine waits for: a child process, a lock, the runtime.
func TestChains(t *testing.T) {
	for _, tt := range []struct {
		name   string
		base   func(testing.TB) forensics.Evidence
		change func(testing.TB, *forensics.Evidence)
		want   []string
	}{
		{
			"an unmount waits for umount, which waits for the file server", sickNode,
			func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.13", "B.4 umount waits in the kernel")(tb, e)
				e.Processes = append(e.Processes, procs.Process{PID: 12081, PPID: 9825, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})
				e.Threads[0].PID, e.Threads[0].TID, e.Threads[0].Comm = 12081, 12081, "umount"
				e.Kubelet.Endpoints = nil
			},
			[]string{"superblock 0:47", "mount 60", "thread 12081/12081", "process 12081", "subsystem volume-manager"},
		},
		{
			"housekeeping waits for a lock, its holder for a disk", wellNode,
			withStack("kubelet-1.22", "A.2 lock of the pod workers, held by a worker that waits for a disk"),
			[]string{"goroutine 466", "subsystem housekeeping", "kubelet 9825"},
		},
		{
			"the PLEG waits for a runtime that is stopped", wellNode,
			func(tb testing.TB, e *forensics.Evidence) {
				withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG")(tb, e)
				e.Processes = append(e.Processes, procs.Process{PID: 812, Comm: "containerd", State: "T"})
			},
			[]string{"process 812", "runtime containerd", "subsystem pleg", "subsystem pod-worker"},
		},
		{
			"the PLEG waits for a runtime whose request waits for the file server", deadMount,
			both(withStack("kubelet-1.34", "A.7 PLEG waits for the runtime, and pods for the PLEG"),
				withServer("containerd-1.6.20", "containerd", containerdPID), waits(containerdPID, containerdPID+7, "containerd", 740)),
			[]string{"superblock 0:47", "mount 60", "thread 889/896", "goroutine 889/460", "runtime containerd", "subsystem pleg", "subsystem pod-worker"},
		},
		{
			"a volume operation waits for a driver that waits for the file server", deadMount,
			both(withStack("kubelet-1.22", "B.4 two operations, one of them with a driver"),
				withServer("csi-1.9.0", "csi-driver", csiPID), waits(csiPID, csiPID+7, "csi-driver", 740), argument(csiPID, "--drivername=ceph.csi.example.org")),
			[]string{"superblock 0:47", "mount 60", "thread 2071/2078", "goroutine 2071/47", "csi-driver ceph.csi.example.org"},
		},
		{
			"statistics wait for the file server", sickNode,
			func(tb testing.TB, e *forensics.Evidence) {
				e.Kubelet.Endpoints = nil
				addDump(tb, e, crowd(1, "cadvisor", ", 20 minutes"), 9825)
				e.Threads[0].Syscall = &procs.Syscall{Number: 0x89, Name: "statfs", Args: []string{"0xc00100000000", "0xc00100000100", "0x0", "0x0", "0x0", "0x0"}}
			},
			[]string{"superblock 0:47", "mount 60", "thread 9825/9839", "goroutine 1000", "subsystem cadvisor-statfs"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.base(t)
			tt.change(t, &e)
			a := forensics.Analyze(&e, All())
			if len(a.Diagnoses) == 0 {
				t.Fatalf("no diagnosis; findings %v", summaries(a))
			}
			var chains [][]string
			for _, d := range a.Diagnoses {
				var chain []string
				for _, link := range d.Chain {
					chain = append(chain, string(link.Kind)+" "+link.ID)
				}
				if slices.Equal(chain, tt.want) {
					return
				}
				chains = append(chains, chain)
			}
			t.Errorf("no chain as wanted (-want +first):\n%s\nall: %q\nfindings %v", cmp.Diff(tt.want, chains[0]), chains, summaries(a))
		})
	}
}
