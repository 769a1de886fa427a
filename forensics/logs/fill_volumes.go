package logs

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// volume reads `… for volume "x" (UniqueName: "u") pod "p" (UID: "uid") …`. For unmounts pod is the UID too.
func volume(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "", ""
	volumeSubject(e.Message, &o.Subject)
	return true
}

// volumeNotRemount passes over the periodic remount of projected volumes, which has no result of its own.
func volumeNotRemount(e *entry, o *occurrence) bool {
	return !strings.Contains(e.Message, "remount was requested") && volume(e, o)
}

func deviceMounted(e *entry, o *occurrence) bool {
	o.Path = cut(between(e.Message, `device mount path "`, `"`), maxName)
	return volume(e, o)
}

func volumeSubject(text string, s *Subject) {
	quoted := func(before string) string {
		v := word(text, before+`"`, `"`)
		if v == "" {
			v = word(text, before+`\"`, `\`)
		}
		return cut(v, maxName)
	}
	s.Volume = quoted("for volume ")
	if s.Volume == "" {
		s.Volume = quoted("for unmount of volume ")
	}
	s.UniqueName = quoted("UniqueName: ")
	if s.UniqueName == "" && strings.Contains(s.Volume, "/") { // as TearDown's success has it
		s.UniqueName = s.Volume
		if s.Volume = quoted("OuterVolumeSpecName: "); s.Volume == "" {
			s.Volume = quoted("InnerVolumeSpecName ")
		}
	}
	if uid := quoted("UID: "); isUID(uid) {
		s.PodUID = uid
	}
	if pod := quoted(") pod "); strings.Contains(pod, "/") { // a name without its namespace joins nothing
		s.PodName = pod
	}
	s.Driver = driverOf(s.UniqueName)
}

// driverOf is the CSI driver in "kubernetes.io/csi/driver^handle".
func driverOf(uniqueName string) string {
	rest, ok := strings.CutPrefix(uniqueName, "kubernetes.io/csi/")
	if !ok {
		return ""
	}
	driver, _, _ := strings.Cut(rest, "^")
	return driver
}

// operationFailed reads the three spellings of nestedpendingoperations.go:
//
//	Operation for "\"UNIQUE\" (\"UID\")" failed. No retries permitted until … (durationBeforeRetry 2m2s). Error: "…"
//	Operation for "{volumeName:UNIQUE podName:UID nodeName:}" failed. … Error: "… quoted"
//	Operation for "{volumeName:UNIQUE podName:UID nodeName:}" failed. … Error: …
func operationFailed(e *entry, o *occurrence) bool {
	head, text, ok := strings.Cut(e.Message, ". Error: ")
	if !ok {
		if head, text, ok = strings.Cut(e.Message, "failed with: "); !ok {
			return false
		}
	}
	if strings.Contains(text, "RegisterPlugin error") {
		o.Kind = kindCSIRegistrationFailed
		return registration(e, o)
	}
	text = strings.Trim(strings.ReplaceAll(text, `\"`, `"`), "\" \n")
	text = strings.ReplaceAll(text, `\n`, "\n")
	volumeSubject(text, &o.Subject)
	operationKey(head, &o.Subject)
	o.Number = seconds(word(head, "durationBeforeRetry ", ")"))
	volumeError(operationOf(text), text, o)
	return true
}

// operationKey reads the volume and the pod from the key of the operation, where the error does not name them.
func operationKey(head string, s *Subject) {
	unique, uid := word(head, "{volumeName:", " "), word(head, "podName:", " }")
	if unique == "" {
		unique, uid = word(head, `"\"`, `\`), word(head, `(\"`, `\`)
	}
	if s.UniqueName == "" {
		s.UniqueName = cut(unique, maxName)
		s.Driver = driverOf(s.UniqueName)
	}
	if s.PodUID == "" && isUID(uid) {
		s.PodUID = uid
	}
}

// Names of operations, as in Operation.Name. Longer words come before those they hold.
const (
	opUnmountVolume = "UnmountVolume"
	opUnmountDevice = "UnmountDevice"
	opMountDevice   = "MountDevice"
	opMountVolume   = "MountVolume"
	opAttachVolume  = "AttachVolume"
	opVerify        = "VerifyControllerAttachedVolume"
)

// operationOf names the operation that a message is about.
func operationOf(text string) string {
	switch {
	case strings.Contains(text, "volume attachment is being deleted"): // which the kubelet waits for
		return opVerify
	case strings.Contains(text, "UnmountDevice"), strings.Contains(text, "GetDeviceMountRefs"), strings.Contains(text, "the device is in use when it was no longer"):
		return opUnmountDevice
	case strings.Contains(text, "UnmountVolume."), strings.Contains(text, "cleaning subPath mounts"), strings.Contains(text, "UnmapVolume."):
		return opUnmountVolume
	case strings.Contains(text, "MountVolume.MountDevice"), strings.Contains(text, "MountVolume.NodeStage"):
		return opMountDevice
	case strings.Contains(text, "MountVolume."), strings.Contains(text, "MapVolume."):
		return opMountVolume
	case strings.Contains(text, "AttachVolume."), strings.HasPrefix(text, multiAttach), strings.Contains(text, "Failed to attach volume "): // until 1.5
		return opAttachVolume
	case strings.Contains(text, "VerifyControllerAttachedVolume"), strings.Contains(text, "Volume has not been added to the list"), strings.Contains(text, "is not yet attached"),
		strings.Contains(text, "attached according to"):
		return opVerify
	}
	return ""
}

var failureKinds = map[string]Kind{
	opUnmountVolume: KindUnmountFailed, opUnmountDevice: KindDeviceUnmountFailed, opMountDevice: kindDeviceMountFailed,
	opMountVolume: kindMountFailed, opAttachVolume: kindAttachFailed, opVerify: kindAttachFailed,
}

// volumeError sets the kind by the cause of a failed operation.
func volumeError(operation, text string, o *occurrence) {
	inner := innerError(text)
	o.Reason, o.Code = cut(bothEnds(shortUmount(inner), 80), maxReason), osCode(inner)
	if o.Path = unmountPath(inner); o.Path == "" {
		o.Path = pathIn(inner)
	}
	if k, ok := failureKinds[operation]; ok {
		o.Kind = k
	}
	grpc := grpcCode(inner)
	unmounts := operation == opUnmountVolume || operation == opUnmountDevice
	attaches := operation == opAttachVolume || operation == opVerify // which no driver of the node does
	switch {
	case strings.Contains(text, "not found in the list of registered CSI drivers"), strings.Contains(text, " not found in the list registered CSI drivers"):
		o.Kind, o.Code = KindCSIDriverMissing, ""
		if d := word(text, "driver name ", " "); d != "" {
			o.Driver = cut(d, maxName)
		}
	case strings.Contains(text, "failed to load volume data file"):
		o.Kind = KindCSIVolDataMissing
		if p := between(text, "failed to load volume data file [", "]"); p != "" {
			o.Path = cut(p, maxName)
		}
	case unmounts && stackedDevice(text):
	case strings.Contains(text, "GetDeviceMountRefs check failed"), strings.Contains(text, "still mounted by other references"),
		strings.Contains(text, "the device is in use when it was no longer expected to be in use"):
		o.Kind = KindDeviceInUse
	case grpc != "" && attaches:
		o.Code = grpc
	case grpc == "Aborted" && !notYet(inner):
		o.Kind, o.Code = KindCSIAborted, grpc
	case grpc == "DeadlineExceeded":
		o.Kind, o.Code = KindCSIDeadline, grpc
	case grpc == "Unavailable":
		o.Kind, o.Code = KindCSIUnavailable, grpc
	case unmounts && o.Code == "EBUSY" && unmountWord.MatchString(inner):
		o.Kind = KindUnmountBusy
	case grpc != "":
		o.Kind, o.Code = KindCSIFailed, grpc
	}
}

// notYet says whether a driver says by Aborted that a volume is not available yet, and not that an earlier call goes on.
func notYet(text string) bool {
	return strings.Contains(text, "not yet ") || strings.Contains(text, "not ready")
}

// unmountWord stands in the error of an unmount, in any language. What else answers EBUSY is the removal of a directory that is mounted in
// another mount namespace, and the unmapping of a disk.
var unmountWord = pattern.New(`(?i)\bun?mount(?:ed|ing)?\b|target is busy|device is busy`)

// stackedDevice says whether the only other mount of a device is at the very path at which the kubelet wants to unmount it: it is mounted there
// twice.
func stackedDevice(text string) bool {
	path, refs := between(text, `he device mount path "`, `"`), strings.Fields(between(text, "by other references [", "]"))
	return path != "" && len(refs) > 0 && !slices.ContainsFunc(refs, func(ref string) bool { return ref != path })
}

// innerError is the error behind the words that name the volume and the pod: after `(UID: "…") : `, or after the first
// `failed … : `.
func innerError(text string) string {
	for _, mark := range []string{"\") : ", "\"): ", "\") with: ", "\") device is still mounted: ", "\" : "} {
		if _, inner, ok := strings.Cut(text, mark); ok {
			return inner
		}
	}
	return text
}

// unmountPath is the path in "Unmounting arguments: P".
func unmountPath(text string) string {
	p := word(text, "nmounting arguments: ", "\n\\")
	return cut(strings.TrimSpace(strings.Split(p, " Output:")[0]), maxName)
}

// shortUmount leaves out the path that mount-utils prints twice: "unmount failed: exit status 32: umount: target is busy".
func shortUmount(text string) string {
	head, rest, ok := strings.Cut(text, "nmounting arguments: ")
	if !ok {
		return text
	}
	_, output, ok := strings.Cut(rest, "Output: ")
	if !ok {
		return text
	}
	head = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(head, "U"), "u"), " \n")
	path := unmountPath(text)
	return head + ": " + strings.TrimSpace(strings.ReplaceAll(output, path+": ", ""))
}

