package logs

// Volumes: reconciler_common.go [reconciler.go], operation_generator.go, nestedpendingoperations.go. All have Volume,
// UniqueName, PodUID (mounts also PodName) and Driver where the line has them. The failures have Reason, Code (errno,
// "exit status N" or gRPC code) and Path; Number is the seconds until the next try (durationBeforeRetry).
const (
	kindAttachStarted       Kind = "attach-started"        // `operationExecutor.AttachVolume started`
	kindAttachDone          Kind = "attach-done"           // `AttachVolume.Attach succeeded`
	kindAttachVerifyStarted Kind = "attach-verify-started" // `operationExecutor.VerifyControllerAttachedVolume started`
	kindAttachWaiting       Kind = "attach-waiting"        // `MountVolume.WaitForAttach entering`
	kindAttachWaited        Kind = "attach-waited"         // `MountVolume.WaitForAttach succeeded`
	kindDeviceMounted       Kind = "device-mounted"        // `MountVolume.MountDevice succeeded`, Path
	kindMountStarted        Kind = "mount-started"         // `operationExecutor.MountVolume started`
	kindMountDone           Kind = "mount-done"            // `MountVolume.SetUp succeeded`
	kindUnmountStarted      Kind = "unmount-started"       // `operationExecutor.UnmountVolume started`
	KindUnmountDone         Kind = "unmount-done"          // `UnmountVolume.TearDown succeeded`
	kindDeviceUnmountStart  Kind = "device-unmount-started"
	KindDeviceUnmounted     Kind = "device-unmounted" // `UnmountDevice succeeded`
	KindVolumeDetached      Kind = "volume-detached"  // `Volume detached`: the kubelet has forgotten the volume
	// kindMountFailed and those below are `Operation for "…" failed. No retries permitted until …`, by operation.
	kindMountFailed         Kind = "mount-failed"
	KindUnmountFailed       Kind = "unmount-failed"
	kindDeviceMountFailed   Kind = "device-mount-failed"
	KindDeviceUnmountFailed Kind = "device-unmount-failed"
	kindAttachFailed        Kind = "attach-failed"
	KindOperationFailed     Kind = "operation-failed"
	// KindUnmountBusy is a failed unmount of a volume, a subpath or a device: the kernel returned EBUSY. It is recognized by
	// umount's error message in any language.
	KindUnmountBusy Kind = "unmount-busy"
	// KindDeviceInUse: `the device mount path … is still mounted by other references`, `the device is in use when it
	// was no longer expected to be in use`.
	KindDeviceInUse Kind = "device-in-use"
	// KindCSIDriverMissing: `driver name D not found in the list of registered CSI drivers`. Driver.
	KindCSIDriverMissing Kind = "csi-driver-missing"
	// KindCSIAborted: gRPC code Aborted, `an operation with the given Volume ID … already exists`: the previous call hangs in
	// the driver. Driver, Code.
	KindCSIAborted Kind = "csi-aborted"
	// KindCSIDeadline: gRPC code DeadlineExceeded of a CSI call. Driver, Code.
	KindCSIDeadline Kind = "csi-deadline"
	// KindCSIUnavailable: gRPC code Unavailable of a CSI call. Driver, Code.
	KindCSIUnavailable Kind = "csi-unavailable"
	// KindCSIFailed is any other error of a CSI driver. Driver, Code.
	KindCSIFailed Kind = "csi-failed"
	// KindCSIVolDataMissing: `unmounter failed to load volume data file […]`, `UnmountDevice failed to load volume data
	// file`, `failed to open` or `parse volume data file`: lost, damaged or empty. Path.
	KindCSIVolDataMissing Kind = "csi-vol-data-missing"
	// kindCSIRegistered: `kubernetes.io/csi: Register new plugin with name: D at endpoint: …`. Driver.
	kindCSIRegistered Kind = "csi-registered"
	// kindCSIRegistrationFailed: `RegisterPlugin error -- …`. Path is the socket.
	kindCSIRegistrationFailed Kind = "csi-registration-failed"
	// kindCSIRegistrationRefused is one that the driver or the API server did not take: a socket answered.
	kindCSIRegistrationRefused Kind = "csi-registration-refused"
	// kindPodScheduled is an event of the API, with the reason Scheduled: the pod waits from then on.
	kindPodScheduled Kind = "pod-scheduled"
	// kindPodStarted is an event of the API, with the reason Started, Created, Pulled or Pulling: the volumes of the pod are mounted.
	kindPodStarted Kind = "pod-started"
	// KindVolumesNotMounted: `"Unable to attach or mount volumes for pod; skipping pod"` [`Unable to mount volumes for
	// pod …`]. PodName; Volume is the list of unmounted ones, joined by ",".
	KindVolumesNotMounted Kind = "volumes-not-mounted"
	// kindVolumeRejected: `"Failed to add volume to desiredStateOfWorld"`, with `no volume plugin matched`, `conflicting SELinux
	// labels of volume` or another reason: the kubelet does not begin to mount the volume. PodName, PodUID, Volume.
	kindVolumeRejected Kind = "volume-rejected"
	// kindVolumeOwnership: `Setting volume ownership for P and fsGroup set. If the volume has a lot of files …`. It can take
	// minutes. PodUID, Path.
	kindVolumeOwnership Kind = "volume-ownership"
	// kindCSICallFailed: `GRPC error: rpc error: code = Internal …` of a CSI driver's own log. Code, PodUID, Path.
	kindCSICallFailed Kind = "csi-call-failed"
	// kindCSIUnmountFailed is such an error of an unmount, or of the unmapping of a disk.
	kindCSIUnmountFailed Kind = "csi-unmount-call-failed"
	// kindFUSEServerEnded: a driver's or a sidecar's line about the program that serves a volume by FUSE, which a signal has ended. Path, Process.
	kindFUSEServerEnded Kind = "fuse-server-ended"
	// kindCSIAttachFailed: `failed to attach: rpc error: …`, `failed to detach: …` of the external attacher.
	kindCSIAttachFailed Kind = "csi-attach-failed"
)

