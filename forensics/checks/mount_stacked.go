package checks

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/unmounts"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountStacked finds mount points below the kubelet's directory with several mounts on top of each other.
var mountStacked = forensics.Check{
	ID:    "mount-stacked",
	Title: "Several mounts lie on one mount point",
	Doc: `Two or more mounts on one mount point below the kubelet's directory. The kubelet or a CSI driver has mounted a volume
that was mounted already, often after a restart. One umount takes off the topmost only: the kubelet believes that the
volume is gone and fails to remove the directory, and writes may have gone to either. Left out is what is normal: autofs below what
it mounted; the kubelet's directory bound onto itself, to be shared; and the twins that the kernel then makes of all that
is mounted below it. Those lie beside each other, under two parents, and one umount takes off both.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceMounts}, {forensics.SourceKubelet}},
	Run: func(p *forensics.Pass) {
		index := p.Model.Host()
		done := map[string]bool{}
		for _, m := range p.Evidence.Mounts.Mounts {
			if done[m.MountPoint] || !p.Model.BelowKubelet(m.MountPoint) {
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

// stackAt lists the mounts that lie on each other at a mount point, topmost last: those on the way of a path that leads
// there, and on old kernels what lies on the same directory as one of them. It leaves out what another mount covers
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
	return slices.DeleteFunc(at, func(m mounts.Mount) bool { return !parents[m.ParentID] })
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

func stackedFinding(p *forensics.Pass, stack []mounts.Mount) forensics.Finding {
	upper := stack[len(stack)-1]
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.MountEntity(stack[0].ID), Confidence: forensics.Certain, ConfidenceWhy: "read from the mount table",
		Title:  fmt.Sprintf("%s are stacked on %s", text.Plural(len(stack), "mount"), upper.MountPoint),
		Detail: fmt.Sprintf("Only the topmost, mount %d (%s from %s), can be seen.", upper.ID, upper.FSType, upper.Source),
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
		f.Detail += " All of them are the same directory of the same file system, so nothing is hidden by it."
	} else {
		f.Detail += " They are different: what was written before is hidden below the topmost."
	}
	if slices.Contains(p.Model.KubeletRoots(), upper.MountPoint) {
		return f // all pods are below it
	}
	f.Remedies = []forensics.Remedy{remedy.Unmount(p, upper, forensics.Remedy{
		Why:    "takes off the topmost mount; repeat until one is left, or none if the pod is gone",
		OnlyIf: "the pod has ended, so that nobody writes to it; nodeforensics holders " + shellword.Quote(upper.MountPoint) + " shows no process",
		Risk:   "files that were written to the topmost are where that is mounted elsewhere, or gone with it if it is a tmpfs",
	}, "-c")}
	return f
}
