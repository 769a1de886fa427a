package logview

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func TestVolumeLabel(t *testing.T) {
	for want, s := range map[string]logs.Subject{
		"data":            {PodUID: "u-1", Volume: "data", UniqueName: "kubernetes.io/empty-dir/u-1-sub"},
		"sub":             {PodUID: "u-1", UniqueName: "kubernetes.io/empty-dir/u-1-sub"},
		"u-1-sub":         {PodUID: "u-2", UniqueName: "kubernetes.io/empty-dir/u-1-sub"},
		"driver^handle/1": {UniqueName: "kubernetes.io/csi/driver^handle/1"},
		"odd":             {UniqueName: "odd"},
		"":                {},
	} {
		if got := VolumeLabel(s); got != want {
			t.Errorf("%+v is called %q, want %q", s, got, want)
		}
	}
}
