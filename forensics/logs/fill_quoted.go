package logs

import (
	"slices"
	"strings"
)

// quotedOfVolume reads the error of an operation where somebody has quoted nothing else of the line, or of the event.
func quotedOfVolume(e *entry, o *occurrence) bool {
	if !e.Bare {
		return false
	}
	volumeSubject(e.Message, &o.Subject)
	volumeError(operationOf(e.Message), e.Message, o)
	return true
}

// orphanedVolume reads `Could not tear down volume "UID/NAME": …` (cleanupOrphanedVolumes in pkg/kubelet/kubelet.go, up to 1.3).
func orphanedVolume(e *entry, o *occurrence) bool {
	uid, volume, ok := strings.Cut(between(e.Message, `volume "`, `": `), "/")
	_, err, _ := strings.Cut(e.Message, `": `)
	return ok && tearDown(e, o, uid, volume, err)
}

// cutUnmount reads the second line of the kubelet's "Unmount failed", where a pager has cut all of them, also the one that says so.
func cutUnmount(e *entry, o *occurrence) bool {
	path, ok := strings.CutSuffix(strings.TrimPrefix(e.Message, "Unmounting arguments: "), ">")
	_, volume, _ := cutLast(path, '/')
	return ok && podOfPath(path) != "" && tearDown(e, o, podOfPath(path), volume, "Unmount failed: exit status 32")
}

// notInCSINode reads "CSINode NODE does not contain driver D".
func notInCSINode(e *entry, o *occurrence) bool {
	text := errorOf(e)
	o.Driver = cut(strings.Trim(word(text, " does not contain driver ", " "), `",.`), maxName)
	o.Reason, o.Code = cut(text, maxReason), ""
	return strings.Contains(o.Driver, ".")
}

// tearDownFailed begins the error of an unmount.
const tearDownFailed = "UnmountVolume.TearDown failed for volume "

// tearDown takes the error of an unmount for one of an operation, as which later kubelets log it.
func tearDown(e *entry, o *occurrence, uid, volume, err string) bool {
	o.PodUID, o.Volume = cut(uid, maxName), cut(volume, maxName)
	e.Message = tearDownFailed + `"` + o.Volume + `" (UniqueName: "") pod "` + o.PodUID + `" (UID: "` + o.PodUID + `") : ` + err
	volumeError(opUnmountVolume, e.Message, o)
	return true
}

// quotedOfMount is what mount prints of what it cannot mount, where somebody has quoted nothing else: `mount.nfs: access denied by server
// while mounting 10.0.0.7:/data`.
func quotedOfMount(e *entry, o *occurrence) bool {
	return osCode(e.Message) != "EBUSY" && quotedAs("MountVolume.SetUp")(e, o)
}

// quotedOfNFS reads an error of mount.nfs, which also tells what it tries.
func quotedOfNFS(e *entry, o *occurrence) bool {
	return slices.ContainsFunc([]string{
		"by server while mounting ", "onnection timed out", "onnection refused", "o route to host", "tale file handle", "mount system call failed",
		"Failed to resolve server", "is not supported", "rpc.statd is not running", "o such file or directory",
	}, func(s string) bool { return strings.Contains(e.Message, s) }) && quotedOfMount(e, o)
}

// quotedAs reads what a program has printed that the kubelet runs for an operation of a volume. People quote it without the kubelet's line before it.
func quotedAs(operation string) func(*entry, *occurrence) bool {
	return func(e *entry, o *occurrence) bool {
		if !e.Bare {
			return false
		}
		name := "unnamed"
		for _, before := range []string{"while mounting ", "superblock on ", "on device ", "for volume ", "rbd image ", " to attach volume "} {
			if what := strings.Trim(word(e.Message, before, " "), `",.`); what != "" {
				name = what
			}
		}
		e.Message = operation + ` failed for volume "` + cut(name, maxName) + `" : ` + strings.TrimPrefix(e.Message, "Output: ") // as the kubelet logs it
		return quotedOfVolume(e, o)
	}
}

// quotedOfUmount is what umount prints of a volume of the kubelet that is busy. People quote it without the kubelet's line before it.
func quotedOfUmount(e *entry, o *occurrence) bool {
	if !e.Bare || osCode(e.Message) != "EBUSY" {
		return false
	}
	_, rest, _ := strings.Cut(e.Message, ": /")
	path, reason, ok := strings.Cut(rest, ": ")
	if !ok {
		return false
	}
	o.Kind, o.Path, o.Reason, o.Code = KindUnmountBusy, cut("/"+path, maxName), cut("umount: "+reason, maxReason), "EBUSY"
	o.PodUID = podOfPath(o.Path)
	if parts := strings.Split(o.Path, "/"); len(parts) > 8 && parts[6] == "volumes" { // /var/lib/kubelet/pods/UID/volumes/PLUGIN/NAME
		o.Volume = parts[8]
	}
	return true
}
