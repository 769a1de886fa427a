package diskview

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Fillers says where the space went, largest first.
func Fillers(p *forensics.Pass, f eviction.FileSystem) string {
	d := State(p)
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
