package checks

import (
	"fmt"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/unmounts"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountStacked finds mount points below the kubelet's directory with several mounts on top of each other.
var mountStacked = forensics.Check{
	ID:    "mount-stacked",
	Title: "Several mounts are stacked on one mount point",
	Doc: `Two or more mounts have the same mount point below the kubelet's directory. The kubelet or a CSI driver has mounted a
volume that was already mounted, often after a restart. One umount removes only the topmost mount. The kubelet then believes that
the volume is unmounted and fails to remove the directory, and writes may have gone to either mount.

Left out is what is normal: an autofs mount below the file system that it mounted; the kubelet's directory bind-mounted onto
itself to make it shared; the duplicates that the kernel then makes of all mounts below it. Such duplicates have two different
parents, and one umount removes both.

A table without ids (mount, findmnt, /proc/mounts) does not show parents. There, rows that differ in nothing count, unless all mounts of the
kubelet are there equally often and fewer than 16 times, or only two rows are there.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceMounts}},
	Run: func(p *forensics.Pass) {
		ofPod := func(point string) bool {
			uid, _ := forensics.PodOf(point)
			return uid != "" || unmounts.StagedPath.MatchString(point)
		}
		ofKubelet := p.Model.BelowKubelet
		if len(p.Model.KubeletRoots()) == 0 {
			ofKubelet = ofPod
			p.Unjudged("the kubelet's directory is not known: only volumes of pods were judged")
		}
		for _, m := range p.Evidence.Mounts.Mounts {
			if m.Alike > 0 && ofPod(m.MountPoint) {
				p.ReportAlike(m.Alike, func(n int) string {
					return fmt.Sprintf("%d mount points have %s stacked on each", n, text.Plural(m.Alike+1, "mount"))
				}, countedStack(p, m))
			}
		}
		index := p.Model.Host()
		done := map[string]bool{}
		for _, m := range p.Evidence.Mounts.Mounts {
			if done[m.MountPoint] || !ofKubelet(m.MountPoint) {
				continue
			}
			done[m.MountPoint] = true
			var stack []mounts.Mount
			for _, at := range stackAt(index, m.MountPoint) {
				if at.Class != mounts.ClassAutofs {
					stack = append(stack, at)
				}
			}
			if len(stack) > 1 && !boundOntoItself(stack) {
				reportStack(p, stack)
			}
		}
	},
}

// stackAt lists the mounts that are stacked at a mount point, topmost last: those on the way of a path that leads
// there, and on old kernels those on the same directory as one of them. It leaves out mounts that another mount covers
// together with a directory above.
func stackAt(x *mounts.Index, point string) []mounts.Mount {
	at := x.At(point)
	last := len(at) - 1
	if last < 0 || !x.Visible(at[last].ID) {
		return nil
	}
	parents := map[int]bool{}
	for i := last; i >= 0 && (i == last || at[i].ID == at[i+1].ParentID); i-- {
		parents[at[i].ParentID] = true
	}
	return sorting.Delete(at, func(m mounts.Mount) bool { return !parents[m.ParentID] })
}

// sameDirectory says whether all of a stack show the same directory of the same file system.
func sameDirectory(stack []mounts.Mount) bool {
	return !slices.ContainsFunc(stack, func(m mounts.Mount) bool { return m.Device != stack[0].Device || m.Root != stack[0].Root })
}

// boundOntoItself says whether a directory of the kubelet's own, and not a volume, is mounted onto itself.
func boundOntoItself(stack []mounts.Mount) bool {
	uid, _ := forensics.PodOf(stack[0].MountPoint)
	return uid == "" && !unmounts.StagedPath.MatchString(stack[0].MountPoint) && sameDirectory(stack)
}

// reportStack reports a stack, as one with others where nothing is hidden by them.
func reportStack(p *forensics.Pass, stack []mounts.Mount) {
	f := stackedFinding(p, stack)
	if !sameDirectory(stack) {
		p.Report(f)
		return
	}
	p.ReportAlike(len(stack), func(n int) string {
		return fmt.Sprintf("%d mount points have %s stacked on each", n, text.Plural(len(stack), "mount"))
	}, f)
}

// manyStacked are so many mounts that systemd and the kubelet take long to read the table, and that fill it soon.
const manyStacked = 10_000

// fullMounts are the mount points where so many mounts are stacked that the limit of a mount namespace is the likely cause of ENOSPC of mount(2).
func fullMounts(p *forensics.Pass) (list []forensics.Entity) {
	for _, m := range p.Evidence.Mounts.Mounts {
		if m.Alike >= manyStacked {
			list = append(list, forensics.MountEntity(m.ID))
		}
	}
	return list
}

// countedStack is of a table without ids that shows a mount more than once.
func countedStack(p *forensics.Pass, m mounts.Mount) forensics.Finding {
	f := stackedFinding(p, []mounts.Mount{m})
	f.Confidence, f.ConfidenceWhy = forensics.Likely, "the table has that many alike rows; it does not show which mount is on which"
	if m.FSType == "" {
		f.Detail = fmt.Sprintf("The mount point is %s. Only the topmost mount is visible.", m.MountPoint)
	}
	if m.Alike >= manyStacked {
		f.Detail = findings.Sentences(f.Detail, "A mount namespace has 100,000 mounts at most (fs.mount-max). Then mount fails with \"No space left on device\", though no disk is full.")
	}
	f.Remedies = append([]forensics.Remedy{incident.Look("shows the mounts with their ids, and then the ids of their parents. Mounts with two different parents are duplicates that the kernel "+
		"made, and one umount removes both", "grep", "-F", "-e", m.MountPoint, "/proc/self/mountinfo")}, f.Remedies...)
	return f
}

func stackedFinding(p *forensics.Pass, stack []mounts.Mount) forensics.Finding {
	upper := stack[len(stack)-1]
	at := upper.MountPoint
	if uid, volume := forensics.PodOf(at); volume != "" {
		at = "volume " + path.Base(volume) + " of " + podInTitle(p, uid)
	}
	n := len(stack) + upper.Alike
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.MountEntity(stack[0].ID), Confidence: forensics.Certain, ConfidenceWhy: "read from the mount table",
		Title:  fmt.Sprintf("%s are stacked on %s", text.Plural(n, "mount"), at),
		Detail: fmt.Sprintf("The mount point is %s. Only the topmost mount is visible: mount %d (%s).", upper.MountPoint, upper.ID, fsfamily.Label(upper.FSType, upper.Source)),
	}
	if upper.ID < 0 {
		f.Detail = fmt.Sprintf("The mount point is %s. Only the topmost mount is visible (%s).", upper.MountPoint, fsfamily.Label(upper.FSType, upper.Source))
	}
	if uid, _ := forensics.PodOf(upper.MountPoint); uid != "" {
		f.Pods = []string{uid}
	}
	for _, m := range stack {
		f.Refs = append(f.Refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceMounts, m.ID),
			Excerpt: fmt.Sprintf("%d %d %s %s %s - %s %s", m.ID, m.ParentID, m.Device, m.Root, m.MountPoint, m.FSType, m.Source),
		})
	}
	if sameDirectory(stack) {
		f.Detail += " All of them show the same directory of the same file system, so no data is hidden."
	} else {
		f.Detail += " The mounts are different: data written before is hidden below the topmost mount."
	}
	if slices.Contains(p.Model.KubeletRoots(), upper.MountPoint) {
		return f // all pods are below it
	}
	f.Remedies = []forensics.Remedy{remedy.Unmount(p, upper, forensics.Remedy{
		Why:    "removes the topmost mount; repeat until one is left, or none if the pod no longer exists",
		OnlyIf: "the pod has ended, so that nothing writes to it; nodeforensics holders " + shellword.Quote(upper.MountPoint) + " lists no process",
		Risk:   "files written to the topmost mount are then found only where its file system is mounted elsewhere; files on a tmpfs are lost",
	}, "-c")}
	return f
}
