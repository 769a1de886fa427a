package logview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// Unresolved says whether a failure was current when the log ended: within the time until its next retry and a margin.
func Unresolved(p *forensics.Pass, e logs.Event) bool {
	last, end := Last([]logs.Event{e}), KubeletEnd(p)
	if last == nil { // people quote messages without their times
		return !slices.ContainsFunc(Events(p, logs.KindUnmountDone, logs.KindVolumeDetached, logs.KindDeviceUnmounted), func(done logs.Event) bool {
			return end == nil || done.Volume == "" || e.Volume == "" || done.Volume == e.Volume
		})
	}
	return last != nil && end != nil && end.Sub(*last) <= max(endOfLog, time.Duration(2*e.Number)*time.Second) && !undone(p, e)
}

// undone says whether the same volume was unmounted after it failed.
func undone(p *forensics.Pass, failed logs.Event) bool {
	type volume struct{ name, pod string }
	done := forensics.Once(p, "volumes that were unmounted", func() map[volume]time.Time {
		at := map[volume]time.Time{}
		for _, e := range Events(p, logs.KindUnmountDone, logs.KindVolumeDetached, logs.KindDeviceUnmounted) {
			if v := (volume{e.UniqueName, e.PodUID}); e.Last != nil && e.Last.After(at[v]) {
				at[v] = *e.Last
			}
		}
		return at
	})
	last := Last([]logs.Event{failed})
	return failed.UniqueName != "" && last != nil && done[volume{failed.UniqueName, failed.PodUID}].After(*last)
}

// VolumeEntity is what a message about a volume is about: the mount where it is known, else the volume by its path, or by
// its names.
func VolumeEntity(p *forensics.Pass, s logs.Subject) forensics.Entity {
	if s.Path != "" {
		if list := p.Model.Host().At(s.Path); len(list) > 0 {
			return forensics.MountEntity(list[len(list)-1].ID)
		}
		if _, volume := forensics.PodOf(s.Path); volume != "" {
			return forensics.Entity{Kind: forensics.KindVolume, ID: volume}
		}
	}
	if list := volumeMounts(p, s.PodUID, s.Volume); len(list) > 0 {
		return list[len(list)-1]
	}
	name := cmp.Or(s.Volume, s.UniqueName, s.Path)
	if s.PodUID != "" {
		name = s.PodUID + "/" + pluginOf(s.UniqueName) + "/" + name
	}
	return forensics.Entity{Kind: forensics.KindVolume, ID: name}
}

// pluginOf is the plugin of a unique name: "kubernetes.io/csi" of "kubernetes.io/csi/driver^handle".
func pluginOf(unique string) string {
	parts := strings.SplitN(unique, "/", 3)
	if len(parts) < 3 {
		return "plugin"
	}
	return parts[0] + "/" + parts[1]
}
