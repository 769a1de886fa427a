// Package orphans finds orphaned pod directories, describes their contents, and reads what the kubelet's log says about them.
package orphans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Needs is what checks about directories of pods need. The kubelet's list is the proof; what else tells is in [forensics.Model.PodState].
var Needs = []forensics.Need{{forensics.SourcePodDirs}, {forensics.SourceKubeletPods, forensics.SourceRuntime, forensics.SourceLogs}}

// An Orphan is the directory of a pod that no longer exists, and what is left in it.
type Orphan struct {
	kubelet.PodDir
	Left []kubelet.Leftover
	// Sure is the confidence that the pod no longer exists. Below [forensics.Certain] nothing may be changed before that is confirmed.
	Sure forensics.Confidence
}

// All lists the directories whose pods no longer exist, provably or not.
func All(p *forensics.Pass) []Orphan {
	if ok, why := p.Evidence.Saw(forensics.SourcePodDirs); !ok {
		p.Unjudged("the pod directories were not read: %s", why)
	}
	var found []Orphan
	unknown, reason := 0, ""
	for _, d := range p.Evidence.PodDirs {
		state, why := p.Model.PodState(d.UID)
		if sure := state.Orphaned(); sure != "" {
			found = append(found, Orphan{d, forensics.Leftovers(p.Model, d), sure})
		}
		if state == forensics.PodUnknown {
			unknown++
			reason = why
		}
	}
	if unknown > 0 {
		p.Unjudged("%s may be orphaned or belong to a live pod: %s", findings.Plural(unknown, "pod directory"), reason)
	}
	return found
}

// Why is the evidence that a pod no longer exists.
func Why(p *forensics.Pass, uid string) string {
	_, why := p.Model.PodState(uid)
	return why
}

// NewFinding is a finding about an orphaned pod directory.
func NewFinding(p *forensics.Pass, o Orphan) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindPod, ID: o.UID}, Confidence: o.Sure,
		Title:  Headline(p, 1, o),
		Detail: o.detail(p), ConfidenceWhy: Why(p, o.UID), Pods: []string{o.UID}, Refs: o.refs(),
	}
	if o.Sure == forensics.Possible {
		f.Severity, f.Refs = forensics.Info, append(f.Refs, SilentLogs(p, o)...)
	}
	return f
}

// SilentLogs are the logs of the kubelet that do not name the pod: a possible orphan rests on that, too.
func SilentLogs(p *forensics.Pass, o Orphan) (refs []forensics.Ref) {
	if o.Sure != forensics.Possible || p.Evidence.Logs == nil {
		return nil
	}
	for _, file := range p.Evidence.Logs.Files {
		if file.Origin == "kubelet" && len(refs) < findings.MaxQuoted {
			refs = append(refs, forensics.Ref{Source: forensics.SourceLogs + ":" + file.Path, Excerpt: "no message names pod " + o.UID})
		}
	}
	return refs
}

// Steps are those for the directory. One whose pod is not proven to be gone has only steps that look.
func (o Orphan) Steps(p *forensics.Pass, steps ...forensics.Remedy) []forensics.Remedy {
	if o.Sure == forensics.Certain {
		return steps
	}
	return []forensics.Remedy{remedy.ListPods(p, o.UID)}
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

// WithData are the leftovers that contain data that may be needed.
func (o Orphan) WithData() []kubelet.Leftover {
	var found []kubelet.Leftover
	for _, l := range o.Left {
		if l.Holds {
			found = append(found, l)
		}
	}
	return found
}

// MayHoldData says whether a leftover contains data that may be needed, or could not be read.
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

// detail says what is left and what the kubelet does about it, with a warning where there is data.
func (o Orphan) detail(p *forensics.Pass) string {
	var parts []string
	for i, l := range o.Left {
		if i == maxLeftoverTexts {
			parts = append(parts, fmt.Sprintf("And %d more.", len(o.Left)-i))
			break
		}
		text := fmt.Sprintf("%s: %s.", l.Path, LeftText(l))
		if o.Sure == forensics.Certain {
			text += fmt.Sprintf(" %s: %s.", findings.Capital(fateText(p, l.Fate)), l.Why)
		}
		parts = append(parts, text)
	}
	if data := o.WithData(); len(data) > 0 {
		parts = append(parts, "DO NOT DELETE THIS DATA before you have checked it. Data in an unmounted volume directory was written to the node's own disk. It may be the only copy.")
	}
	if o.Sure != forensics.Certain {
		return findings.Sentences("The kubelet did not give its list of pods, so it is not proven that pod "+p.Model.Pod(o.UID).String()+" no longer exists.",
			strings.Join(parts, " "), "Change nothing here before that is confirmed.")
	}
	if namespace, name := p.Model.PodName(o.UID); len(parts) > 0 && namespace != "" && name != "" {
		parts = append([]string{"Pod " + p.Model.Pod(o.UID).String() + " no longer exists."}, parts...)
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

// maxLeftoverTexts is how many leftovers are described; the rest is counted.
const maxLeftoverTexts = 6

// PlanFirst is the step that most leftovers need: a script that checks again before each change.
func PlanFirst() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionCleanUp, Command: []string{"nodeforensics", "plan", "REPORT.json"},
		Why: "prints a cleanup script for leftovers that are safe to remove. Run with sh, the script only prints its steps; with --apply it executes them. " +
			"Each step first checks again that the pod does not exist and that nothing is mounted",
		OnlyIf: "REPORT.json is this report, and the script runs on this node",
		Risk:   "none without --apply. The script removes only empty directories, empty files and vol_data.json. It keeps a copy of vol_data.json and never removes data",
	}
}

// LookFirst is the only safe first step: never use rm -rf below a pod directory.
func LookFirst(d kubelet.PodDir) forensics.Remedy {
	return listFiles(forensics.Remedy{
		Action: remedy.ActionLook,
		Why:    whyList,
		OnlyIf: onlyUnmounted(d.UID),
		Risk:   riskOfList,
	}, d.Path)
}

const (
	whyList    = "shows what is left. Remove empty directories with rmdir, innermost first. The only file that is safe to remove is vol_data.json"
	riskOfList = "the listing is harmless; rm -rf is not. An unseen mount, or a bind mount of the same file system, loses its data at the source"
)

// onlyUnmounted is the precondition of any removal below the directory of a pod.
func onlyUnmounted(uid string) string {
	return "no mount namespace has a mount at or below the directory: grep " + shellword.Quote(uid) + " /proc/*/mountinfo prints nothing"
}

// listFiles adds the command that lists the files below a directory, without those of other file systems.
func listFiles(r forensics.Remedy, dir string) forensics.Remedy {
	if remedy.IsPath(dir) {
		return remedy.Run(r, r.Action, "find", dir, "-xdev", "-type", "f")
	}
	return remedy.Tell(r, r.Action, "List the files below "+shellword.Quote(dir))
}
