package plan

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A report may be forged, and what a genuine one says may have been arranged by a pod. So nothing of it comes into the
// script but what one of these describes, or through [word] and [visible].
//
// Names of volumes, plugins and containers are the kubelet's: DNS labels and subdomains, a plugin's with "~" for "/". What is
// called otherwise was not made by it, and is not touched. Lengths are for [lengthy]: a pattern that counts to 255 takes
// hundreds of kilobytes in every process of this program.
var (
	nodeName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	podName   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	device    = regexp.MustCompile(`^[0-9]{1,10}:[0-9]{1,10}$`)
	fsType    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	plainPath = regexp.MustCompile(`^(/` + plainName + `)+$`)

	volumePath = regexp.MustCompile(`^volumes/` + plainName + `/` + plainName + `$`)
	csiPath    = regexp.MustCompile(`^volumes/kubernetes\.io~csi/` + plainName + `$`)
	// mountPath is where kubelets and CSI drivers mount.
	mountPath   = regexp.MustCompile(`^(volumes/` + plainName + `/` + plainName + `|volumes/kubernetes\.io~csi/` + plainName + `/mount|volumeDevices/` + plainName + `/` + plainName + `|` + subpath + `)$`)
	subpathPath = regexp.MustCompile(`^` + subpath + `$`)
	// leftPath is anything in a directory of the kubelet's own, which no container can write to.
	leftPath = regexp.MustCompile(`^((volumes|volumeDevices)(/` + plainName + `){1,2}|volume-subpaths(/` + plainName + `){1,3})$`)
)

const (
	plainName = `[A-Za-z0-9_][A-Za-z0-9._~+=@:-]*`
	subpath   = `volume-subpaths/` + plainName + `/` + plainName + `/[0-9]{1,9}`
)

const (
	defaultRoot = "/var/lib/kubelet"
	maxPodDirs  = 10_000  // more are never read
	maxPerPod   = 2000    // volumes and subpaths, and mounts
	maxScript   = 8 << 20 // bytes; nobody reads more
)

// usable says why no script can be made of a report.
func usable(e *forensics.Evidence) error {
	switch {
	case e.Schema != forensics.EvidenceSchema:
		return fmt.Errorf("evidence schema %q, want %q", visible(e.Schema), forensics.EvidenceSchema)
	case e.Root != "/":
		return fmt.Errorf("the report is of files below %q, not of a node that runs", visible(e.Root))
	case lengthy(e.Node.Name) || !nodeName.MatchString(e.Node.Name):
		return fmt.Errorf("node name %q: none that a script can compare (--redact=strict masks it)", visible(e.Node.Name))
	case e.Collected.Unix() <= 0 || e.Node.Boot == nil || e.Node.Boot.Unix() <= 0:
		return errors.New("the report does not say when it was made, and when the node was booted")
	case len(e.PodDirs) > maxPodDirs:
		return fmt.Errorf("the report has %d pod directories, and at most %d are ever read", len(e.PodDirs), maxPodDirs)
	case lengthy(root(e)) || !plainPath.MatchString(root(e)):
		return fmt.Errorf("kubelet root %q: names may have letters, digits and ._~+=@:-", visible(root(e)))
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

// root is where the report says that the kubelet's root directory is. The script only compares it.
func root(e *forensics.Evidence) string {
	if e.Kubelet == nil || e.Kubelet.CanonicalRoot == "" {
		return defaultRoot
	}
	return e.Kubelet.CanonicalRoot
}

// unfit says why the directory of a pod is none that a script can be about.
func unfit(e *forensics.Evidence, d kubelet.PodDir, mounted int) error {
	switch {
	case max(len(d.Volumes)+len(d.Subpaths)+len(d.Unknown), mounted) > maxPerPod:
		return errors.New("it has more volumes or mounts than any pod has")
	case !poduid.Valid(d.UID):
		return errors.New("the directory is not named after the UID of a pod")
	case d.Path != path.Join(root(e), "pods", d.UID):
		return errors.New("the directory is not that of the pod below the root of the kubelet")
	case d.Error != "":
		return errors.New("it was not read to its end: see the report")
	}
	return nil
}

// below is a path as the script wants it, relative to the directory of the pod; "" where it does not lie there, or is of
// another shape.
func below(d kubelet.PodDir, p string, shape *regexp.Regexp) string {
	rel, ok := strings.CutPrefix(p, d.Path+"/")
	if !ok || lengthy(rel) || !shape.MatchString(rel) {
		return ""
	}
	return rel
}
