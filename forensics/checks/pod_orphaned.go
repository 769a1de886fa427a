package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/orphans"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// podOrphaned finds orphaned pod directories.
var podOrphaned = forensics.Check{
	ID:    "pod-orphaned",
	Title: "Orphaned pod directory",
	Doc: `A directory below the kubelet's pods/ directory is orphaned if its pod is not in the kubelet's own list and has no
cgroup and no process. The list must have been read and must not be empty: it is empty while the last pod terminates. A
directory that is younger than the examination is not judged.

By default, a kubelet refuses its list without a token (HTTP 401). Without the list, a directory is at most:

- Likely orphaned, if the kubelet's log calls it so, or if the kubelet's own file allocated_pods_state (1.33 and later) has
  all running pods and not this one.
- Possibly orphaned, if nothing on the node knows the pod: no cgroup, process, sandbox, container, log directory, state file
  or message of this kubelet. Its directory has leftovers of volumes and has not changed for ten minutes. The kubelet has
  run for ten minutes, and a pod of the API server runs. Before that, all pods of a rebooted node look like this.

Pods that have ended (completed, evicted) keep a directory without volumes, and pods that wait for the network have a message
in the log: neither is reported. Such a finding only says how to confirm it.

The check classifies the leftovers. Whether the kubelet removes them depends on its version (cleanupOrphanedPodDirs in
kubelet_volumes.go, 1.10 to 1.36):

- Empty volume directories: never removed up to 1.17, removed since 1.18.
- Files of subPath mounts: removed since 1.27.
- A volume or subPath that contains data: never removed. Check it first: the data was written to the node's own disk.
- A directory without such leftovers, or with leftovers that the kubelet removes by itself: removed by the next
  housekeeping. This is only information.

If the last kind has not changed for ten minutes although the sync loop runs, the kubelet believes that a volume is still
mounted (likely, not certain). Mounted volumes are reported as pod-orphaned-mounted, vol_data.json of unmounted volumes as
pod-orphaned-vol-data. If the version is not known, the finding does not say what the kubelet does.

The kubelet's log says why it cannot remove a directory: the error inside the message, the number of pods, and since when.
It names only the first pod of each round. A name that stays the same is stuck; names that change come and go. A message
that ended well before the sync loop's last line is over. With the log alone, the kubelet's log is the only evidence that
the pod no longer exists; if the directory was not read, the finding is "likely".`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourcePodDirs, forensics.SourceLogs}, {forensics.SourceKubeletPods, forensics.SourceRuntime, forensics.SourceLogs, forensics.SourcePodDirs}},
	Run: func(p *forensics.Pass) {
		complaints := orphans.InLog(p)
		found := complaints.Findings()
		for _, o := range orphans.All(p) {
			if len(o.Points()) == 0 && !o.Has(kubelet.CSIVolDataLeft) {
				found.Add(o, orphanFinding(p, o))
			}
			complaints.Done(o.UID)
		}
		found.Report(p)
		complaints.Report(p)
	},
}

// orphanFinding is about a directory without mounts.
func orphanFinding(p *forensics.Pass, o orphans.Orphan) forensics.Finding {
	f := orphans.NewFinding(p, o)
	data := o.WithData()
	switch {
	case len(data) > 0:
		f.Title = orphans.NamedHeadline(p, o) + " has data on the node's own disk: " + orphans.Size(data[0])
		f.Remedies = o.Steps(p, orphans.LookFirst(o.PodDir), orphans.PlanFirst())
	case o.Has(kubelet.ASWUncertain):
		if o.Sure == forensics.Certain {
			f.Confidence = forensics.Likely
		}
		f.Remedies = o.Steps(p, restartKubelet())
	case o.Heals():
		f.Severity = forensics.Info
	default:
		f.Remedies = o.Steps(p, orphans.LookFirst(o.PodDir), orphans.PlanFirst())
	}
	return f
}

// restartKubelet is for directories that only the kubelet's actual state of the world keeps.
func restartKubelet() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionRestart, Command: []string{"systemctl", "restart", "kubelet"},
		Why:    "the kubelet then reconstructs its list of mounted volumes from the disk and the mount table",
		OnlyIf: "a goroutine dump and the log were saved (nodeforensics --goroutines, journalctl -u kubelet), because the restart loses the current state; no volume is being mounted; since 1.28, the API server is reachable",
		Risk:   "containers keep running. FUSE servers in the kubelet's own cgroup are killed, and their mounts fail. A hung kubelet will hang again on the same mount",
	}
}
