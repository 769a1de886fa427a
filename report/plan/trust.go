package plan

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A report can be forged, and a pod can control what a genuine one says. So the script has nothing of it but what one of these
// patterns describes, or what has passed [word] or [visible].
//
// Names of volumes, plugins and containers come from the kubelet: DNS labels and subdomains, a plugin's with "~" for "/". The
// kubelet did not create other names, and they are not touched. [lengthy] checks lengths: a pattern that counts to 255 takes
// hundreds of kilobytes in every process of this program.
var (
	nodeName  = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	podName   = pattern.New(`^[a-z0-9][a-z0-9.-]*$`)
	device    = pattern.New(`^[0-9]{1,10}:[0-9]{1,10}$`)
	fsType    = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	plainPath = pattern.New(`^(/` + plainName + `)+$`)

	volumePath = pattern.New(`^volumes/` + plainName + `/` + plainName + `$`)
	csiPath    = pattern.New(`^volumes/kubernetes\.io~csi/` + plainName + `$`)
	// mountPath is where kubelets and CSI drivers mount.
	mountPath   = pattern.New(`^(volumes/` + plainName + `/` + plainName + `|volumes/kubernetes\.io~csi/` + plainName + `/mount|volumeDevices/` + plainName + `/` + plainName + `|` + subpath + `)$`)
	subpathPath = pattern.New(`^` + subpath + `$`)
	// leftPath is anything in a directory of the kubelet that no container can write to.
	leftPath = pattern.New(`^((volumes|volumeDevices)(/` + plainName + `){1,2}|volume-subpaths(/` + plainName + `){1,3})$`)
)

const (
	plainName = `[A-Za-z0-9_][A-Za-z0-9._~+=@:-]*`
	subpath   = `volume-subpaths/` + plainName + `/` + plainName + `/[0-9]{1,9}`
)

const (
	defaultRoot = "/var/lib/kubelet"
	maxPodDirs  = 10_000  // a report has no more
	maxPerPod   = 2000    // volumes and subpaths, and mounts
	maxScript   = 8 << 20 // bytes
)

// usable says why a report gives no script.
func usable(e *forensics.Evidence) error {
	switch {
	case e.Schema != forensics.EvidenceSchema:
		return fmt.Errorf("evidence schema %q, want %q", visible(e.Schema), forensics.EvidenceSchema)
	case e.Root != "/":
		return fmt.Errorf("the report is of files below %q, not of a running node", visible(e.Root))
	case lengthy(e.Node.Name) || !nodeName.MatchString(e.Node.Name):
		return fmt.Errorf("node name %q: a script cannot compare it (--redact=strict masks names)", visible(e.Node.Name))
	case e.Collected.Unix() <= 0 || e.Node.Boot == nil || e.Node.Boot.Unix() <= 0:
		return errors.New("the report does not state when it was made, or when the node was booted")
	case len(e.PodDirs) > maxPodDirs:
		return fmt.Errorf("the report has %d pod directories; a report has at most %d", len(e.PodDirs), maxPodDirs)
	case lengthy(root(e)) || !plainPath.MatchString(root(e)):
		return fmt.Errorf("kubelet root %q: names can have letters, digits and ._~+=@:- only", visible(root(e)))
	}
	return nil
}

// lengthy says whether a part of a path, or a name, is longer than any file's may be (NAME_MAX).
func lengthy(name string) bool {
	const most = 255
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > most {
			return true
		}
	}
	return false
}

// root is the root directory of the kubelet by the report. The script only compares it.
func root(e *forensics.Evidence) string {
	if e.Kubelet == nil || e.Kubelet.CanonicalRoot == "" {
		return defaultRoot
	}
	return e.Kubelet.CanonicalRoot
}

// unfit says why a script can have no steps for a pod directory.
func unfit(e *forensics.Evidence, d kubelet.PodDir, mounted int) error {
	switch {
	case max(len(d.Volumes)+len(d.Subpaths)+len(d.Unknown), mounted) > maxPerPod:
		return errors.New("it has more volumes or mounts than a pod can have")
	case !poduid.Valid(d.UID):
		return errors.New("the name of the directory is not the UID of a pod")
	case d.Path != path.Join(root(e), "pods", d.UID):
		return errors.New("the directory is not the pod directory below the root directory of the kubelet")
	case d.Error != "":
		return errors.New("it was not read completely: see the report")
	}
	return nil
}

// below is a path relative to the pod directory; "" where it is not there, or has another shape.
func below(d kubelet.PodDir, p string, shape *pattern.Pattern) string {
	rel, ok := strings.CutPrefix(p, d.Path+"/")
	if !ok || lengthy(rel) || !shape.MatchString(rel) {
		return ""
	}
	return rel
}