// loneVolumeError is an error of the CSI plugin outside of the operations' own lines.
func loneVolumeError(e *entry, o *occurrence) bool {
	operation := strings.HasPrefix(e.Message, "operationExecutor.")
	if strings.HasPrefix(e.Message, "Event occurred") || e.Severity == 'I' && !operation { // a line of JSON shows by its err that it is an error
		return false
	}
	text := errorOf(e)
	if operation { // since 1.25 its err repeats only the last words
		text = strings.ReplaceAll(e.Message, `\"`, `"`)
	}
	uid := o.PodUID
	volumeSubject(text, &o.Subject)
	volumeError(operationOf(text), text, o)
	if o.PodUID == "" {
		if o.PodUID = uid; uid == "" {
			o.PodUID = podOfPath(text)
		}
	}
	return true
}

// notMounted reads the three spellings of a pod that waits for its volumes.
func notMounted(e *entry, o *occurrence) bool {
	text := errorOf(e)
	o.Reason, o.Code = cut(waitReason(text), maxReason), ""
	if o.Volume = volumeList(text, "unmounted volumes=["); o.Volume == "" {
		o.Volume = volumeList(text, "list of unmounted volumes=[")
	}
	if o.Volume == "" {
		o.Volume = volumeList(text, "unattached/unmounted volumes=[")
	}
	if o.PodName == "" && o.PodUID == "" {
		o.PodName = podInHalves(text)
	}
	return true
}

