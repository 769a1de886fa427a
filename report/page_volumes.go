package report

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

type volumeRow struct {
	Plugin, Name, Path shown
	Mounted            mark
	Data               shown
}

func newVolumeRow(v kubelet.Volume) volumeRow {
	row := volumeRow{
		Plugin: cell(v.Plugin, 100), Name: cell(v.Name, maxCell), Path: cell(v.Path, maxCell),
		Mounted: mark{toneQuiet, "not mounted"},
	}
	var notes []string
	switch {
	case len(v.MountPoints) > 0:
		row.Mounted = mark{toneNote, shown(count(len(v.MountPoints), "mount"))}
	case v.Entries > 0:
		row.Mounted = mark{toneWarn, "not mounted, has data"}
		notes = append(notes, count(v.Entries, "entry")+" in the unmounted directory")
	case v.Entries == 0:
		row.Mounted = mark{toneQuiet, "not mounted, empty"}
	}
	if v.Block {
		notes = append(notes, "block device")
	}
	if d := v.VolData; d != nil {
		notes = append(notes, "vol_data.json: "+strings.TrimSpace(d.Driver+" "+d.VolumeHandle))
	}
	if v.VolDataError != "" {
		notes = append(notes, "vol_data.json: "+v.VolDataError)
	}
	row.Data = cell(strings.Join(notes, "; "), maxCell)
	return row
}

func newSubpathRow(s kubelet.Subpath) volumeRow {
	row := volumeRow{
		Plugin: "subpath", Name: cell(fmt.Sprintf("%s, container %s, %s", s.Volume, s.Container, s.Index), maxCell),
		Path: cell(s.Path, maxCell), Mounted: mark{toneQuiet, shown("not mounted, ") + cell(s.Kind, 40)},
	}
	if s.Kind == "mount" {
		row.Mounted = mark{toneNote, "mount"}
	}
	return row
}
