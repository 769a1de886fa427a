package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

var needsPods = []forensics.Need{{forensics.SourcePodDirs}, {forensics.SourceKubeletPods}}

// PodOrphaned finds directories of pods that are gone.
var PodOrphaned = forensics.Check{
	ID:    "pod-orphaned",
	Title: "A pod is gone, its directory is not",
	Doc: `A directory below the kubelet's pods/ whose pod is not in the kubelet's own list, has no cgroup and no process.
The list must have been read and must not be empty: while the last pod terminates it is empty. A directory without
volumes is removed by the next housekeeping and is only information; one with volume directories left over makes the
kubelet log "orphaned pod … found, but volume paths are still present on disk" (up to 1.17) or one of its successors
every two seconds, and is a warning. Mounted volumes are pod-orphaned-mounted.

The kubelet's log says why it cannot remove a directory: the error inside that line, which has a meaning of its own, how
many pods it concerns, since when. It names only the first pod of each round; one that stays the same is stuck, names
that change come and go. What was last said well before the sync loop's last line is over. With the log alone the pod is
gone by the kubelet's word; where the directory was not looked at, the finding says "likely".`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourcePodDirs, forensics.SourceLogs}, {forensics.SourceKubeletPods, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		told := orphansInLog(p)
		for _, d := range orphans(p) {
			if len(podMounts(p, d.UID)) == 0 {
				p.Report(told.join(orphanFinding(p, d)))
			}
			told.done(d.UID)
		}
		told.report(p)
	},
}

// PodOrphanedMounted finds pods that are gone and whose volumes are still mounted.
var PodOrphanedMounted = forensics.Check{
	ID:    "pod-orphaned-mounted",
	Title: "A pod is gone, its volumes are still mounted",
	Doc: `As pod-orphaned, with mounts at or below the pod's directory. The kubelet keeps such a directory and says so only
at verbosity 3 and above (kubelet_volumes.go, cleanupOrphanedPodDirs): the dangerous case is the silent one. It looks at
the mounts on every housekeeping; if one of them does not answer, the whole kubelet stops there.`,
	Severity: forensics.Warning,
	Needs:    append(append([]forensics.Need{}, needsPods...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, d := range orphans(p) {
			if list := podMounts(p, d.UID); len(list) > 0 {
				p.Report(orphansInLog(p).join(orphanMountedFinding(p, d, list)))
			}
		}
	},
}

// MountOrphaned finds mounts below the directories of pods that are gone.
var MountOrphaned = forensics.Check{
	ID:    "mount-orphaned",
	Title: "A mount belongs to a pod that is gone",
	Doc: `A mount below <kubelet root>/pods/<uid> of a pod that is orphaned (see pod-orphaned for the proof that this
needs). Nobody will unmount it: the kubelet only unmounts volumes that it remembers, and after a restart it forgets those
that it cannot reconstruct. Information; what follows from it is pod-orphaned-mounted.`,
	Severity: forensics.Info,
	Needs:    append(append([]forensics.Need{}, needsPods...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, d := range orphans(p) {
			for _, m := range podMounts(p, d.UID) {
				p.Report(forensics.Finding{
					Severity: forensics.Info, Subject: forensics.MountEntity(m.ID),
					Title:         fmt.Sprintf("mount %d at %s belongs to pod %s, which is gone", m.ID, m.MountPoint, p.Model.Pod(d.UID)),
					Detail:        fmt.Sprintf("%s from %s.", m.FSType, m.Source),
					ConfidenceWhy: orphanWhy(p, d.UID), Pods: []string{d.UID},
				})
			}
		}
	},
}

// orphans lists the directories whose pods are proven to be gone.
func orphans(p *forensics.Pass) []kubelet.PodDir {
	if ok, why := p.Evidence.Saw(forensics.SourcePodDirs); !ok {
		p.Unjudged("the directories of pods were not looked at: %s", why)
	}
	var found []kubelet.PodDir
	unknown, reason := 0, ""
	for _, d := range p.Evidence.PodDirs {
		switch state, why := p.Model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			found = append(found, d)
		case forensics.PodUnknown:
			unknown++
			reason = why
		}
	}
	if unknown > 0 {
		p.Unjudged("%s could not be told from live ones: %s", forensics.Plural(unknown, "pod directory"), reason)
	}
	return found
}

func orphanWhy(p *forensics.Pass, uid string) string {
	_, why := p.Model.PodState(uid)
	return why
}

// podMounts lists the mounts at or below a pod's directory, in mountinfo order.
func podMounts(p *forensics.Pass, uid string) []mounts.Mount { return p.Model.PodMounts(uid) }

func orphanFinding(p *forensics.Pass, d kubelet.PodDir) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Info, Subject: forensics.Entity{Kind: forensics.KindPod, ID: d.UID},
		Title:         fmt.Sprintf("pod %s is gone, its directory is still there", p.Model.Pod(d.UID)),
		Detail:        d.Path + " holds no volume: the next housekeeping removes it.",
		ConfidenceWhy: orphanWhy(p, d.UID), Pods: []string{d.UID},
		Refs: []forensics.Ref{{Source: forensics.SourcePodDirs + ":" + d.UID, Excerpt: d.Path}},
	}
	if left := len(d.Volumes) + len(d.Subpaths); left > 0 {
		f.Severity = forensics.Warning
		f.Detail = fmt.Sprintf("%s still has %s that are not mounted. What lies in them may be data that nobody else has.",
			d.Path, forensics.Plural(left, "volume or subpath directory"))
		for _, v := range d.Volumes {
			text := v.Path
			if v.VolData != nil {
				text += fmt.Sprintf(" (vol_data.json: driver %s, volume %s)", v.VolData.Driver, v.VolData.VolumeHandle)
			}
			f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourcePodDirs + ":" + d.UID, Excerpt: text})
		}
		f.Remedies = []forensics.Remedy{lookFirst(d)}
	}
	return f
}

