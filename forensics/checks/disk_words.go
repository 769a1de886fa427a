package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

var needsDisks = []forensics.Need{{forensics.SourceDisks}}

// diskState is what was measured; empty where nothing was.
func diskState(p *forensics.Pass) *eviction.Index { return p.Model.Disks() }

func diskEntity(f eviction.FileSystem) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindDisk, ID: f.Device}
}

// diskLabel names a file system by what it is for: "the disk at / (nodefs, imagefs)".
func diskLabel(d *eviction.Index, f eviction.FileSystem) string {
	where := f.MountPoint
	if where == "" {
		where = f.Device
	}
	return fmt.Sprintf("the disk at %s (%s)", where, strings.Join(d.Roles(f.Device), ", "))
}

// diskRef quotes the figures.
func diskRef(f eviction.FileSystem) forensics.Ref {
	text := fmt.Sprintf("%s %s: size %s, used %s, available %s", f.Source, f.MountPoint, text.Bytes(int64(f.CapacityBytes)),
		text.Bytes(int64(f.UsedBytes())), text.Bytes(int64(f.AvailableBytes)))
	if f.Inodes > 0 {
		text += fmt.Sprintf("; inodes %d, free %d", f.Inodes, f.InodesFree)
	}
	return forensics.Ref{Source: forensics.SourceDisks + ":" + f.Device, Excerpt: strings.TrimSpace(text)}
}

// reachWords says how far a file system is from a threshold.
func reachWords(r eviction.Reach) string {
	have, limit := text.Bytes(int64(r.Have)), text.Bytes(int64(r.Limit))
	if r.Threshold.Inodes() {
		have, limit = fmt.Sprintf("%d inodes", r.Have), fmt.Sprint(r.Limit)
	}
	total := r.FileSystem.CapacityBytes
	if r.Threshold.Inodes() {
		total = r.FileSystem.Inodes
	}
	return fmt.Sprintf("%s (%.1f %%) are left, the %s threshold %s (%s) is at %s", have, float64(r.Have)*100/float64(max(total, 1)),
		r.Threshold.Kind, r.Threshold, r.Threshold.Origin, limit)
}

// fillers says where the space went, largest first.
func fillers(p *forensics.Pass, f eviction.FileSystem) string {
	d := diskState(p)
	u, ok := d.UsageOf(f.Device)
	if !ok {
		return reserved(f) + "Where the space went was not counted."
	}
	var parts []string
	for _, k := range u.Kinds[:min(len(u.Kinds), 4)] {
		if k.Bytes > 0 {
			parts = append(parts, eviction.KindName(k.Kind)+" "+text.Bytes(k.Bytes))
		}
	}
	words := reserved(f) + "Of " + text.Bytes(u.UsedBytes) + " in use, largest first: " + strings.Join(parts, ", ") + "."
	if u.Cut != "" {
		return words + " Counting was cut: " + u.Cut + "."
	}
	for _, item := range u.Items {
		if item.Kind == eviction.KindOther || item.Kind == eviction.KindLayers || item.Kind == eviction.KindImages {
			continue
		}
		words += fmt.Sprintf(" The largest single one: %s with %s%s.", item.Path, text.Bytes(item.Bytes), owner(p, item))
		break
	}
	if leftovers := orphanBytes(p, u); leftovers > 0 {
		words += " Directories of pods that are gone take " + text.Bytes(leftovers) + "."
	}
	if k := u.Kind(eviction.KindVolume); k.Bytes > 0 {
		words += " The directories of volumes may be the data of a StatefulSet: they are no rubbish."
	}
	return words
}

// reserved says how much is free but not available, where that matters.
func reserved(f eviction.FileSystem) string {
	kept := f.FreeBytes - min(f.AvailableBytes, f.FreeBytes)
	if kept < f.CapacityBytes/50 {
		return ""
	}
	return text.Bytes(int64(kept)) + " more are free, but reserved for root (ext4: tune2fs -m), which df and the kubelet do not count as available. "
}

func owner(p *forensics.Pass, item eviction.Item) string {
	switch {
	case item.PodUID != "":
		return " of pod " + p.Model.Pod(item.PodUID).String()
	case item.Claim != "":
		return ", named after the claim " + item.Claim
	}
	return ""
}

// orphanBytes is what pods take that are gone.
func orphanBytes(p *forensics.Pass, u eviction.Usage) int64 {
	var sum int64
	for _, item := range u.Items {
		if state, _ := p.Model.PodState(item.PodUID); item.PodUID != "" && state == forensics.PodOrphaned && item.Kind != eviction.KindLogs {
			sum += item.Bytes
		}
	}
	return sum
}

