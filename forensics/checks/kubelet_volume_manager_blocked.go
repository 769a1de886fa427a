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

// kubeletVolumeManagerBlocked finds a volume manager, or single operations of it, that stand still.
var kubeletVolumeManagerBlocked = forensics.Check{
	ID:    "kubelet-volume-manager-blocked",
	Title: "Volumes are not mounted or unmounted any more",
	Doc: `One goroutine of the kubelet reconciles the volumes (volumemanager/reconciler). Where it stands still, no volume
of the node is mounted or unmounted: critical. It can do so while it reconstructs the volumes that it finds on disk after a
start: up to 1.27 in syncStates, after the first pods are known; from 1.28 on in reconstructVolumes, before anything else.
Each operation (mount, unmount, ...) runs on a goroutine of its own (nestedPendingOperations.Run, Generate...Func): one that
stands still holds up one volume and its pod, and is a warning. The wait for a child (mount, umount, fsck, mkfs) names the
child's pid, from the arguments of wait4 or waitid; where the system call has a pidfd (Go 1.23, kubelet 1.32 and later)
the pid is not in a dump.

It rests on those frames and on a wait of at least a minute, or longer than --hung-after by the kernel. Operations that
wait for a CSI driver are csi-operation-stuck. Walking over millions of files (fsGroup ownership, deleting an emptyDir)
is slow, not hung: its system calls are short, and it is not reported. Places that are told apart:` + stall.DocOf(volumeManagerSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		if list := stall.All(p, stall.ReconcilerFrame); len(list) > 0 {
			f := stall.Finding(p, stall.VolumeManagerEntity, "volume manager has mounted and unmounted nothing", list[:1], volumeManagerSites())
			f.Detail = findings.Sentences("No volume of this node is mounted or unmounted meanwhile: new pods stay in ContainerCreating, terminated ones stay.", f.Detail)
			f.Remedies = []forensics.Remedy{remedy.Cordon(p), remedy.KeepEvidence()}
			p.Report(f)
		}
		if list := stall.StuckOperations(p); len(list) > 0 {
			p.Report(operationsFinding(p, list))
		}
	},
}

// volumeManagerSites are the parts of the volume manager and its operations that can stand still, outermost first
// (kubernetes pkg/kubelet/volumemanager, pkg/volume/util/operationexecutor, read in 1.13 to 1.34).
func volumeManagerSites() []stall.Site {
	return append([]stall.Site{
		{Frame: "reconciler.(*reconciler).syncStates", Versions: "1.10 to 1.29", What: "reconstructs volumes found on disk"},
		{Frame: "reconciler.(*reconciler).reconstructVolumes", Versions: "1.25 to 1.36", What: "reconstructs volumes found on disk, before anything else"},
		{Frame: "reconciler.(*reconciler).reconstructVolume", Versions: "1.10 to 1.36", What: "reconstructs one volume"},
		{Frame: "reconciler.(*reconciler).cleanupMounts", Versions: "1.10 to 1.36", What: "unmounts what it could not reconstruct"},
		{Frame: "operationexecutor.(*operationExecutor).CheckVolumeExistenceOperation", Versions: "1.10 to 1.27", What: "asks whether a volume is mounted"},
		{Frame: "populator.(*desiredStateOfWorldPopulator)", Versions: "1.10 to 1.36", What: "works out which volumes the pods want"},
		{Frame: "GenerateMountVolumeFunc", Versions: "1.10 to 1.36", What: "mounts a volume"},
		{Frame: "GenerateUnmountVolumeFunc", Versions: "1.10 to 1.36", What: "unmounts a volume"},
		{Frame: "GenerateUnmountDeviceFunc", Versions: "1.10 to 1.36", What: "unmounts a device"},
		{Frame: "GenerateMapVolumeFunc", Versions: "1.10 to 1.36", What: "maps a block volume"},
		{Frame: "GenerateUnmapVolumeFunc", Versions: "1.10 to 1.36", What: "unmaps a block volume"},
		{Frame: "GenerateUnmapDeviceFunc", Versions: "1.10 to 1.36", What: "unmaps a block device"},
		{Frame: "util/mount.(*Mounter).CleanSubPaths", Versions: "1.10 to 1.13", What: "unmounts subpaths"},
		{Frame: "subpath.(*subpath).CleanSubPaths", Versions: "1.14 to 1.36", What: "unmounts subpaths"},
		{Frame: "operationexecutor.isDeviceOpened", Versions: "1.10 to 1.36", What: "asks whether the device is in use"},
		{Frame: "UnmountWithForce", Versions: "1.21 to 1.36", What: "runs umount, and umount -f after a minute"},
		{Frame: "mount.CleanupMountPoint", Versions: "1.12 to 1.19", What: "unmounts, and removes the directory"},
		{Frame: "mount-utils.CleanupMountPoint", Versions: "1.20 to 1.36", What: "unmounts, and removes the directory"},
		{Frame: "pkg/volume.SetVolumeOwnership", Versions: "1.10 to 1.32", What: "changes the owner of every file"},
		{Frame: "pkg/volume.(*VolumeOwnership)", Versions: "1.33 to 1.36", What: "changes the owner of every file"},
	}, stall.VolumeSites()...)
}

// operationNames are what the operations are called for people.
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
	what := fmt.Sprintf("%s not returned", operations(list))
	f := stall.Finding(p, stall.VolumeManagerEntity, what, list, volumeManagerSites())
	f.Severity = stall.NotCritical(f.Severity) // it holds up one volume and its pod
	f.Detail = findings.Sentences("Each holds up its volume: a pod that waits for it does not start, or does not go away.", f.Detail)
	f.Remedies = append(childRemedies(list), remedy.KeepEvidence())
	return f
}

// operations is "volume operation (unmount) has", "2 volume operations (mount, unmount) have".
func operations(list []stall.Goroutine) string {
	var names []string
	for _, t := range list {
		names = findings.Union(names, []string{operationName(t)})
	}
	kind := " (" + strings.Join(names, ", ") + ")"
	if stall.Count(list) == 1 {
		return "volume operation" + kind + " has"
	}
	return text.Plural(stall.Count(list), "volume operation") + kind + " have"
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
		return "working out what is wanted"
	}
	return "other"
}

// childRemedies warn of the obvious: a child in the kernel does not die, and the operation is tried again.
func childRemedies(list []stall.Goroutine) []forensics.Remedy {
	for _, t := range list {
		if t.Wait.Kind != stall.WaitChild || t.Wait.PID == 0 {
			continue
		}
		proc := fmt.Sprintf("/proc/%d/", t.Wait.PID)
		return []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"cat", "-v", proc + "stack", proc + "wchan", proc + "comm"},
			Why:  "says what the child waits for: the file server, the disk, or systemd",
			Risk: "none: it reads; /proc/PID/cmdline of a blocked process may block, so it is not read here",
		}}
	}
	return nil
}
