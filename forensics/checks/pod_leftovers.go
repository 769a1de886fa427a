package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// What is said of leftovers in full; the rest is counted.
const maxLeftoverTexts = 6

// An orphan is the directory of a pod that is proven to be gone, and what is left in it.
type orphan struct {
	kubelet.PodDir
	left []kubelet.Leftover
}

func (o orphan) has(class kubelet.LeftoverClass) bool {
	return slices.ContainsFunc(o.left, func(l kubelet.Leftover) bool { return l.Class == class })
}

// points are the mounts that are left.
func (o orphan) points() []string {
	var points []string
	for _, l := range o.left {
		points = append(points, l.MountPoints...)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// withData are the leftovers that hold something that somebody may miss.
func (o orphan) withData() []kubelet.Leftover {
	var found []kubelet.Leftover
	for _, l := range o.left {
		if l.Holds {
			found = append(found, l)
		}
	}
	return found
}

// heals says that the kubelet will remove all of it.
func (o orphan) heals() bool {
	return !slices.ContainsFunc(o.left, func(l kubelet.Leftover) bool { return l.Fate != kubelet.FateHeals })
}

// detail says what is left, what the kubelet does about it, and loudly where there is data.
func (o orphan) detail(p *forensics.Pass) string {
	var parts []string
	for i, l := range o.left {
		if i == maxLeftoverTexts {
			parts = append(parts, fmt.Sprintf("And %d more.", len(o.left)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s [%s, %s]: %s; %s.", l.Path, l.Class, fateText(p, l.Fate), leftText(l), l.Why))
	}
	if data := o.withData(); len(data) > 0 {
		parts = append(parts, "DO NOT DELETE IT UNSEEN: what lies in an unmounted volume directory was written to the node's own disk, and may exist nowhere else.")
	}
	return strings.Join(parts, " ")
}

// fateText is what the kubelet does, in words.
func fateText(p *forensics.Pass, f kubelet.Fate) string {
	name := p.Model.KubeletName()
	switch f {
	case kubelet.FateHeals:
		return name + " removes it by itself"
	case kubelet.FateRetries:
		return name + " fails to remove it, again and again"
	case kubelet.FateNever:
		return name + " does not touch it"
	}
	return "what the kubelet does is not known"
}

// leftText says what is left, and how much.
func leftText(l kubelet.Leftover) string {
	switch l.Class {
	case kubelet.LiveMount, kubelet.SubpathMountLeft:
		return "still mounted: " + some(l.MountPoints)
	case kubelet.BlockLeft:
		if len(l.MountPoints) > 0 {
			return "a block device, still mounted"
		}
		return "the link to a block device"
	case kubelet.CSIVolDataLeft:
		return "vol_data.json of an unmounted CSI volume" + volumeText(l.Volume)
	case kubelet.SelfHeals:
		return "the empty mount directory of a CSI volume"
	case kubelet.EmptyDirLeft:
		return "an empty directory"
	case kubelet.SubpathFileLeft:
		if l.Holds {
			return "the file of a subpath, with " + insideText(l)
		}
		return "the empty file of a subpath"
	case kubelet.DataLeft:
		return insideText(l) + " in what should be empty" + originText(l)
	case kubelet.Pending:
		return "nothing but the kubelet's own files"
	case kubelet.ASWUncertain:
		return "nothing that is in the way"
	}
	return "not enough was read to tell"
}

func volumeText(v *kubelet.Volume) string {
	if v == nil || v.VolData == nil {
		return ""
	}
	return fmt.Sprintf(" (driver %s, volume %s)", v.VolData.Driver, v.VolData.VolumeHandle)
}

// insideText says how much lies in a leftover.
func insideText(l kubelet.Leftover) string {
	in := inside(l)
	if in == nil {
		if l.Volume != nil && l.Volume.Entries > 0 {
			return "at least " + text.Plural(l.Volume.Entries, "entry")
		}
		return "something"
	}
	words := fmt.Sprintf("%s (%s)", text.Plural(in.Files, "file"), sizeText(in.Bytes))
	if in.Dirs > 0 {
		words += ", " + text.Plural(in.Dirs, "directory")
	}
	if in.Others > 0 {
		words += ", " + text.Plural(in.Others, "special file")
	}
	if in.Truncated {
		words = "at least " + words
	}
	if len(in.First) > 0 {
		words += fmt.Sprintf(" such as %q", in.First[0])
	}
	return words
}

func inside(l kubelet.Leftover) *kubelet.Contents {
	switch {
	case l.Volume != nil:
		return l.Volume.Inside
	case l.Subpath != nil:
		return l.Subpath.Inside
	}
	return nil
}

// originText says what data of this kind of volume is worth.
func originText(l kubelet.Leftover) string {
	if l.Volume == nil {
		return ""
	}
	switch path.Base(l.Volume.Plugin) {
	case "empty-dir":
		return ", an emptyDir, which was meant to end with its pod"
	case "configmap", "secret", "projected", "downward-api":
		return ", copies of API objects"
	}
	return ", written below the mount point while nothing was mounted there"
}

// sizeText is a size for people.
func sizeText(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return text.Plural(int(n), "byte")
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", size, units[unit])
}

// refs are the leftovers as evidence.
func (o orphan) refs() []forensics.Ref {
	var refs []forensics.Ref
	for _, l := range o.left {
		refs = append(refs, forensics.Ref{Source: forensics.SourcePodDirs + ":" + o.UID, Excerpt: string(l.Class) + " " + l.Path})
	}
	return refs
}

// planFirst is the step that most leftovers need: a script that looks again before it does anything.
func planFirst() forensics.Remedy {
	return forensics.Remedy{
		Command: "nodeforensics plan REPORT.json > plan.sh && sh plan.sh",
		Why: "prints a script that removes what is safe to remove, and says what it would do; with --apply it does it. " +
			"Each step first looks again whether the pod is still gone and nothing is mounted",
		Precondition: "REPORT.json is this report, and the script runs on this node",
		Risk:         "none without --apply. It removes only empty directories, empty files and vol_data.json, of which it keeps a copy, and never data",
		Stage:        forensics.StageCleanUp,
	}
}

// restartKubelet is for what only the kubelet's memory keeps.
func restartKubelet() forensics.Remedy {
	return forensics.Remedy{
		Command:      "systemctl restart kubelet",
		Why:          "the kubelet then builds what it believes to be mounted anew, from the disk and from the mount table",
		Precondition: "a goroutine dump and the log were saved (nodeforensics --goroutines, journalctl -u kubelet): both are lost for the moment that matters; no volume is being mounted; from 1.28 on the API server answers",
		Risk:         "containers go on; FUSE servers that run in the kubelet's own cgroup die with it, and their mounts; it hangs again where it hung before",
	}
}