// next says what the kubelet deletes, in order.
func next(p *forensics.Pass, f eviction.FileSystem) string {
	steps := p.Model.DestructionOrder(f.Device)
	if len(steps) == 0 {
		return ""
	}
	for i := range steps {
		steps[i] = fmt.Sprintf("%d. %s", i+1, steps[i])
	}
	return " To get space back the kubelet deletes: " + strings.Join(steps, "; ") + "."
}

// diskRemedies are steps to free space, those for the largest fillers first.
func diskRemedies(p *forensics.Pass, f eviction.FileSystem) []forensics.Remedy {
	var steps []forensics.Remedy
	u, counted := diskState(p).UsageOf(f.Device)
	if !counted {
		steps = append(steps, countUsage())
	}
	for _, k := range u.Kinds {
		if r, ok := kindRemedy(p, k.Kind, u); ok && k.Bytes*20 > u.UsedBytes && len(steps) < 3 {
			steps = append(steps, r)
		}
	}
	return append(steps, forensics.Remedy{
		Command: "Keep images that no registry can give back: ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
		Why:     "under pressure the kubelet deletes every image that no container uses; pinned ones it leaves (1.23 and later; CRI-O: pinned_images)",
		Risk:    "none; what is pinned is not freed either",
	})
}

// countUsage says where disk space went: du asks each mount point that it comes across for its attributes, also with -x, and never
// returns from one that does not answer (seen with coreutils 9.1).
func countUsage() forensics.Remedy {
	return forensics.Remedy{
		Command: "nodeforensics --disk-usage 30s", Why: "counts where the space of this file system went, and enters no mount, where du hangs at a dead one",
		Risk: "none: it reads",
	}
}

// largest lists what is large below a directory, if du comes across no mount point there.
func largest(p *forensics.Pass, dir string) forensics.Remedy {
	r := forensics.Remedy{
		Command:      "Look for what is large below " + quote(dir),
		Why:          "finds what is large below " + dir + ", which is neither the kubelet's nor the runtime's: no garbage collection of theirs frees it",
		Precondition: "what is mounted below it answers: du hangs at a dead mount, also with -x",
		Risk:         "none: it reads. It takes its time on a large disk",
	}
	word, ok := pathWord(dir)
	if ok && !slices.ContainsFunc(p.Model.Host().Below(dir), func(m mounts.Mount) bool { return m.MountPoint != dir }) {
		r.Command = "du -xh --max-depth=2 " + word + " | sort -h | tail -n 30"
		r.Precondition = "nothing has been mounted below it since: du hangs at a dead mount, also with -x"
	}
	return r
}

func kindRemedy(p *forensics.Pass, kind string, u eviction.Usage) (forensics.Remedy, bool) {
	switch kind {
	case eviction.KindOther:
		i := slices.IndexFunc(u.Items, func(item eviction.Item) bool { return item.Kind == kind })
		if i < 0 {
			break
		}
		return largest(p, u.Items[i].Path), true
	case eviction.KindImages, eviction.KindLayers:
		return forensics.Remedy{
			Command: "crictl rmi --prune", Why: "removes images that no container uses",
			Precondition: "every image that is missing later can be pulled again: none was loaded by hand (ctr or crictl import)",
			Risk:         "images that were loaded by hand are gone for good",
		}, true
	case eviction.KindJournal:
		return forensics.Remedy{
			Command: "journalctl --vacuum-size=500M", Why: "removes archived journal files; SystemMaxUse= in journald.conf keeps it so",
			Precondition: "the logs of the trouble are saved elsewhere", Risk: "older logs are gone",
		}, true
	case eviction.KindLogs:
		return forensics.Remedy{
			Command: "Lower containerLogMaxSize and containerLogMaxFiles of the kubelet, and find out why the pod logs so much",
			Why:     "the kubelet rotates logs at 10 MiB and 5 files by default, and once every 10 s, which a fast writer outruns",
			Risk:    "older lines of logs are gone after the rotation",
		}, true
	case eviction.KindEmptyDir, eviction.KindWritable:
		return forensics.Remedy{
			Command: "Delete the pod that takes most (kubectl delete pod), and give it a limit for ephemeral-storage or a sizeLimit of its emptyDir",
			Why:     "emptyDir volumes and writable layers go with their pod", Precondition: "what it wrote there can be lost",
			Risk: "what is in its emptyDir volumes and in its containers' file systems is gone",
		}, true
	case eviction.KindDeleted:
		return forensics.Remedy{
			Command: "Restart the processes that hold deleted files: see disk-deleted-open-files",
			Why:     "the space is free once they are closed", Risk: "what they do is interrupted",
		}, true
	}
	return forensics.Remedy{}, false
}