// podInHalves reads `for pod "NAMESPACE"/"NAME"` of kubelets up to 1.11, of which those up to 1.5 have it the other way round: the namespace is
// default or kube-system, or else the shorter of both.
func podInHalves(text string) string {
	a, rest, ok := strings.Cut(between(text, `for pod "`, `. list of`), `"/"`)
	b, ended := strings.CutSuffix(rest, `"`)
	if !ok || !ended || a == "" || b == "" {
		return ""
	}
	isSystem := func(s string) bool { return s == "default" || s == "kube-system" }
	if isSystem(b) && !isSystem(a) || !isSystem(a) && len(b) < len(a) {
		a, b = b, a
	}
	return cut(a+"/"+b, maxName)
}

// waitReason drops the lists of volumes: what is not yet attached is noise up to 1.26.
func waitReason(text string) string {
	for _, r := range []string{"timed out waiting for the condition", "context deadline exceeded", "timeout expired waiting for volumes to attach or mount"} {
		if strings.Contains(text, r) {
			return r
		}
	}
	return text
}

// registration reads `RegisterPlugin error -- dial failed at socket P, err: …`.
func registered(e *entry, o *occurrence) bool {
	o.Reason, o.Code, o.Driver = "", "", cut(word(e.Message, "plugin with name: ", " \n"), maxName)
	return o.Driver != ""
}

