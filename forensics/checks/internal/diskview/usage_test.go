package diskview

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// The largest thing that fills a disk is named with whose it is, where that is known.
func TestOwnerOfTheLargest(t *testing.T) {
	e := forensics.NewEvidence()
	p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
	for want, item := range map[string]eviction.Item{
		"":                                  {Path: "/var/log/journal"},
		" of pod u1":                        {PodUID: "u1", Claim: "data"},
		", named after the claim shop/data": {Claim: "shop/data"},
	} {
		if got := owner(p, item); got != want {
			t.Errorf("%+v: %q, want %q", item, got, want)
		}
	}
}

// What fills a disk has a step that frees it, unless it may be somebody's data.
func TestStepForWhatFillsADisk(t *testing.T) {
	e := forensics.NewEvidence()
	p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
	u := eviction.Usage{Items: []eviction.Item{{Kind: eviction.KindOther, Path: "/srv/dump"}}}
	for kind, want := range map[string]string{
		eviction.KindImages: "crictl rmi --prune", eviction.KindLayers: "crictl rmi --prune", eviction.KindJournal: "journalctl --vacuum",
		eviction.KindLogs: "containerLogMaxSize", eviction.KindEmptyDir: "kubectl delete pod", eviction.KindWritable: "kubectl delete pod",
		eviction.KindDeleted: "disk-deleted-open-files", eviction.KindOther: "/srv/dump", eviction.KindVolume: "",
	} {
		if r, ok := kindRemedy(p, kind, u); ok != (want != "") || !strings.Contains(r.String(), want) {
			t.Errorf("%s: %q, want %q", kind, r.String(), want)
		}
	}
}
