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
		return name + " removes it by itself"
	case kubelet.FateRetries:
		return name + " fails to remove it, again and again"
	case kubelet.FateNever:
		return name + " does not touch it"
	}
	return "what the kubelet does is not known"
}

// LeftText says what is left, and how much.
func LeftText(l kubelet.Leftover) string {
	switch l.Class {
	case kubelet.LiveMount, kubelet.SubpathMountLeft:
		return "still mounted: " + findings.Some(l.MountPoints)
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
			return "the file of a subpath, with " + InsideText(l)
		}
		return "the empty file of a subpath"
	case kubelet.DataLeft:
		return InsideText(l) + " in what should be empty" + originText(l)
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

// InsideText says how much lies in a leftover.
func InsideText(l kubelet.Leftover) string {
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
