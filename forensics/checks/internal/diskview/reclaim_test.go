package diskview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestPodsByUseRanksByPriority has pods whose use of the disk would rank them otherwise: those that are not evicted come
// last, then the priority decides, 0 where none is known, and only then the use.
func TestPodsByUseRanksByPriority(t *testing.T) {
	e := forensics.NewEvidence()
	var use eviction.Usage
	add := func(uid string, bytes int64, p kubelet.Pod, priority ...int32) {
		p.UID = uid
		if len(priority) > 0 {
			p.Priority = &priority[0]
		}
		e.Pods = append(e.Pods, p)
		use.Items = append(use.Items, eviction.Item{Kind: eviction.KindEmptyDir, PodUID: uid, Bytes: bytes})
	}
	add("system", 900, kubelet.Pod{}, 2_000_000_000)
	add("almost-system", 5, kubelet.Pod{}, 1_999_999_999)
	add("static", 800, kubelet.Pod{Source: "manifest"})
	add("high", 700, kubelet.Pod{}, 1000)
	add("high-and-larger", 701, kubelet.Pod{}, 1000)
	add("unknown", 20, kubelet.Pod{})
	add("zero", 21, kubelet.Pod{}, 0)
	add("low", 10, kubelet.Pod{}, -5)
	var got []string
	for _, pod := range PodsByUse(&forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}, use) {
		got = append(got, pod.UID)
	}
	want := []string{"low", "zero", "unknown", "high-and-larger", "high", "almost-system", "static", "system"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of eviction (-want +got):\n%s", diff)
	}
}