// lookFirst is the only safe first step: nothing is ever removed with rm -rf below a pod's directory.
func lookFirst(d kubelet.PodDir) forensics.Remedy {
	return forensics.Remedy{
		Command:      "find " + quote(d.Path) + " -xdev -type f",
		Why:          "shows what is left. Empty directories can be removed with rmdir, from the innermost out; of files only vol_data.json",
		Precondition: "no mount at or below the directory in any mount namespace: grep " + d.UID + " /proc/*/mountinfo prints nothing",
		Risk:         "the listing is harmless. rm -rf is not: a mount that is not seen, or a bind mount of the same file system, is emptied at its source",
	}
}

func orphanMountedFinding(p *forensics.Pass, d kubelet.PodDir, list []mounts.Mount) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPod, ID: d.UID},
		Title:         fmt.Sprintf("pod %s is gone, %s of it still there", p.Model.Pod(d.UID), forensics.Plural(len(list), "mount")),
		ConfidenceWhy: orphanWhy(p, d.UID), Pods: []string{d.UID},
		Detail: "The kubelet keeps the directory while anything is mounted below it and says so only at verbosity 3.",
	}
	for i := len(list) - 1; i >= 0; i-- { // the last mounted goes first
		m := list[i]
		f.Because = append(f.Because, forensics.MountEntity(m.ID))
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceMounts, m.ID),
			Excerpt: fmt.Sprintf("%d %s %s - %s %s", m.ID, m.Device, m.MountPoint, m.FSType, m.Source),
		})
		if h, ok := p.Model.Health(m.Device); ok && h.Status == mounts.StatusHung {
			continue // the steps for a hung mount come with mount-hung
		}
		f.Remedies = append(f.Remedies, forensics.Remedy{
			Command:      "umount -c " + quote(m.MountPoint),
			Why:          "the pod is gone and nothing else unmounts it; then the next housekeeping removes the directory",
			Precondition: "the pod is still gone (kubectl get pods -A | grep NAME), and no process uses the mount",
			Risk:         "a plain unmount fails while the mount is in use, which is the safe answer: find the user instead of forcing it",
		})
	}
	return f
}
