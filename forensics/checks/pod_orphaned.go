package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

var needsPods = []forensics.Need{{forensics.SourcePodDirs}, {forensics.SourceKubeletPods}}

// PodOrphaned finds directories of pods that are gone.
var PodOrphaned = forensics.Check{
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
		told := orphansInLog(p)
		for _, o := range orphans(p) {
			if len(o.points()) == 0 && !o.has(kubelet.CSIVolDataLeft) {
				p.Report(told.join(orphanFinding(p, o)))
			}
			told.done(o.UID)
		}
		told.report(p)
	},
}

// PodOrphanedVolData finds pods that are gone and of whose CSI volumes only vol_data.json is left.
var PodOrphanedVolData = forensics.Check{
	ID:    "pod-orphaned-vol-data",
	Title: "A pod is gone, vol_data.json of its CSI volume is not",
	Doc: `As pod-orphaned, with a CSI volume that is not mounted and in whose directory vol_data.json is left, with an empty
directory "mount" or none: the driver's unmount went well, and the kubelet was stopped, or failed, before it removed the
file. No kubelet (seen from 1.17 to 1.36) removes it: every housekeeping fails, up to 1.17 with "volume paths are still
present on disk", later with "not a directory". Nothing else suffers but the log, and other errors of this kind that it
hides: only the first is printed. If anything else lies in the volume it is pod-orphaned, since that may be data.`,
	Severity: forensics.Warning,
	Needs:    needsPods,
	Run: func(p *forensics.Pass) {
		for _, o := range orphans(p) {
			if len(o.points()) == 0 && o.has(kubelet.CSIVolDataLeft) {
				p.Report(orphansInLog(p).join(volDataFinding(p, o)))
			}
		}
	},
}

// PodOrphanedMounted finds pods that are gone and whose volumes are still mounted.
var PodOrphanedMounted = forensics.Check{
	ID:    "pod-orphaned-mounted",
	Title: "A pod is gone, its volumes are still mounted",
	Doc: `As pod-orphaned, with mounts at or below the pod's directory. The kubelet keeps such a directory and says so only
at verbosity 3 and above (kubelet_volumes.go, cleanupOrphanedPodDirs): the dangerous case is the silent one. It looks at
the mounts on every housekeeping; if one of them does not answer, the whole kubelet stops there. Mounted subpaths it does
not look for: those it fails to remove (from 1.18 on with "device or resource busy"), again and again.`,
	Severity: forensics.Warning,
	Needs:    append(append([]forensics.Need{}, needsPods...), forensics.Need{forensics.SourceMounts}),
	Run: func(p *forensics.Pass) {
		for _, o := range orphans(p) {
			if len(o.points()) > 0 {
				p.Report(orphansInLog(p).join(orphanMountedFinding(p, o, podMounts(p, o.UID))))
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
func orphans(p *forensics.Pass) []orphan {
	if ok, why := p.Evidence.Saw(forensics.SourcePodDirs); !ok {
		p.Unjudged("the directories of pods were not looked at: %s", why)
	}
	var found []orphan
	unknown, reason := 0, ""
	for _, d := range p.Evidence.PodDirs {
		switch state, why := p.Model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			found = append(found, orphan{d, p.Model.Leftovers(d)})
		case forensics.PodUnknown:
			unknown++
			reason = why
		}
	}
	if unknown > 0 {
		p.Unjudged("%s could not be told from live ones: %s", text.Plural(unknown, "pod directory"), reason)
	}
	return found
}

func orphanWhy(p *forensics.Pass, uid string) string {
	_, why := p.Model.PodState(uid)
	return why
}

// podMounts lists the mounts at or below a pod's directory, in mountinfo order.
func podMounts(p *forensics.Pass, uid string) []mounts.Mount { return p.Model.PodMounts(uid) }

// orphanFinding is about a directory in which nothing is mounted.
func orphanFinding(p *forensics.Pass, o orphan) forensics.Finding {
	f := newOrphanFinding(p, o)
	data := o.withData()
	switch {
	case len(data) > 0:
		f.Title = fmt.Sprintf("pod %s is gone and has left DATA on the node's own disk: %s", p.Model.Pod(o.UID), insideText(data[0]))
		f.Remedies = []forensics.Remedy{lookFirst(o.PodDir), planFirst()}
	case o.has(kubelet.ASWUncertain):
		f.Title = fmt.Sprintf("pod %s is gone, and %s keeps its directory for no reason that can be seen", p.Model.Pod(o.UID), p.Model.KubeletName())
		f.Confidence = forensics.Likely
		f.Remedies = []forensics.Remedy{restartKubelet()}
	case o.heals():
		f.Severity = forensics.Info
	default:
		f.Title = fmt.Sprintf("pod %s is gone, its directory stays: %s", p.Model.Pod(o.UID), leftText(o.left[0]))
		f.Remedies = []forensics.Remedy{lookFirst(o.PodDir), planFirst()}
	}
	return f
}

// volDataFinding is about CSI volumes of which only vol_data.json is left.
func volDataFinding(p *forensics.Pass, o orphan) forensics.Finding {
	f := newOrphanFinding(p, o)
	n := 0
	for _, l := range o.left {
		if l.Class == kubelet.CSIVolDataLeft {
			n++
		}
	}
	f.Title = fmt.Sprintf("pod %s is gone, vol_data.json of %s is left and keeps its directory", p.Model.Pod(o.UID), text.Plural(n, "CSI volume"))
	if data := o.withData(); len(data) > 0 {
		f.Title += "; another volume holds DATA: " + insideText(data[0])
	}
	f.Remedies = []forensics.Remedy{lookFirst(o.PodDir), planFirst()}
	return f
}

func newOrphanFinding(p *forensics.Pass, o orphan) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPod, ID: o.UID},
		Title:  fmt.Sprintf("pod %s is gone, its directory is still there", p.Model.Pod(o.UID)),
		Detail: o.detail(p), ConfidenceWhy: orphanWhy(p, o.UID), Pods: []string{o.UID}, Refs: o.refs(),
	}
}

