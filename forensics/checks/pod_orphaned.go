package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// podOrphaned finds directories of pods that are gone.
var podOrphaned = forensics.Check{
	ID:    "pod-orphaned",
	Title: "A pod is gone, its directory is not",
	Doc: `A directory below the kubelet's pods/ whose pod is not in the kubelet's own list, has no cgroup and no process.
The list must have been read and must not be empty: while the last pod terminates it is empty. A directory that is younger
than the examination is not judged.

What is left is classified, and what becomes of it depends on the kubelet (cleanupOrphanedPodDirs in kubelet_volumes.go,
1.10 to 1.36): empty volume directories stay for ever up to 1.17 and are removed from 1.18 on, files of subpaths from 1.27
on; a volume or subpath that holds something is never removed, and is what to look at: it was written to the node's own
disk. A directory without any of that is removed by the next housekeeping and only information, and so is one whose
leftovers the kubelet removes by itself. If such a directory has not changed for ten minutes although the sync loop runs,
the kubelet believes that a volume is still mounted (likely, not certain). Mounted volumes are pod-orphaned-mounted,
vol_data.json of unmounted ones pod-orphaned-vol-data. Where the version is not known, what the kubelet does is not said.

The kubelet's log says why it cannot remove a directory: the error inside that line, which has a meaning of its own, how
many pods it concerns, since when. It names only the first pod of each round; one that stays the same is stuck, names
that change come and go. What was last said well before the sync loop's last line is over. With the log alone the pod is
gone by the kubelet's word; where the directory was not looked at, the finding says "likely".`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourcePodDirs, forensics.SourceLogs}, {forensics.SourceKubeletPods, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		complaints := orphans.InLog(p)
		found := complaints.Findings()
		for _, o := range orphans.All(p) {
			if len(o.Points()) == 0 && !o.Has(kubelet.CSIVolDataLeft) {
				found.Add(o, orphanFinding(p, o))
			}
			complaints.Done(o.UID)
		}
		found.Report(p, func(n int, o orphans.Orphan) string { return orphansTitle(p, n, o) })
		complaints.Report(p)
	},
}

// orphanFinding is about a directory in which nothing is mounted.
func orphanFinding(p *forensics.Pass, o orphans.Orphan) forensics.Finding {
	f := orphans.NewFinding(p, o)
	data := o.WithData()
	switch {
	case len(data) > 0:
		f.Title = fmt.Sprintf("pod %s is gone and has left DATA on the node's own disk: %s", p.Model.Pod(o.UID), orphans.InsideText(data[0]))
		f.Remedies = []forensics.Remedy{orphans.LookFirst(o.PodDir), orphans.PlanFirst()}
	case o.Has(kubelet.ASWUncertain):
		f.Title = fmt.Sprintf("pod %s is gone, and %s keeps its directory for no reason that can be seen", p.Model.Pod(o.UID), p.Model.KubeletName())
		f.Confidence = forensics.Likely
		f.Remedies = []forensics.Remedy{restartKubelet()}
	case o.Heals():
		f.Severity = forensics.Info
	default:
		f.Title = fmt.Sprintf("pod %s is gone, its directory stays: %s", p.Model.Pod(o.UID), orphans.LeftText(o.Left[0]))
		f.Remedies = []forensics.Remedy{orphans.LookFirst(o.PodDir), orphans.PlanFirst()}
	}
	return f
}

// orphansTitle is about n directories that are like one of them.
func orphansTitle(p *forensics.Pass, n int, o orphans.Orphan) string {
	switch {
	case o.Has(kubelet.ASWUncertain):
		return fmt.Sprintf("%d pods are gone, and %s keeps their directories for no reason that can be seen", n, p.Model.KubeletName())
	case o.Heals():
		return fmt.Sprintf("%d pods are gone, their directories are still there", n)
	}
	return fmt.Sprintf("%d pods are gone, their directories stay: %s", n, orphans.LeftText(o.Left[0]))
}

// restartKubelet is for what only the kubelet's memory keeps.
func restartKubelet() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionRestart, Command: []string{"systemctl", "restart", "kubelet"},
		Why:    "the kubelet then builds what it believes to be mounted anew, from the disk and from the mount table",
		OnlyIf: "a goroutine dump and the log were saved (nodeforensics --goroutines, journalctl -u kubelet): both are lost for the moment that matters; no volume is being mounted; from 1.28 on the API server answers",
		Risk:   "containers go on; FUSE servers that run in the kubelet's own cgroup die with it, and their mounts; it hangs again where it hung before",
	}
}
