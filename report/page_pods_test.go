package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// A manifest without a UID is not an orphan, and belongs to the pod that the kubelet made of it.
func TestManifestsWithoutUID(t *testing.T) {
	r := Report{Evidence: forensics.Evidence{
		Kubelet: &kubelet.Instance{NodeName: "Worker-7"},
		Pods: []kubelet.Pod{
			{Namespace: "default", Name: "web", Source: "manifest"},
			{Namespace: "default", Name: "lost", Source: "manifest"},
			{UID: "u1", Namespace: "default", Name: "web-worker-7", Source: "kubelet"},
			{UID: "u2", Namespace: "default", Name: "web-2", Source: "kubelet"},
		},
	}}
	v := newPodsView(r, podNamesOf(r), newPlaces())
	got := map[shown][]shown{}
	for _, row := range v.Rows {
		sources := ""
		for _, f := range row.Facts {
			sources += string(f.Name) + " "
		}
		got[row.Name] = []shown{row.UID, shown(sources), row.State.Word}
	}
	want := map[shown][]shown{
		"default/web-worker-7": {"u1", "manifest kubelet ", "live"},
		"default/web-2":        {"u2", "kubelet ", "live"},
		"default/lost":         {"no UID", "manifest ", "unknown"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The first pods of a verdict are seen at once, others are folded, and of many more the page says how many there are.
func TestPodsOfAVerdict(t *testing.T) {
	for n, want := range map[int][4]int{ // seen, folded, after those that are seen, left out
		0: {0, 0, 0, 0}, 5: {5, 0, 0, 0}, 6: {6, 0, 0, 0}, 7: {6, 1, 1, 0}, 20: {6, 14, 14, 0}, 21: {6, 14, 15, 1}, 500: {6, 14, 494, 480},
	} {
		v := newVerdict(0, forensics.Diagnosis{Pods: make([]forensics.AffectedPod, n)}, Report{}, podNamesOf(Report{}), newPlaces())
		if got := [4]int{len(v.Pods), len(v.PodsRest), v.PodsMore, v.PodsCut}; got != want {
			t.Errorf("%d pods: %v, want %v", n, got, want)
		}
	}
}
