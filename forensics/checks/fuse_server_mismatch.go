package checks

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// fuseServerMismatch finds FUSE servers that serve another mount than their command line says.
var fuseServerMismatch = forensics.Check{
	ID:    "fuse-server-mismatch",
	Title: "A FUSE server serves another volume than it was started for",
	Doc: `A process that by the kernel's word (fuse_connection, Linux 6.16) serves a mount, and whose command line names the
mount point of another volume than those that its mounts below pod directories are of. Other directories of a pod are no
sign: servers are told where their cache and their credentials are, too. Nor is one that the server has open or that is the
source of its mount, as of file systems that show others. Seen with clients that are started once for each volume and got the wrong one: pods
then read and write a stranger's data. Guessed servers are not judged.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range p.Model.Uses().AllServers() {
			process, ok := p.Model.Process(s.PID)
			if s.Guess || !ok {
				continue
			}
			if word := startedElsewhere(p, process, p.Model.MountsOf(s.Device)); word != "" {
				f := fsview.ServerFinding(p, s, "serves %s, but was started for "+strings.ReplaceAll(word, "%", "%%"))
				f.Detail = "Pods may read and write another volume than theirs. Compare its command line with the volumes of the pods before anything is unmounted."
				f.Confidence = forensics.Likely
				p.Report(fsview.OfTheHost(p, f, s))
			}
		}
	},
}

// startedElsewhere returns the mount point that a command line names and the server does not serve: that of another
// volume than all those as which its file system is mounted in pods. "" is none.
func startedElsewhere(p *forensics.Pass, process procs.Process, list []mounts.Mount) string {
	served := map[string]bool{}
	for _, m := range list {
		if _, volume := forensics.PodOf(m.MountPoint); volume != "" {
			served[podVolume(volume)] = true
		}
	}
	elsewhere := ""
	for i, word := range process.Command {
		if _, value, found := strings.Cut(word, "="); found {
			word = value
		}
		word = strings.TrimSuffix(word, "/")
		if slices.ContainsFunc(list, func(m mounts.Mount) bool { return m.MountPoint == word || i > 1 && endsIn(m.MountPoint, word) }) {
			return ""
		}
		if !volumePoint.MatchString(word) || ownVolume.MatchString(word) || isSource(p, process.PID, word, list) {
			continue
		}
		switch _, volume := forensics.PodOf(word); {
		case served[podVolume(volume)]:
			return "" // by another path, as where the kubelet's directory is a symbolic link
		case elsewhere == "":
			elsewhere = word
		}
	}
	if len(served) == 0 {
		return "" // it is seen in the namespaces of containers only, by other names
	}
	return elsewhere
}

// endsIn says whether a path may be what a relative one was meant to be: where a server was started is not known.
func endsIn(path, relative string) bool {
	relative = strings.TrimPrefix(relative, "./")
	return relative != "" && !strings.HasPrefix(relative, "/") && strings.HasSuffix(path, "/"+relative)
}

// isSource says whether a server shows a path rather than serving it: the path is the source of its mount, or it has that
// open, or something below.
func isSource(p *forensics.Pass, pid int, path string, list []mounts.Mount) bool {
	return slices.ContainsFunc(list, func(m mounts.Mount) bool { return strings.TrimSuffix(m.Source, "/") == path }) ||
		slices.ContainsFunc(mountuse.ByProcess(p, pid), func(h holders.Holder) bool {
			return h.Path == path || strings.HasPrefix(h.Path, path+"/")
		})
}

// volumePoint is where the kubelet has a volume of a pod mounted; ownVolume those that it makes itself, without a server.
var (
	volumePoint = regexp.MustCompile(`^/.*/volumes/(kubernetes\.io~csi/[^/]+/mount|[^/]+~[^/]+/[^/]+)$`)
	ownVolume   = regexp.MustCompile(`/volumes/kubernetes\.io~(empty-dir|configmap|secret|projected|downward-api|git-repo|host-path|local-volume)/`)
)

// podVolume is the pod and the name of a volume, of which a subpath shows no more.
func podVolume(volume string) string {
	uid, _, _ := strings.Cut(volume, "/")
	return uid + "/" + path.Base(volume)
}
