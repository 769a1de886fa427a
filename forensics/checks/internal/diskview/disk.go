// Package diskview describes the file systems that the kubelet watches: what uses their space, how near they are to an eviction threshold,
// what the kubelet deletes at the threshold, and how to free space.
package diskview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Needs is what checks about disks need.
var Needs = []forensics.Need{{forensics.SourceDisks}}

// State is what was measured; empty where nothing was.
func State(p *forensics.Pass) *eviction.Index { return p.Model.Disks() }

// Entity is a file system as an entity.
func Entity(f eviction.FileSystem) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindDisk, ID: f.Device}
}

// Figures says how sure the figures of a file system are, and where they are from.
func Figures(f eviction.FileSystem) (confidence forensics.Confidence, why string) {
	switch {
	case strings.HasPrefix(f.Device, "/"):
		return forensics.Likely, "df printed these figures; they may have changed since"
	case byRole(f):
		return forensics.Likely, "the kubelet's statistics have these figures; they may have changed since"
	}
	return forensics.Certain, "statfs reports these figures"
}

// byRole says that only what it is for is known of a file system.
func byRole(f eviction.FileSystem) bool {
	return f.Device == eviction.RoleNode || f.Device == eviction.RoleImage
}

// ThresholdEntity is a threshold that is a mistake.
func ThresholdEntity(signal string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindSubsystem, ID: "eviction threshold " + signal}
}

// Doubt says why a check cannot say that no threshold is near: a configuration that could not be read may have other thresholds or
// other paths.
func Doubt(p *forensics.Pass) {
	d := State(p)
	if d.Assumed != "" {
		p.Unjudged("the kubelet's thresholds may differ: %s", d.Assumed)
	}
	if len(d.FileSystems) == 0 {
		p.Unjudged("no figures of the disks were given")
	}
	if _, known := d.Place(eviction.RoleImage); known {
		return
	}
	for _, r := range p.Evidence.Runtimes {
		if r.Assumed != "" {
			p.Unjudged("the image directory of %s is not known: %s", r.Name, r.Assumed)
		}
	}
}

// Label names a file system by what it is for: "Disk at / (nodefs, imagefs)".
func Label(d *eviction.Index, f eviction.FileSystem) string {
	where := f.MountPoint
	if where == "" {
		where = f.Device
	}
	roles := d.Roles(f.Device)
	if slices.Contains(roles, eviction.RoleNode) { // the logs are then a part of nodefs
		roles = sorting.Delete(roles, func(role string) bool { return strings.HasSuffix(role, "-logs") })
	}
	if byRole(f) {
		return fmt.Sprintf("Disk (%s)", strings.Join(roles, ", "))
	}
	if len(roles) == 0 {
		return "Disk at " + where
	}
	return fmt.Sprintf("Disk at %s (%s)", where, strings.Join(roles, ", "))
}

// Ref quotes the figures.
func Ref(f eviction.FileSystem) forensics.Ref {
	text := fmt.Sprintf("%s %s: size %s, used %s, available %s", f.Source, f.MountPoint, text.Bytes(int64(f.CapacityBytes)),
		text.Bytes(int64(f.UsedBytes())), text.Bytes(int64(f.AvailableBytes)))
	if f.Inodes > 0 {
		text += fmt.Sprintf("; inodes %d, free %d", f.Inodes, f.InodesFree)
	}
	return forensics.Ref{Source: forensics.SourceDisks + ":" + f.Device, Excerpt: strings.TrimSpace(text)}
}

// ReachText says how far a file system is from thresholds, and what is left of it once for all thresholds of one measure.
func ReachText(list ...eviction.Reach) string {
	var b strings.Builder
	last := ""
	for _, r := range list {
		left, threshold := reachText(r)
		switch {
		case left == last:
			b.WriteString("; " + threshold)
		case last != "":
			b.WriteString(". " + left + "; " + threshold)
		default:
			b.WriteString(left + "; " + threshold)
		}
		last = left
	}
	return b.String()
}

func reachText(r eviction.Reach) (left, threshold string) {
	have, limit := text.Bytes(int64(r.Have)), text.Bytes(int64(r.Limit))
	if r.Threshold.Inodes() {
		have, limit = fmt.Sprintf("%d inodes", r.Have), fmt.Sprint(r.Limit)
	}
	total := r.FileSystem.CapacityBytes
	if r.Threshold.Inodes() {
		total = r.FileSystem.Inodes
	}
	return fmt.Sprintf("%s (%.1f %%) are left", have, float64(r.Have)*100/float64(max(total, 1))),
		fmt.Sprintf("the %s threshold %s (%s) is %s", r.Threshold.Kind, r.Threshold, r.Threshold.Origin, limit)
}

// Left is what is left of a file system by the measure of a threshold: "14.0 % left", "4.9 % of its inodes left".
func Left(r eviction.Reach) string {
	total, of := r.FileSystem.CapacityBytes, ""
	if r.Threshold.Inodes() {
		total, of = r.FileSystem.Inodes, " of its inodes"
	}
	return fmt.Sprintf("%.1f %%%s left", float64(r.Have)*100/float64(max(total, 1)), of)
}

// ReadOnly says that a file system is always full.
func ReadOnly(f eviction.FileSystem) bool {
	return fsfamily.Of(f.FSType).ReadOnly
}

// Met lists the thresholds that a file system is past, hard ones first.
func Met(d *eviction.Index, f eviction.FileSystem) []eviction.Reach {
	var hard, soft []eviction.Reach
	for _, r := range d.Reaches(f.Device) {
		switch {
		case !r.Met:
		case r.Threshold.Hard():
			hard = append(hard, r)
		default:
			soft = append(soft, r)
		}
	}
	return append(hard, soft...)
}

// Reclaim says what the kubelet deletes, in order.
func Reclaim(p *forensics.Pass, f eviction.FileSystem) string {
	steps := DestructionOrder(p, f.Device)
	if len(steps) == 0 {
		return ""
	}
	for i := range steps {
		steps[i] = fmt.Sprintf("%d. %s", i+1, steps[i])
	}
	return " To free space, the kubelet deletes: " + strings.Join(steps, "; ") + "."
}

// ImageGCEntity is the garbage collection of images.
var ImageGCEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "image-gc"}
