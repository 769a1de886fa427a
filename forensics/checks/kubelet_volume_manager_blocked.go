package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletVolumeManagerBlocked finds a blocked volume manager, or single blocked operations.
var kubeletVolumeManagerBlocked = forensics.Check{
	ID:    "kubelet-volume-manager-blocked",
	Title: "Volumes are not mounted or unmounted",
	Doc: `One goroutine of the kubelet reconciles the volumes (volumemanager/reconciler). While it is blocked, no volume of the node is
mounted or unmounted: critical. It can block when it reconstructs the volumes on disk after a start: up to 1.27 in
syncStates, after the first pods are known; from 1.28 on in reconstructVolumes, before anything else.

Each operation (mount, unmount, ...) runs on a goroutine of its own (nestedPendingOperations.Run, Generate...Func). A blocked
one blocks one volume and its pod, and is a warning. Where it waits for a child process (mount, umount, fsck, mkfs), the
arguments of wait4 or waitid show the child's pid. With a pidfd (Go 1.23, kubelet 1.32 and later) a dump does not have it.

Evidence: those frames and a wait of at least a minute, or longer than --hung-after by the kernel. Operations that wait for a
CSI driver belong to csi-operation-stuck. Work on millions of files (fsGroup ownership, deleting an emptyDir) is slow, not
hung: its system calls are short, and it is not reported.

Known functions:` + stall.DocOf(volumeManagerSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		if list := stall.All(p, stall.ReconcilerFrame); len(list) > 0 {
			f := stall.Finding(p, stall.VolumeManagerEntity, stall.Headline{
				Is: "kubelet cannot mount or unmount volumes", May: "kubelet may be unable to mount or unmount volumes", Part: "volume manager",
				Effect: "kubelet cannot mount or unmount volumes",
			}, list[:1], volumeManagerSites())
			f.Detail = findings.Sentences("No volume of this node is mounted or unmounted. New pods stay in ContainerCreating, terminated ones are not removed.", f.Detail)
			f.Remedies = []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence()}
			p.Report(f)
		}
		if list := stall.StuckOperations(p); len(list) > 0 {
			p.Report(operationsFinding(p, list))
		}
	},
}

// volumeManagerSites are the parts of the volume manager and its operations that can block, outermost first
// (kubernetes pkg/kubelet/volumemanager, pkg/volume/util/operationexecutor, read in 1.13 to 1.34).
func volumeManagerSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "reconciler.(*reconciler).syncStates", Versions: "1.10 to 1.29", What: "reconstructs volumes found on disk"},
		{Frame: "reconciler.(*reconciler).reconstructVolumes", Versions: "1.25 to 1.36", What: "reconstructs volumes found on disk, before anything else"},
		{Frame: "reconciler.(*reconciler).reconstructVolume", Versions: "1.10 to 1.36", What: "reconstructs one volume"},
		{Frame: "reconciler.(*reconciler).cleanupMounts", Versions: "1.10 to 1.36", What: "unmounts what it could not reconstruct"},
		{Frame: "operationexecutor.(*operationExecutor).CheckVolumeExistenceOperation", Versions: "1.10 to 1.27", What: "checks whether a volume is mounted"},
		{Frame: "populator.(*desiredStateOfWorldPopulator)", Versions: "1.10 to 1.36", What: "determines which volumes the pods need"},
		{Frame: "GenerateMountVolumeFunc", Versions: "1.10 to 1.36", What: "mounts a volume"},
		{Frame: "GenerateUnmountVolumeFunc", Versions: "1.10 to 1.36", What: "unmounts a volume"},
		{Frame: "GenerateUnmountDeviceFunc", Versions: "1.10 to 1.36", What: "unmounts a device"},
		{Frame: "GenerateMapVolumeFunc", Versions: "1.10 to 1.36", What: "maps a block volume"},
		{Frame: "GenerateUnmapVolumeFunc", Versions: "1.10 to 1.36", What: "unmaps a block volume"},
		{Frame: "GenerateUnmapDeviceFunc", Versions: "1.10 to 1.36", What: "unmaps a block device"},
		{Frame: "util/mount.(*Mounter).CleanSubPaths", Versions: "1.10 to 1.13", What: "unmounts subpaths"},
		{Frame: "subpath.(*subpath).CleanSubPaths", Versions: "1.14 to 1.36", What: "unmounts subpaths"},
		{Frame: "operationexecutor.isDeviceOpened", Versions: "1.10 to 1.36", What: "checks whether the device is in use"},
		{Frame: "UnmountWithForce", Versions: "1.21 to 1.36", What: "runs umount, and umount -f after a minute"},
		{Frame: "mount.CleanupMountPoint", Versions: "1.12 to 1.19", What: "unmounts, and removes the directory"},
		{Frame: "mount-utils.CleanupMountPoint", Versions: "1.20 to 1.36", What: "unmounts, and removes the directory"},
		{Frame: "pkg/volume.SetVolumeOwnership", Versions: "1.10 to 1.32", What: "changes the owner of every file"},
		{Frame: "pkg/volume.(*VolumeOwnership)", Versions: "1.33 to 1.36", What: "changes the owner of every file"},
	}, stall.VolumeSites()...)
}

