// Package orphans finds directories of pods that are gone, says what is left of them, and what the kubelet's log says of them.
package orphans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Needs is what checks about directories of pods need.
var Needs = []forensics.Need{{forensics.SourcePodDirs}, {forensics.SourceKubeletPods}}

// An orphan is the directory of a pod that is proven to be gone, and what is left in it.
type Orphan struct {
	kubelet.PodDir
	Left []kubelet.Leftover
}

// All lists the directories whose pods are proven to be gone.
func All(p *forensics.Pass) []Orphan {
	if ok, why := p.Evidence.Saw(forensics.SourcePodDirs); !ok {
		p.Unjudged("the directories of pods were not looked at: %s", why)
	}
	var found []Orphan
	unknown, reason := 0, ""
	for _, d := range p.Evidence.PodDirs {
		switch state, why := p.Model.PodState(d.UID); state {
		case forensics.PodOrphaned:
			found = append(found, Orphan{d, forensics.Leftovers(p.Model, d)})
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

// Why says on what it rests that a pod is gone.
func Why(p *forensics.Pass, uid string) string {
	_, why := p.Model.PodState(uid)
	return why
}

// NewFinding is a finding about the directory of a pod that is gone.
func NewFinding(p *forensics.Pass, o Orphan) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPod, ID: o.UID}, Confidence: forensics.Certain,
		Title:  fmt.Sprintf("pod %s is gone, its directory is still there", p.Model.Pod(o.UID)),
		Detail: o.detail(p), ConfidenceWhy: Why(p, o.UID), Pods: []string{o.UID}, Refs: o.refs(),
	}
}

// Has says whether something of a class is left.
func (o Orphan) Has(class kubelet.LeftoverClass) bool {
	return slices.ContainsFunc(o.Left, func(l kubelet.Leftover) bool { return l.Class == class })
}

// Points are the mounts that are left.
func (o Orphan) Points() []string {
	var points []string
	for _, l := range o.Left {
		points = append(points, l.MountPoints...)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// WithData are the leftovers that hold something that somebody may miss.
func (o Orphan) WithData() []kubelet.Leftover {
	var found []kubelet.Leftover
	for _, l := range o.Left {
		if l.Holds {
			found = append(found, l)
		}
	}
	return found
}

// MayHoldData says whether something is left that somebody may miss, or of which that is not known.
func (o Orphan) MayHoldData() bool {
	return slices.ContainsFunc(o.Left, func(l kubelet.Leftover) bool { return l.Holds || l.Unsure || l.Class == kubelet.LeftUnread })
}

// kinds are the classes of what is left, with what the kubelet does about each, sorted and each once.
func (o Orphan) kinds() string {
	var all []string
	for _, l := range o.Left {
		all = append(all, string(l.Class)+"/"+string(l.Fate))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// Heals says that the kubelet will remove all of it.
func (o Orphan) Heals() bool {
	return !slices.ContainsFunc(o.Left, func(l kubelet.Leftover) bool { return l.Fate != kubelet.FateHeals })
}

// detail says what is left, what the kubelet does about it, and loudly where there is data.
func (o Orphan) detail(p *forensics.Pass) string {
	var parts []string
	for i, l := range o.Left {
		if i == maxLeftoverTexts {
			parts = append(parts, fmt.Sprintf("And %d more.", len(o.Left)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s [%s, %s]: %s; %s.", l.Path, l.Class, fateText(p, l.Fate), LeftText(l), l.Why))
	}
	if data := o.WithData(); len(data) > 0 {
		parts = append(parts, "DO NOT DELETE IT UNSEEN: what lies in an unmounted volume directory was written to the node's own disk, and may exist nowhere else.")
	}
	return strings.Join(parts, " ")
}

// refs are the leftovers as evidence.
func (o Orphan) refs() []forensics.Ref {
	var refs []forensics.Ref
	for _, l := range o.Left {
		refs = append(refs, forensics.Ref{Source: forensics.SourcePodDirs + ":" + o.UID, Excerpt: string(l.Class) + " " + l.Path})
	}
	return refs
}

// What is said of leftovers in full; the rest is counted.
const maxLeftoverTexts = 6

// PlanFirst is the step that most leftovers need: a script that looks again before it does anything.
func PlanFirst() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionCleanUp, Command: []string{"nodeforensics", "plan", "REPORT.json"},
		Why: "prints a script that removes what is safe to remove: run with sh, it says what it would do; with --apply it does it. " +
			"Each step first looks again whether the pod is still gone and nothing is mounted",
		OnlyIf: "REPORT.json is this report, and the script runs on this node",
		Risk:   "none without --apply. It removes only empty directories, empty files and vol_data.json, of which it keeps a copy, and never data",
	}
}

// LookFirst is the only safe first step: nothing is ever removed with rm -rf below a pod's directory.
func LookFirst(d kubelet.PodDir) forensics.Remedy {
	return listFiles(forensics.Remedy{
		Action: remedy.ActionLook,
		Why:    "shows what is left. Empty directories can be removed with rmdir, from the innermost out; of files only vol_data.json",
		OnlyIf: "no mount at or below the directory in any mount namespace: grep " + shellword.Quote(d.UID) + " /proc/*/mountinfo prints nothing",
		Risk:   "the listing is harmless. rm -rf is not: a mount that is not seen, or a bind mount of the same file system, is emptied at its source",
	}, d.Path)
}

// listFiles adds the command that lists the files below a directory, without those of other file systems.
func listFiles(r forensics.Remedy, dir string) forensics.Remedy {
	if remedy.IsPath(dir) {
		return remedy.Run(r, r.Action, "find", dir, "-xdev", "-type", "f")
	}
	return remedy.Tell(r, r.Action, "Look at what is below "+shellword.Quote(dir))
}
