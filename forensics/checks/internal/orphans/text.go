package orphans

import (
	"fmt"
	"path"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// fateText is what the kubelet does, in words.
func fateText(p *forensics.Pass, f kubelet.Fate) string {
	name := p.Model.KubeletName()
	switch f {
	case kubelet.FateHeals:
		return name + " removes it automatically"
	case kubelet.FateRetries:
		return name + " repeatedly fails to remove it"
	case kubelet.FateNever:
		return name + " never removes it"
	}
	return "it is not known whether the kubelet removes it"
}

// Headline is about n orphaned pod directories with the same leftovers as one of them.
func Headline(p *forensics.Pass, n int, o Orphan) string {
	it := "it"
	if n > 1 {
		it = "them"
	}
	words := orphansText(n, o.Sure) + ": "
	switch {
	case o.Sure != forensics.Certain: // what the kubelet does depends on whether the pod exists
		return words + LeftText(o.Left[0])
	case o.Has(kubelet.CSIVolDataLeft):
		return words + release(p) + " does not remove a leftover vol_data.json"
	case o.Has(kubelet.ASWUncertain):
		return words + release(p) + " keeps " + it + " for no visible reason"
	case o.Heals():
		return words + release(p) + " removes " + it + " automatically"
	}
	switch l := o.Left[0]; l.Fate {
	case kubelet.FateRetries, kubelet.FateNever:
		return words + release(p) + " does not remove " + LeftText(l)
	default:
		if l.Class == kubelet.LeftUnread {
			return words + LeftText(l)
		}
		return words + LeftText(l) + " remains"
	}
}

// NamedHeadline begins the headline of a finding about one directory, which is like no other.
func NamedHeadline(p *forensics.Pass, o Orphan) string {
	words := findings.Capital(adverb(o.Sure) + "orphaned pod directory")
	if namespace, name := p.Model.PodName(o.UID); namespace != "" && name != "" {
		return words + " of " + namespace + "/" + name
	}
	return words + " " + o.UID
}

// adverb is the confidence that something is orphaned, before that word; "" where it is certain.
func adverb(sure forensics.Confidence) string {
	switch sure {
	case forensics.Possible:
		return "possibly "
	case forensics.Likely:
		return "likely "
	}
	return ""
}

// Adjective is "orphaned", with the confidence where that is not certain.
func (o Orphan) Adjective() string { return adverb(o.Sure) + "orphaned" }

func orphansText(n int, sure forensics.Confidence) string {
	return findings.Plural(n, adverb(sure)+"orphaned pod directory")
}

func count(n int) string { return orphansText(n, forensics.Certain) }

// release is the minor release of the kubelet, on which it depends what it removes: "kubelet 1.17".
func release(p *forensics.Pass) string {
	if minor := p.Model.KubeletMinor(); minor > 0 {
		return fmt.Sprintf("kubelet 1.%d", minor)
	}
	return "the kubelet"
}

// LeftText says what is left, and how much.
func LeftText(l kubelet.Leftover) string {
	switch l.Class {
	case kubelet.LiveMount, kubelet.SubpathMountLeft:
		if len(l.MountPoints) == 1 && l.MountPoints[0] == l.Path { // which is named already
			return "still mounted"
		}
		return "still mounted: " + findings.Some(l.MountPoints)
	case kubelet.BlockLeft:
		if len(l.MountPoints) > 0 {
			return "a block device, still mounted"
		}
		return "the symbolic link to a block device"
	case kubelet.CSIVolDataLeft:
		return "vol_data.json of an unmounted CSI volume" + volumeText(l.Volume)
	case kubelet.SelfHeals:
		return "the empty mount directory of a CSI volume"
	case kubelet.EmptyDirLeft:
		if l.Subpath != nil {
			return "an empty subPath directory"
		}
		return "an empty volume directory"
	case kubelet.SubpathFileLeft:
		if l.Holds {
			return "the file of a subPath mount, with " + InsideText(l)
		}
		return "the empty file of a subPath mount"
	case kubelet.DataLeft:
		return InsideText(l) + " in a directory that should be empty" + originText(l)
	case kubelet.Pending:
		return "only the kubelet's own files"
	case kubelet.ASWUncertain:
		return "no leftover that blocks the removal"
	}
	return "its contents could not be fully read"
}

func volumeText(v *kubelet.Volume) string {
	if v == nil || v.VolData == nil {
		return ""
	}
	return fmt.Sprintf(" (driver %s, volume %s)", v.VolData.Driver, v.VolData.VolumeHandle)
}

// Size says for a headline how much data a leftover contains.
func Size(l kubelet.Leftover) string {
	in := inside(l)
	if in == nil {
		return InsideText(l)
	}
	words := fmt.Sprintf("%s (%s)", findings.Plural(in.Files, "file"), text.Bytes(in.Bytes))
	if in.Truncated {
		return "at least " + words
	}
	return words
}

// InsideText says what a leftover contains.
func InsideText(l kubelet.Leftover) string {
	in := inside(l)
	if in == nil {
		if l.Volume != nil && l.Volume.Entries > 0 {
			return "at least " + text.Plural(l.Volume.Entries, "entry")
		}
		return "at least one file or directory"
	}
	words := fmt.Sprintf("%s (%s)", findings.Plural(in.Files, "file"), text.Bytes(in.Bytes))
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

// originText says where data of this kind of volume comes from.
func originText(l kubelet.Leftover) string {
	if l.Volume == nil {
		return ""
	}
	switch path.Base(l.Volume.Plugin) {
	case "empty-dir":
		return ": an emptyDir, meant to be deleted with its pod"
	case "configmap", "secret", "projected", "downward-api":
		return ": copies of API objects"
	}
	return ": written below the mount point while nothing was mounted there"
}