// volumeMessages are those of the reconciler, of the operations, and of their results.
var volumeMessages = []message{
	{
		kind: KindOperationFailed, lane: LaneVolumes, words: "volume operation failed",
		rules: []rule{
			{start: "Operation for ", has: " failed", fill: operationFailed},
			{start: "operation {", has: "} failed with: ", fill: operationFailed},
			{start: "operationExecutor.UnmountVolume failed", fill: loneVolumeError},
			{start: "MountVolume.SetUp failed for volume ", fill: quotedOfVolume},
			{start: "MountVolume.MountDevice failed for volume ", fill: quotedOfVolume},
			{start: "MountVolume.WaitForAttach failed for volume ", fill: quotedOfVolume},
			{start: "AttachVolume.Attach failed for volume ", fill: quotedOfVolume},
			{start: "UnmountVolume.TearDown failed for volume ", fill: quotedOfVolume},
			{start: "Could not tear down volume ", fill: orphanedVolume},
			{start: "Unmounting arguments: ", fill: cutUnmount},
			{start: "UnmountDevice failed for volume ", fill: quotedOfVolume},
			{start: "error cleaning subPath mounts for volume ", fill: quotedOfVolume},
			{start: "Output: mount: ", has: "wrong fs type, bad option", fill: quotedOfMount},
			{start: "MapVolume.SetUpDevice failed for volume ", fill: quotedOfVolume},
			{start: "MapVolume.MapPodDevice failed for volume ", fill: quotedOfVolume},
			{start: "Attach failed for volume ", fill: quotedAs("AttachVolume.Attach")},
			{start: "Volume not attached according to node status for volume ", fill: quotedAs("AttachVolume.Attach")},
			{start: "Volume is not yet attached according to node status for volume ", fill: quotedAs("AttachVolume.Attach")},
			{start: "mount.nfs: ", prose: true, fill: quotedOfNFS},
			{start: "mount.nfs4: ", prose: true, fill: quotedOfNFS},
			{start: "mount: ", has: ": can't read superblock on ", prose: true, fill: quotedOfMount},
			{start: "mount error(", has: "): ", prose: true, fill: quotedOfMount}, // mount.cifs
			{start: "mount error ", has: " = ", prose: true, fill: quotedOfMount}, // mount.ceph
			{start: "mount: wrong fs type, bad option, bad superblock on ", fill: quotedOfMount},
			{start: "'fsck' found errors on device ", has: "could not correct them", fill: quotedOfMount},
			{start: "iscsiadm: Could not log", fill: quotedOfMount},
			{start: "rbd: map failed", prose: true, fill: quotedOfMount},
			{start: "rbd image ", has: " is still being used", fill: quotedAs("AttachVolume.Attach")},
			{start: "timed out waiting for external-attacher of ", fill: quotedAs("AttachVolume.Attach")},
			{start: "Volume is already exclusively attached to one node", fill: quotedAs("AttachVolume.Attach")},
			{start: "Output: umount", has: ": /var/lib/kubelet/", find: "Output: umount", fill: quotedOfUmount},
			{start: "umount: /var/lib/kubelet/", fill: quotedOfUmount},
			{start: "umount.nfs: /var/lib/kubelet/", fill: quotedOfUmount},
			{start: "umount.nfs4: /var/lib/kubelet/", fill: quotedOfUmount},
			{start: multiAttach, fill: eventOfVolume},
			{event: "FailedMount", fill: eventOfVolume},
			{event: "FailedMapVolume", fill: eventOfVolume},
			{event: "FailedAttachVolume", fill: eventOfVolume},
			{event: "FailedUnMount", fill: eventOfVolume},
			{event: "FailedUnmapDevice", fill: eventOfVolume},
			{event: "FailedDetachVolume", fill: eventOfVolume},
		},
	},
	{
		kind: KindUnmountBusy, lane: LaneVolumes, words: "unmount failed: target is busy",
		rules: []rule{{start: "[talos] failed unmounting /", has: ": device or resource busy", kernel: true, fill: trouble}},
	},
	{kind: KindDeviceInUse, lane: LaneVolumes, words: "device is still in use"},
	{
		kind: kindAttachVerifyStarted, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "operationExecutor.VerifyControllerAttachedVolume started", fill: volume}},
	},
	{
		kind:  kindAttachStarted,
		rules: []rule{{start: "operationExecutor.AttachVolume started", fill: volume}},
	},
	{
		kind: kindMountStarted, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "operationExecutor.MountVolume started", fill: volumeNotRemount}},
	},
	{
		kind: kindUnmountStarted, severity: SeverityRoutine,
		rules: []rule{{start: "operationExecutor.UnmountVolume started", fill: volume}},
	},
	{
		kind: kindDeviceUnmountStart,
		rules: []rule{
			{start: "operationExecutor.UnmountDevice started", fill: volume},
			{start: "operationExecutor.UnmountDevice", fill: volume},
		},
	},
	{
		kind: kindAttachDone, summed: true,
		rules: []rule{
			{start: "AttachVolume.Attach succeeded", fill: volume},
			{event: "SuccessfulAttachVolume", fill: eventOfAttached},
		},
	},
	{
		kind: kindAttachWaiting, summed: true,
		rules: []rule{{start: "MountVolume.WaitForAttach entering", fill: volume}},
	},
	{
		kind: kindAttachWaited, summed: true,
		rules: []rule{{start: "MountVolume.WaitForAttach succeeded", fill: volume}},
	},
	{
		kind: kindDeviceMounted, summed: true,
		rules: []rule{{start: "MountVolume.MountDevice succeeded", fill: deviceMounted}},
	},
	{
		kind: kindMountDone, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "MountVolume.SetUp succeeded", fill: volumeNotRemount}},
	},
	{
		kind: KindUnmountDone, severity: SeverityRoutine,
		rules: []rule{{start: "UnmountVolume.TearDown succeeded", fill: volume}},
	},
	{
		kind:  KindDeviceUnmounted,
		rules: []rule{{start: "UnmountDevice succeeded", fill: volume}},
	},
	{
		kind: KindVolumeDetached, severity: SeverityRoutine, summed: true,
		rules: []rule{{start: "Volume detached for volume", fill: volume}},
	},
	{
		kind: kindPodScheduled, severity: SeverityRoutine, summed: true,
		rules: []rule{{event: "Scheduled"}},
	},
	{
		kind: kindPodStarted, severity: SeverityRoutine, summed: true,
		rules: []rule{{event: "Started"}, {event: "Created"}, {event: "Pulled"}, {event: "Pulling"}},
	},
	{kind: kindMountFailed, lane: LaneVolumes, words: "volume could not be mounted"},
	{kind: KindUnmountFailed, lane: LaneVolumes, words: "volume could not be unmounted"},
	{kind: kindDeviceMountFailed, lane: LaneVolumes, words: "device could not be mounted"},
	{kind: KindDeviceUnmountFailed, lane: LaneVolumes, words: "device could not be unmounted"},
	{kind: kindAttachFailed, lane: LaneVolumes, words: "volume could not be attached"},
	{
		kind: KindVolumesNotMounted, lane: LaneVolumes, words: "volumes of a pod are not mounted in time",
		rules: []rule{
			{start: "Unable to attach or mount volumes for pod", fill: notMounted},
			{start: "Unable to mount volumes for pod", fill: notMounted},
		},
	},
	{
		kind: kindCSIRegistrationFailed, lane: LaneVolumes, words: "CSI driver registration failed",
		rules: []rule{
			{start: "RegisterPlugin error", fill: registration},
			{has: "RegisterPlugin error", fill: registration},
		},
	},
	{
		kind: kindCSIRegistrationRefused, lane: LaneVolumes, words: "CSI driver registration was refused",
		rules: []rule{ // the registrar beside a driver, which asks it for its name
			{start: "Error retreiving CSI driver name", fill: registration},
			{start: "Registration process failed with error", fill: registration},
			{start: "Still connecting to unix://", has: "csi", fill: registration},
		},
	},
	{
		kind: kindCSIRegistered, severity: SeverityRoutine,
		rules: []rule{
			{has: "Register new plugin with name: ", fill: registered},
			{start: "Received NotifyRegistrationStatus call: ", has: "PluginRegistered:true", fill: noCause}, // the registrar beside a driver
		},
	},
	{
		kind: KindCSIDriverMissing, lane: LaneVolumes, words: "CSI driver is not registered",
		rules: []rule{
			{start: "MountDevice failed to create newCsiDriverClient: driver name ", has: "not found in the list of registered CSI drivers", fill: loneVolumeError},
			{start: "driver name ", has: "not found in the list of registered CSI drivers", fill: loneVolumeError},
			{start: "attacher.MountDevice failed to create newCsiDriverClient: driver name ", has: "not found in the list of registered CSI drivers", fill: loneVolumeError},
			{has: "not found in the list of registered CSI drivers", fill: loneVolumeError},
			{start: "CSINode ", has: " does not contain driver ", prose: true, fill: notInCSINode}, // the external attacher
		},
	},
	{
		kind: KindCSIAborted, lane: LaneVolumes, words: "CSI driver has an earlier call in progress",
		rules: []rule{
			{has: "n operation with the given Volume ID ", err: " already exists", fill: csiBusy},
			{start: "An operation with given volume ID ", has: " already exists", fill: csiBusy},
			{app: true, has: "operation locked due to in progress operation(s)", fill: csiLocked}, // democratic-csi
		},
	},
	{kind: KindCSIDeadline, lane: LaneVolumes, words: "CSI driver did not respond in time"},
	{kind: KindCSIUnavailable, lane: LaneVolumes, words: "CSI driver is unavailable"},
	{
		kind: KindCSIVolDataMissing, lane: LaneVolumes, words: "vol_data.json could not be loaded",
		rules: []rule{
			{has: "failed to load volume data file", fill: loneVolumeError},
			{has: "failed to open volume data file", fill: loneVolumeError},
			{has: "failed to parse volume data file", fill: loneVolumeError},
		},
	},
	{
		kind: kindVolumeRejected, lane: LaneVolumes, words: "volume cannot be mounted: the kubelet does not accept it",
		rules: []rule{
			{has: "no volume plugin matched", fill: volumeRejected},
			{has: "conflicting SELinux labels of volume", fill: volumeRejected},
			{start: "Failed to add volume ", has: "desiredStateOfWorld", fill: volumeRejected},
		},
	},
	{
		kind: kindVolumeOwnership, lane: LaneVolumes, words: "ownership of a volume's files is being changed (fsGroup)",
		rules: []rule{{start: "Setting volume ownership for ", fill: volumeOwnership}},
	},
	{
		kind: kindCSIAttachFailed, lane: LaneVolumes, words: "CSI driver could not attach a volume",
		rules: []rule{
			{has: "failed to attach: rpc error", fill: csiAttach},
			{has: "failed to detach: rpc error", fill: csiAttach},
			{start: "Error processing \"csi-", has: "\": failed to detach: ", fill: csiAttach}, // its volume attachment
			{start: "Error processing \"csi-", has: "\": failed to attach: ", fill: csiAttach},
		},
	},
	{
		kind: kindCSICallFailed, lane: LaneVolumes, words: "CSI driver answered with an error",
		rules: []rule{
			{has: "GRPC error: rpc error: code = ", fill: csiCall},
			{has: "failed to run mkfs error: ", fill: wholeMessage}, // ceph-csi
			{start: "GRPC error", err: "rpc error: code = ", fill: csiCall},
			{has: "/csi.v1.Node/", err: " with error: rpc error: code = ", fill: csiCall},
		},
	},
	{
		kind: kindFUSEServerEnded, lane: LaneVolumes, words: "the FUSE server of a volume was ended by a signal",
		rules: []rule{
			{start: "gcsfuse exited with error: signal: ", fill: fuseServerEnded},
			{has: "weed mount exit, pid: ", err: "error: signal: ", prose: true, fill: fuseServerEnded},
		},
	},
	{
		kind: kindCSIUnmountFailed, lane: LaneVolumes, words: "CSI driver could not unmount a volume",
		rules: []rule{
			{has: "an error (exit status 16) occurred while running rbd args: [unmap ", fill: rbdBusy},
			{start: "failed to execute filesystem command: rmdir /var/lib/kubelet/pods/", has: "Directory not empty", fill: wholeMessage}, // democratic-csi
		},
	},
	{
		kind: KindCSIFailed, lane: LaneVolumes, words: "CSI driver returned an error",
		rules: []rule{{has: "kubernetes.io/csi: ", err: "rpc error", fill: loneVolumeError}},
	},
}
