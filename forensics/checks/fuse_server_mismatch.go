package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// fuseServerMismatch finds FUSE servers that serve another mount than their command line names.
var fuseServerMismatch = forensics.Check{
	ID:    "fuse-server-mismatch",
	Title: "A FUSE server serves another volume than it was started for",
	Doc: `The kernel shows that a process serves a mount (fuse_connection, Linux 6.16). The command line of the process names the
mount point of a volume, but its mounts below pod directories are of other volumes. Pods then read and write the data of others.
Seen with clients that are started once for each volume and got the wrong one.

Other directories of a pod do not count, because command lines also name the places of caches and credentials. A directory does not
count either if the server has it open or if it is the source of the mount, as with file systems that show another one. Guessed
servers are not judged.

In a saved text, a command line and a mount table, or the ".config" of JuiceFS, may show the same.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders}, {forensics.SourceProcesses}},
	Run: func(p *forensics.Pass) {
		for _, s := range p.Model.Uses().AllServers() {
			process, ok := p.Model.Process(s.PID)
			if s.Guess || !ok {
				continue
			}
			if word := startedElsewhere(p, process, p.Model.MountsOf(s.Device)); word != "" {
				_, name := fsview.FuseName(p, s.Device)
				f := fsview.ServerFinding(p, s, fmt.Sprintf("%s serves %s but was started for another volume", findings.ProcessTitle(p, s.PID), fsview.FuseTitle(p, s.Device)))
				f.Detail = fmt.Sprintf("%s serves %s, but its command line names %s. Pods may read and write a volume that is not theirs. "+
					"Compare the command line with the volumes of the pods before you unmount anything.", findings.Capital(findings.ProcessName(p, s.PID)), name, word)
				f.Confidence = forensics.Likely
				p.Report(fsview.OfTheHost(p, f, s))
			}
		}
		for _, n := range mountuse.Of(p).FUSE.Named {
			if n.Started != "" {
				p.Report(mismatchFinding(p, n))
			}
		}
	},
}

// mismatchFinding is about what a saved text shows.
func mismatchFinding(p *forensics.Pass, n forensics.FUSENamed) forensics.Finding {
	_, point := fsview.FuseName(p, n.Device)
	return forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(n.PID), Confidence: forensics.Possible, Pods: p.Model.PodsOf(n.Device),
		ConfidenceWhy: "only a saved command line says so, which each process writes itself; the kernel shows on the node which process serves the mount",
		Title:         fmt.Sprintf("%s was started for %s, but its mount shows %s", findings.ProcessTitle(p, n.PID), n.Started, n.Shows),
		Detail: fmt.Sprintf("The command line of the process names %s with %s, and what is mounted there is %s. Pods may read and write a volume that is not theirs. "+
			"Compare the command line with the volumes of the pods before you unmount anything.", point, n.Started, n.Shows),
	}
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
	volumePoint = pattern.New(`^/.*/volumes/(kubernetes\.io~csi/[^/]+/mount|[^/]+~[^/]+/[^/]+)$`)
	ownVolume   = pattern.New(`/volumes/kubernetes\.io~(empty-dir|configmap|secret|projected|downward-api|git-repo|host-path|local-volume)/`)
)

// podVolume is the pod and the name of a volume. A subpath shows no more of it.
func podVolume(volume string) string {
	uid, _, _ := strings.Cut(volume, "/")
	return uid + "/" + path.Base(volume)
}