// operationNames are the names of the operations in a report.
var operationNames = []struct{ function, name string }{
	{"GenerateMountVolumeFunc", "mount"},
	{"GenerateUnmountVolumeFunc", "unmount"},
	{"GenerateUnmountDeviceFunc", "unmount device"},
	{"GenerateMapVolumeFunc", "map"},
	{"GenerateUnmapVolumeFunc", "unmap"},
	{"GenerateUnmapDeviceFunc", "unmap device"},
	{"GenerateAttachVolumeFunc", "attach"},
	{"GenerateDetachVolumeFunc", "detach"},
	{"GenerateExpand", "expand"},
	{"GenerateVerifyControllerAttachedVolumeFunc", "verify attachment"},
}

func operationsFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	count := text.Plural(stall.Count(list), "volume operation")
	f := stall.Finding(p, stall.VolumeManagerEntity, stall.Headline{
		Is: "kubelet cannot finish " + count, May: "kubelet may be unable to finish " + count, Part: operations(list),
		Effect: count + map[bool]string{true: " is", false: " are"}[stall.Count(list) == 1] + " blocked",
	}, list, volumeManagerSites())
	byLostServer(p, &f, list)
	f.Severity = stall.NotCritical(f.Severity) // it blocks one volume and its pod
	f.Detail = findings.Sentences("Each operation blocks its volume. A pod that waits for that volume does not start, or stays Terminating.", f.Detail)
	f.Remedies = append(childRemedies(list), remedy.KeepEvidence())
	return f
}

// operations are the names of operations, each once: "mount, unmount".
func operations(list []stall.Goroutine) string {
	var names []string
	for _, t := range list {
		names = findings.Union(names, []string{operationName(t)})
	}
	return strings.Join(names, ", ")
}

func operationName(t stall.Goroutine) string {
	for _, o := range operationNames {
		for _, f := range t.Goroutine.Frames {
			if strings.Contains(f.Func, o.function) {
				return o.name
			}
		}
	}
	if stall.HasFrame(t.Goroutine, stall.PopulatorFrame) {
		return "desired state"
	}
	return "operation"
}

// childRemedies show what the child process waits for.
func childRemedies(list []stall.Goroutine) []forensics.Remedy {
	for _, t := range list {
		if t.Wait.Kind != stall.WaitChild || t.Wait.PID == 0 {
			continue
		}
		proc := fmt.Sprintf("/proc/%d/", t.Wait.PID)
		return []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"cat", "-v", proc + "stack", proc + "wchan", proc + "comm"},
			Why:  "shows what the child process waits for: the file server, the disk, or systemd",
			Risk: "none: read-only. /proc/PID/cmdline is left out because it can block for a blocked process",
		}}
	}
	return nil
}
