package checks

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// TestIncidentsHaveOneCause: what another check says of the same trouble is not said again, and an effect is linked to its cause.
func TestIncidentsHaveOneCause(t *testing.T) {
	const ioError, blocked = "blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ)", "INFO: task jbd2/sdb1-8:312 blocked for more than 120 seconds."
	const notRegistered = `kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers`
	const certificate = `"Unable to update node status" err="Get \"https://10.0.0.1:6443/api/v1/nodes/n\": dial tcp 10.0.0.1:6443: connect: connection refused"`
	goes := says(2, "10:12:20", goesOn)
	for _, c := range []struct {
		name string
		base func(testing.TB) forensics.Evidence
		want []string // "id subject because …" of all that is worse than information
		root string
	}{
		{
			"a disk fails, and a task waits", pasted(kernelSays(5, "10:12:00", ioError), kernelSays(1, "10:12:10", blocked), goes),
			[]string{"kernel-hung-task warning process 312 because disk sdb", "kernel-io-error warning disk sdb"},
			"disk sdb",
		},
		{
			"two disks fail, and a task waits for one", pasted(kernelSays(5, "10:12:00", ioError), kernelSays(5, "10:12:00", "blk_update_request: I/O error, dev sdc, sector 8"), kernelSays(1, "10:12:10", blocked), goes),
			[]string{"kernel-hung-task warning process 312", "kernel-io-error warning disk sdb", "kernel-io-error warning disk sdc"},
			"disk sdb",
		},
		{
			"a disk fails, and its file system", pasted(kernelSays(5, "10:12:00", ioError), kernelSays(1, "10:12:10", "EXT4-fs (sdb1): Remounting filesystem read-only"), goes),
			[]string{"filesystem-error warning disk sdb1 because disk sdb", "kernel-io-error warning disk sdb"},
			"disk sdb",
		},
		{
			"a driver is not registered, and its volume is not mounted", pasted(says(4, "10:12:10", volumeFails(awsDisk, "MountVolume.MountDevice", notRegistered)), goes),
			[]string{"csi-driver-missing warning csi-driver ebs.csi.aws.com"},
			"csi-driver ebs.csi.aws.com",
		},
		{
			"a certificate has expired, and the API server is not reached", pasted(says(4, "10:12:10", `"Unable to authenticate" err="x509: certificate has expired or is not yet valid: current time 2026-11-20T10:12:00Z is after 2026-11-19T00:00:00Z"`),
				says(4, "10:12:11", certificate), goes),
			[]string{"api-server-unreachable warning server kube-apiserver because certificate certificate", "certificate-expired warning certificate certificate"},
			"certificate certificate",
		},
		{
			"the runtime is down, and the node is NotReady", pasted(says(4, "10:12:15", `"Skipping pod synchronization" err="container runtime is down"`),
				says(1, "10:09:00", `"Node became not ready" node="n" condition={"type":"Ready","status":"False","reason":"KubeletNotReady","message":"container runtime is down"}`), goes),
			[]string{"node-not-ready warning node Ready because runtime runtime", "runtime-unresponsive critical runtime runtime"},
			"runtime runtime",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := c.base(t)
			a := forensics.Analyze(&e, All())
			var got []string
			for n, s := range summaries(a) {
				if a.Findings[n].Severity != forensics.Info && a.Findings[n].ID != "kubelet-syncloop-stalled" {
					got = append(got, s)
				}
			}
			if !slices.Equal(sorted(got), sorted(c.want)) {
				t.Errorf("findings = %q; want %q", got, c.want)
			}
			if len(a.Diagnoses) == 0 || a.Diagnoses[0].Root.String() != c.root {
				t.Errorf("diagnoses = %+v; want the root %s", a.Diagnoses, c.root)
			}
		})
	}
}

// TestIncidentsLeaveMountsToTheirChecks: where the mounts are known, a server or a disk of theirs is judged with them.
func TestIncidentsLeaveMountsToTheirChecks(t *testing.T) {
	for _, c := range []struct {
		name  string
		about logs.Subject
		kind  logs.Kind
		check forensics.Check
		want  int
	}{
		{"a server of a mount", logs.Subject{Server: "10.0.0.5"}, logs.KindKernelNFSDown, kernelServerUnresponsive, 0},
		{"another server", logs.Subject{Server: "10.9.9.9"}, logs.KindKernelNFSDown, kernelServerUnresponsive, 1},
		{"a disk of a mount", logs.Subject{Device: "vda"}, logs.KindKernelDeviceOffline, kernelIOError, 0},
		{"another disk", logs.Subject{Device: "sdz"}, logs.KindKernelDeviceOffline, kernelIOError, 1},
		{"a file system of a mount", logs.Subject{Device: "vda"}, logs.KindKernelFSReadOnly, fileSystemError, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := wellNode(t)
			tells(fromKernel(event(c.kind, 5, "10:00:00", "10:12:00", c.about)))(t, &e)
			if a := forensics.Analyze(&e, []forensics.Check{c.check}); len(a.Findings) != c.want || len(a.Diagnoses) != 0 {
				t.Errorf("findings = %+v; want %d, and none worse than information", a.Findings, c.want)
			}
		})
	}
}

// TestHungTaskIsNotSaidTwice: a thread that thread-blocked reports is no second finding.
func TestHungTaskIsNotSaidTwice(t *testing.T) {
	e := sickNode(t)
	task := fromKernel(event(logs.KindKernelHungTask, 3, "10:06:00", "10:12:00", logs.Subject{Process: "kubelet (9839)"}))
	tells(task)(t, &e)
	a := forensics.Analyze(&e, []forensics.Check{threadBlocked, kernelHungTask})
	if len(a.Findings) != 1 || a.Findings[0].ID != "thread-blocked" {
		t.Errorf("findings = %+v; want thread-blocked alone", a.Findings)
	}
}