func registration(e *entry, o *occurrence) bool {
	if strings.Contains(e.Message, "unknown service pluginregistration.Registration") {
		o.Kind = noiseNoRegistration
		return noCause(e, o)
	}
	text := errorOf(e)
	if _, inner, ok := strings.Cut(text, "RegisterPlugin error -- "); ok {
		text = inner
	}
	if strings.HasPrefix(text, "plugin registration failed with err") {
		o.Kind = kindCSIRegistrationRefused
	}
	o.Reason, o.Code, o.Path = cut(text, maxReason), code(text), pathIn(text)
	return true
}

// volumeRejected reads `Failed to add volume "v" (specName: "s") for pod "UID" to desiredStateOfWorld. err=…`, and the later form with
// fields.
func volumeRejected(e *entry, o *occurrence) bool {
	if strings.HasPrefix(e.Message, "Event") || e.Severity == 'I' {
		return false
	}
	text := errorOf(e)
	if _, inner, ok := strings.Cut(text, "desiredStateOfWorld. err="); ok {
		text = inner
	}
	uid := o.PodUID
	volumeSubject(e.Message, &o.Subject)
	if o.Volume == "" {
		o.Volume = cut(between(e.Message, `Failed to add volume "`, `"`), maxName)
	}
	if v := e.Get("volumeName"); v != "" {
		o.Volume = cut(v, maxName)
	}
	if o.PodUID == "" {
		if o.PodUID = uid; uid == "" {
			if id := between(e.Message, `for pod "`, `"`); isUID(id) {
				o.PodUID = id
			}
		}
	}
	o.Reason, o.Code = cut(text, maxReason), ""
	return true
}

// volumeOwnership reads `Setting volume ownership for P and fsGroup set. …`.
func volumeOwnership(e *entry, o *occurrence) bool {
	o.Path = cut(word(e.Message, "ownership for ", " "), maxName)
	o.PodUID = podOfPath(o.Path)
	o.Reason, o.Code = "", ""
	return strings.HasPrefix(o.Path, "/")
}

// csiCall reads the error that a CSI driver logs before it answers the kubelet or a sidecar with it. What says that nothing is to be
// done, or that the caller has made a mistake, is passed over. A driver that is stuck in a call has kinds of its own.
func csiCall(e *entry, o *occurrence) bool {
	_, text, ok := strings.Cut(errorOf(e), "rpc error: code = ")
	if !ok {
		return false
	}
	text = "rpc error: code = " + text
	switch grpc := grpcCode(text); grpc {
	case "Aborted":
		if o.Code = grpc; !notYet(text) {
			o.Kind = KindCSIAborted
		}
	case "DeadlineExceeded":
		o.Kind, o.Code = KindCSIDeadline, grpc
	case "Internal", "Unknown", "Unavailable", "ResourceExhausted", "FailedPrecondition", "PermissionDenied", "Unauthenticated":
		if o.Code = grpc; strings.HasSuffix(text, ": function timeout") { // DoWithTimeout of JuiceFS: a call on the mount has not returned
			o.Kind = KindCSIDeadline
		}
	case "NotFound":
		if !strings.Contains(text, "device path") { // a volume that is gone needs no more
			return false
		}
		o.Code = grpc
	default:
		return false
	}
	if uid := podOfPath(text); uid != "" && o.Code == "Internal" && strings.Contains(text, ": lstat /") && (osCode(text) == "EHOSTDOWN" || osCode(text) == "ENOTCONN" || osCode(text) == "ESTALE") {
		o.Kind, o.PodUID, o.Path, o.Reason, o.Code = kindMountDead, uid, pathIn(text), cut(text, maxReason), osCode(text)
		return true
	}
	if uid := podOfPath(text); uid != "" && o.Code == "Internal" && osCode(text) == "EBUSY" && strings.Contains(text, "failed to unmount ") {
		o.PodUID = uid
		volumeError(opUnmountVolume, text, o)
		return true
	}
	switch os := osCode(text); {
	case (os == "ENOTCONN" || os == "ESTALE") && strings.Contains(text, "stat /"): // of a mount
		o.Kind, o.Code = kindMountDead, os
	case unmountFailed.MatchString(text):
		o.Kind = kindCSIUnmountFailed
	case attachFailed.MatchString(text):
		o.Kind = kindCSIAttachFailed
	}
	o.Reason, o.Path, o.PodUID = cut(text, maxReason), pathIn(text), podOfPath(text)
	if o.Volume = cut(word(text, "Volume ID ", " "), maxName); o.Volume == "" {
		o.Volume = cut(between(text, `volume "`, `"`), maxName)
	}
	return true
}

