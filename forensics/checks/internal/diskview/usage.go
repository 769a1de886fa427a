package diskview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Fillers says what uses the space, largest first.
func Fillers(p *forensics.Pass, f eviction.FileSystem) string {
	d := State(p)
	u, ok := d.UsageOf(f.Device)
	if !ok {
		return reserved(f) + "Disk usage was not collected."
	}
	var parts []string
	for _, k := range u.Kinds[:min(len(u.Kinds), 4)] {
		if k.Bytes > 0 {
			parts = append(parts, eviction.KindName(k.Kind)+" "+text.Bytes(k.Bytes))
		}
	}
	words := reserved(f) + text.Bytes(u.UsedBytes) + " are in use. Largest users: " + strings.Join(parts, ", ") + "."
	if u.Cut != "" {
		return words + " The count is incomplete: " + u.Cut + "."
	}
	for _, item := range u.Items {
		if item.Kind == eviction.KindOther || item.Kind == eviction.KindLayers || item.Kind == eviction.KindImages {
			continue
		}
		words += fmt.Sprintf(" Largest single item: %s with %s%s.", item.Path, text.Bytes(item.Bytes), owner(p, item))
		break
	}
	if leftovers := orphanBytes(p, u); leftovers > 0 {
		words += " Orphaned pod directories use " + text.Bytes(leftovers) + "."
	}
	if k := u.Kind(eviction.KindVolume); k.Bytes > 0 {
		words += " Volume directories may hold the data of a StatefulSet: do not delete them."
	}
	return words
}

// WithLargest adds the largest user of a file system to a headline about it, where that was counted and has room.
func WithLargest(p *forensics.Pass, f eviction.FileSystem, title string) string {
	u, ok := State(p).UsageOf(f.Device)
	if !ok || u.Cut != "" || len(u.Kinds) == 0 || u.Kinds[0].Bytes == 0 {
		return title
	}
	longer := title + "; largest user: " + eviction.KindName(u.Kinds[0].Kind) + ", " + text.Bytes(u.Kinds[0].Bytes)
	if utf8.RuneCountInString(longer) > headline.Most {
		return title
	}
	return longer
}

// reserved says how much is free but not available, where that matters.
func reserved(f eviction.FileSystem) string {
	kept := f.FreeBytes - min(f.AvailableBytes, f.FreeBytes)
	if kept < f.CapacityBytes/50 {
		return ""
	}
	return text.Bytes(int64(kept)) + " more are free, but reserved for root (ext4: tune2fs -m). df and the kubelet do not count them as available. "
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

// orphanBytes is what orphaned pod directories use.
func orphanBytes(p *forensics.Pass, u eviction.Usage) int64 {
	var sum int64
	for _, item := range u.Items {
		if state, _ := p.Model.PodState(item.PodUID); item.PodUID != "" && (state == forensics.PodOrphaned || state == forensics.PodLikelyOrphaned) && item.Kind != eviction.KindLogs {
			sum += item.Bytes
		}
	}
	return sum
}
