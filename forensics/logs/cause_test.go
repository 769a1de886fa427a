package logs

import (
	"slices"
	"testing"
)

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		kind         Kind
		reason, code string
		want         Cause
	}{
		{KindSyncLoopSkipped, "container runtime is down", "", CauseRuntimeDown},
		{KindPLEGRelistFailed, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock", "Unknown", CauseRuntimeDown},
		{kindKubeletFatal, "failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory", "", causeNoBootstrap},
		{kindKubeletFatal, "failed to run Kubelet: unable to load client CA file: no such file or directory", "", ""},
		{KindPodSyncFailed, `failed to "CreatePodSandbox" for "a": failed to get sandbox image \"pause:3.5\"`, "", causeSandboxImage},
		{KindPodSyncFailed, `failed to "CreatePodSandbox" for "a": image "app:1" not found`, "", ""},
		{KindPLEGUnhealthy, "container runtime is down; PLEG is not healthy", "", CauseRuntimeDown},
		{KindPLEGUnhealthy, "PLEG is not healthy", "", ""},
		{kindNodeNotReady, "container runtime is down", "", CauseRuntimeDown},
		{kindNodeNotReady, "PLEG is not healthy", "", causePLEG},
		{kindNodeNotReady, "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady", "", causeNetwork},
		{kindNodeNotReady, "failed to initialize CSINode", "", ""},
		{kindCNIAddFailed, "plugin type=\"host-local\" failed (add): failed to allocate for range 0: no IP addresses available in range set: 10.0.0.1-10.0.0.254", "", causeNoAddress},
		{kindCNIAddFailed, "plugin type=\"calico\" failed (add): stat /var/lib/calico/nodename: no such file or directory", "ENOENT", ""},
		{KindPodSyncFailed, "network is not ready: [runtime network not ready: NetworkReady=false]", "", causeNetwork},
		{KindPodSyncFailed, "failed to \"StartContainer\" for \"app\" with CrashLoopBackOff", "", ""},
		{KindAdmissionRefused, "DiskPressure", "", CausePressure},
		{KindAdmissionRefused, "PIDs", "", ""},
		{KindImageGCFailed, "Failed to garbage collect required amount of images. Attempted to free 4 bytes, but only found 0 bytes eligible to free.", "", CauseNothingToFree},
		{KindImageGCFailed, "rpc error: code = Unavailable desc = connection refused", "Unavailable", ""},
		{KindImagePullFailed, "Get https://10.0.0.7/v2/: dial tcp 10.0.0.7:443: connect: no route to host", "", CauseNoRegistry},
		{KindImagePullFailed, "context", "DeadlineExceeded", CauseNoRegistry},
		{KindImagePullFailed, "manifest unknown", "NotFound", ""},
		{KindOrphan, "volume subpaths are still present on disk", "", CauseSubpathLeft},
		{KindOrphan, "volume paths are still present on disk", "", CauseVolumeLeft},
		{KindOrphanDetail, "failed to rmdir() volume at path /p: device or resource busy", "EBUSY", CauseMounted},
		{KindOrphan, "error occurred when trying to remove the volumes dir: not a directory", "ENOTDIR", CauseFileInVolumes},
		{KindOrphan, "failed to rmdir() subpath at path /p: not a directory", "ENOTDIR", CauseFileOfSubpath},
		{KindOrphanRemoveFailed, "failed to rmdir() volume at path /p: directory not empty", "ENOTEMPTY", CauseNotEmpty},
		{KindOrphanCleanupFailed, "lstat /p", "ESTALE", CauseServerNotThere},
		{KindOrphan, "failed to rmdir() volume at path /p: operation not permitted", "EPERM", ""},
		{KindUnmountBusy, "target is busy", "EBUSY", ""},
	} {
		e := Event{Kind: c.kind, Subject: Subject{Reason: c.reason, Code: c.code}}
		if got := e.Cause(); got != c.want {
			t.Errorf("%s %q %s: %q, want %q", c.kind, c.reason, c.code, got, c.want)
		}
	}
}

// The causes hold for what is read from lines as kubelets write them, not only for words that this test knows.
func TestExamplesHaveCauses(t *testing.T) {
	seen := map[Cause]bool{}
	for _, ex := range allExamples(t) {
		if o, ok := classify(entryOf(ex.line, ex.origin)); ok {
			seen[Event{Kind: o.Kind, Subject: o.Subject}.Cause()] = true
		}
	}
	for _, want := range []Cause{
		CauseRuntimeDown, CausePressure, CauseNothingToFree, CauseNoRegistry, CauseSubpathLeft, CauseVolumeLeft, CauseMounted,
		CauseFileInVolumes, CauseFileOfSubpath, CauseNotEmpty, CauseServerNotThere,
	} {
		if !seen[want] {
			t.Errorf("no example gives the cause %q", want)
		}
	}
}

func TestCallsAndDriversOfEvents(t *testing.T) {
	for reason, want := range map[string]string{
		"ListPodSandbox with filter nil: rpc error": "ListPodSandbox", "Status: rpc error": "Status", "": "",
	} {
		if got := (Event{Kind: KindRuntimeCallFailed, Subject: Subject{Reason: reason}}).Call(); got != want {
			t.Errorf("%q is about the call %q, want %q", reason, got, want)
		}
	}
	if call := (Event{Kind: KindRuntimeDown, Subject: Subject{Reason: "Status: refused"}}).Call(); call != "" {
		t.Errorf("call %q of another kind", call)
	}
	about := []Event{
		{Subject: Subject{Path: "/var/lib/kubelet/plugins/nfs.csi.k8s.io/csi.sock"}},
		{Subject: Subject{Driver: "nfs.csi.k8s.io"}},
		{Subject: Subject{Reason: "plugin nfs.csi.k8s.io is gone"}},
	}
	if slices.ContainsFunc(about, func(e Event) bool { return !e.NamesDriver("nfs.csi.k8s.io") || e.NamesDriver("cephfs.csi.ceph.com") }) {
		t.Error("an event does not name its driver, or another's")
	}
}