// unmountFailed begins the error of a driver that could not undo a mount: most have words of their own, others those of mount-utils.
var unmountFailed = pattern.New(`(?i)desc = (?:(?:failed|could not|unable|error) (?:to )?un(?:mount|stage|map)|rbd: unmap |un(?:mount|map)(?:ing)? )`)

// attachFailed begins the error of the part of a driver that attaches volumes to nodes.
var attachFailed = pattern.New(`(?i)desc = (?:failed|could not|unable|error) (?:to )?(?:at|de)tach`)

// csiBusy reads `an operation with the given Volume ID V already exists` of the part of a driver that serves the node: by convention
// nodeserver.go. It is called again once the kubelet has waited for two minutes, which is the number; a controller is called again sooner.
func csiBusy(e *entry, o *occurrence) bool {
	quoted := e.Bare && e.Source == "" && strings.Index(e.Message, "n operation with ") == 1
	if e.Source != "nodeserver.go" && e.Source != "node_server.go" && !quoted {
		return false
	}
	text := errorOf(e)
	o.Volume, o.Code, o.Number = cut(word(text, "olume ID ", " "), maxName), "Aborted", 120
	o.Reason = cut("rpc error: code = Aborted desc = an operation with the given Volume ID "+o.Volume+" already exists", maxReason)
	return true
}

// csiLocked reads `handler error - driver: D method: NodeStageVolume error: {…"operation locked due to in progress operation(s):
// [\"volume_id_V\"]"}`.
func csiLocked(e *entry, o *occurrence) bool {
	if !strings.Contains(e.Message, "method: Node") {
		return false
	}
	o.Volume, o.Code, o.Number = cut(strings.Trim(word(e.Message, "volume_id_", " ],"), `\"`), maxName), "Aborted", 120
	o.Reason = "rpc error: code = Aborted desc = operation locked due to in progress operation(s)"
	return true
}

// rbdBusy reads what ceph-csi says of an "rbd unmap" that ends with EBUSY.
func rbdBusy(e *entry, o *occurrence) bool {
	o.Reason, o.Code = "rbd unmap: exit status 16: device or resource busy", "EBUSY"
	o.Volume = cut(word(e.Message, "rbd args: [unmap ", " "), maxName)
	return true
}

// csiAttach reads `Error processing "csi-…": failed to attach: rpc error: …`.
func csiAttach(e *entry, o *occurrence) bool {
	if strings.HasPrefix(e.Message, "Event") {
		return false
	}
	text := errorOf(e)
	o.Reason, o.Code = cut(text, maxReason), grpcCode(text)
	o.Volume = cut(between(text, `volume "`, `"`), maxName)
	if o.Volume == "" {
		o.Volume = cut(between(e.Message, `Error processing "`, `"`), maxName)
	}
	return o.Code != "Aborted"
}

// fuseServerEnded reads "gcsfuse exited with error: signal: killed" and "weed mount exit, pid: 41, path: P, error: signal: killed".
func fuseServerEnded(e *entry, o *occurrence) bool {
	o.Process, o.Path, o.Code = "gcsfuse", cut(word(e.Message, ", path: ", ","), maxName), ""
	if strings.Contains(e.Message, "weed mount") {
		o.Process = "weed"
	}
	_, signal, _ := strings.Cut(e.Message, "signal: ")
	o.Reason = cut("signal: "+signal, maxReason)
	return true
}
