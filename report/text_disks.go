package report

import (
	"cmp"
	"fmt"
	"strings"
)

// disks gives each file system that the kubelet watches a line: how full it is, and which threshold is the nearest.
func (t *textWriter) disks(r Report) {
	d := r.Evidence.Disks
	if d == nil || len(d.FileSystems) == 0 {
		return
	}
	index := d.Index()
	t.strong("Disks")
	for i, f := range d.FileSystems {
		if i == maxTextLines {
			t.line("  ", fmt.Sprintf("and %d more: see the report.", len(d.FileSystems)-i))
			break
		}
		state := diskMark(index, f)
		name := fmt.Sprintf("%s (%s): %s", cmp.Or(f.MountPoint, f.Device), strings.Join(index.Roles(f.Device), ", "), state.Word)
		if f.Error != "" {
			t.item("  - ", name+": "+f.Error)
			continue
		}
		name += fmt.Sprintf(", %s of %s available", bytesWords(clip(f.AvailableBytes)), bytesWords(clip(f.CapacityBytes)))
		if list := index.Reaches(f.Device); len(list) > 0 {
			name += fmt.Sprintf("; nearest: %s %s, %.1f %% away", list[0].Threshold.Kind, list[0].Threshold, list[0].Left())
		}
		t.item("  - ", name)
	}
	t.blank()
}