// lookFirst is the only safe first step: nothing is ever removed with rm -rf below a pod's directory.
func lookFirst(d kubelet.PodDir) forensics.Remedy {
	return forensics.Remedy{
		Command:      listFiles(d.Path),
		Why:          "shows what is left. Empty directories can be removed with rmdir, from the innermost out; of files only vol_data.json",
		Precondition: "no mount at or below the directory in any mount namespace: grep " + quote(d.UID) + " /proc/*/mountinfo prints nothing",
		Risk:         "the listing is harmless. rm -rf is not: a mount that is not seen, or a bind mount of the same file system, is emptied at its source",
	}
}

// listFiles lists the files below a directory, without those of other file systems.
func listFiles(dir string) string {
	if word, ok := pathWord(dir); ok {
		return "find " + word + " -xdev -type f"
	}
	return "Look at what is below " + quote(dir)
}

func orphanMountedFinding(p *forensics.Pass, o orphan, list []mounts.Mount) forensics.Finding {
	f := newOrphanFinding(p, o)
	f.Title = fmt.Sprintf("pod %s is gone, %s of it still there", p.Model.Pod(o.UID), text.Plural(max(len(list), len(o.points())), "mount"))
	if data := o.withData(); len(data) > 0 {
		f.Title += ", and DATA on the node's own disk: " + insideText(data[0])
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
		f.Remedies = append(f.Remedies, unmount(p, m, "-c", forensics.Remedy{
			Why:          "the pod is gone and nothing else unmounts it; then the next housekeeping removes the directory",
			Precondition: "the pod is still gone (kubectl get pods -A -o yaml | grep " + quote(o.UID) + " finds nothing), and no process uses the mount",
			Risk:         "a plain unmount fails while the mount is in use, which is the safe answer: find the user instead of forcing it",
			Stage:        forensics.StageUnmount,
		}))
	}
	f.Remedies = append(f.Remedies, planFirst())
	return f
}
