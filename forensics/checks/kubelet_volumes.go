package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// KubeletVolumeManagerBlocked finds a volume manager, or single operations of it, that stand still.
var KubeletVolumeManagerBlocked = forensics.Check{
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
is slow, not hung: its system calls are short, and it is not reported. Places that are told apart:` + docOf(volumeManagerSites()),
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		if list := allStanding(p, reconcilerFrame); len(list) > 0 {
			f := finding(p, volumeManagerEntity, "volume manager has mounted and unmounted nothing", list[:1], volumeManagerSites())
			f.Detail = sentences("No volume of this node is mounted or unmounted meanwhile: new pods stay in ContainerCreating, terminated ones stay.", f.Detail)
			f.Remedies = []forensics.Remedy{cordon(p), keepEvidence()}
			p.Report(f)
		}
		if list := stuckOperations(p); len(list) > 0 {
			p.Report(operationsFinding(p, list))
		}
	},
}

// volumeManagerSites are the parts of the volume manager and its operations that can stand still, outermost first
// (kubernetes pkg/kubelet/volumemanager, pkg/volume/util/operationexecutor, read in 1.13 to 1.34).
func volumeManagerSites() []site {
	return append([]site{
		{"reconciler.(*reconciler).syncStates", "1.10 to 1.29", "reconstructs volumes found on disk"},
		{"reconciler.(*reconciler).reconstructVolumes", "1.25 to 1.36", "reconstructs volumes found on disk, before anything else"},
		{"reconciler.(*reconciler).reconstructVolume", "1.10 to 1.36", "reconstructs one volume"},
		{"reconciler.(*reconciler).cleanupMounts", "1.10 to 1.36", "unmounts what it could not reconstruct"},
		{"operationexecutor.(*operationExecutor).CheckVolumeExistenceOperation", "1.10 to 1.27", "asks whether a volume is mounted"},
		{"populator.(*desiredStateOfWorldPopulator)", "1.10 to 1.36", "works out which volumes the pods want"},
		{"GenerateMountVolumeFunc", "1.10 to 1.36", "mounts a volume"},
		{"GenerateUnmountVolumeFunc", "1.10 to 1.36", "unmounts a volume"},
		{"GenerateUnmountDeviceFunc", "1.10 to 1.36", "unmounts a device"},
		{"GenerateMapVolumeFunc", "1.10 to 1.36", "maps a block volume"},
		{"GenerateUnmapVolumeFunc", "1.10 to 1.36", "unmaps a block volume"},
		{"GenerateUnmapDeviceFunc", "1.10 to 1.36", "unmaps a block device"},
		{"util/mount.(*Mounter).CleanSubPaths", "1.10 to 1.13", "unmounts subpaths"},
		{"subpath.(*subpath).CleanSubPaths", "1.14 to 1.36", "unmounts subpaths"},
		{"operationexecutor.isDeviceOpened", "1.10 to 1.36", "asks whether the device is in use"},
		{"UnmountWithForce", "1.21 to 1.36", "runs umount, and umount -f after a minute"},
		{"mount.CleanupMountPoint", "1.12 to 1.19", "unmounts, and removes the directory"},
		{"mount-utils.CleanupMountPoint", "1.20 to 1.36", "unmounts, and removes the directory"},
		{"pkg/volume.SetVolumeOwnership", "1.10 to 1.32", "changes the owner of every file"},
		{"pkg/volume.(*VolumeOwnership)", "1.33 to 1.36", "changes the owner of every file"},
	}, volumeSites()...)
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

func operationsFinding(p *forensics.Pass, list []standing) forensics.Finding {
	what := fmt.Sprintf("%s not returned", operations(list))
	f := finding(p, volumeManagerEntity, what, list, volumeManagerSites())
	f.Severity = notCritical(f.Severity) // it holds up one volume and its pod
	f.Detail = sentences("Each holds up its volume: a pod that waits for it does not start, or does not go away.", f.Detail)
	f.Remedies = append(childRemedies(list), keepEvidence())
	return f
}

// operations is "volume operation (unmount) has", "2 volume operations (mount, unmount) have".
func operations(list []standing) string {
	var names []string
	for _, t := range list {
		names = union(names, []string{operationName(t)})
	}
	kind := " (" + strings.Join(names, ", ") + ")"
	if total(list) == 1 {
		return "volume operation" + kind + " has"
	}
	return text.Plural(total(list), "volume operation") + kind + " have"
}

func operationName(t standing) string {
	for _, o := range operationNames {
		for _, f := range t.goroutine.Frames {
			if strings.Contains(f.Func, o.function) {
				return o.name
			}
		}
	}
	if hasFrame(t.goroutine, populatorFrame) {
		return "working out what is wanted"
	}
	return "other"
}

// childRemedies warn of the obvious: a child in the kernel does not die, and the operation is tried again.
func childRemedies(list []standing) []forensics.Remedy {
	for _, t := range list {
		if t.wait.kind != waitChild || t.wait.pid == 0 {
			continue
		}
		return []forensics.Remedy{{
			Command: fmt.Sprintf("cat -v /proc/%d/stack /proc/%d/wchan /proc/%d/comm", t.wait.pid, t.wait.pid, t.wait.pid),
			Why:     "says what the child waits for: the file server, the disk, or systemd",
			Risk:    "none: it reads; /proc/PID/cmdline of a blocked process may block, so it is not read here",
		}}
	}
	return nil
}
