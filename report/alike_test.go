package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

// manyPods is a report with one finding about n pods, and another pod that it affects.
func manyPods(n int) Report {
	f := forensics.Finding{
		ID: "pod-orphaned", Severity: forensics.Warning, Title: fmt.Sprintf("%d pods are gone", n), Subject: entity("pod", "u-0"), Pods: []string{"u-other"},
	}
	d := forensics.Diagnosis{
		Severity: forensics.Warning, Title: f.Title, Root: f.Subject, Findings: []int{0},
		Chain: []forensics.Link{{Kind: "pod", ID: "u-0", Text: "pod u-0, and others"}},
	}
	for i := range n {
		uid := fmt.Sprintf("u-%d", i)
		f.Subjects = append(f.Subjects, entity("pod", uid))
		f.Pods = append(f.Pods, uid)
		d.Pods = append(d.Pods, forensics.AffectedPod{UID: uid, Namespace: "shop", Name: fmt.Sprintf("cart-%d", i)})
	}
	return Report{Findings: []forensics.Finding{f}, Diagnoses: []forensics.Diagnosis{d}}
}

func TestFindingOfManyIsFoundFromEach(t *testing.T) {
	r, places := manyPods(300), newPlaces()
	v := newFindingsView(r, podNamesOf(r), places)
	f := v.Groups[0].List[0]
	for i := range 300 {
		if href := places.findingHref(entity("pod", fmt.Sprintf("u-%d", i))); href != "#"+f.Anchor {
			t.Fatalf("pod u-%d leads to %q", i, href)
		}
	}
	if f.Subjects == nil || f.Subjects.Kinds != "300 pods" || len(f.Subjects.List) != maxSubjects || f.Subjects.More != 300-maxSubjects || f.Subjects.List[7].Text != "shop/cart-7" {
		t.Errorf("it is about %+v", f.Subjects)
	}
	if len(f.Pods) != 1 || f.Pods[0].Text != "u-other" || f.PodsMore != 0 {
		t.Errorf("other pods %v and %d; want those alone that it is not about", f.Pods, f.PodsMore)
	}
	if n := len(v.Kinds); n != 20 {
		t.Errorf("%d things to filter by: one finding takes all of them", n)
	}
}

// TestPodsOfTheAPIAreNamed has pods that only a dump of the API knows.
func TestPodsOfTheAPIAreNamed(t *testing.T) {
	r := manyPods(2)
	r.Diagnoses = nil
	r.Evidence.Cluster = &apidump.Dump{Pods: []apidump.Pod{{Object: apidump.Object{Namespace: "shop", Name: "web", UID: "u-1"}}}}
	got := newFindingsView(r, podNamesOf(r), newPlaces()).Groups[0].List[0].Subjects.List
	if got[0].Text != "u-0" || got[1].Text != "shop/web" {
		t.Errorf("pods %v", got)
	}
}

// TestCutFindingOfManyHasNoLinks has a finding for which there was no room.
func TestCutFindingOfManyHasNoLinks(t *testing.T) {
	r, places := manyPods(3), newPlaces()
	r.Diagnoses = nil
	for range 3000 {
		f := forensics.Finding{Subject: entity("path", "/x"), Title: strings.Repeat("long ", 100)}
		r.Findings = slices.Insert(r.Findings, 0, f)
	}
	if v := newFindingsView(r, podNamesOf(r), places); v.Cut == 0 {
		t.Fatal("nothing was cut")
	}
	if href := places.findingHref(entity("pod", "u-2")); href != "" {
		t.Errorf("u-2 leads to %q, which is not on the page", href)
	}
}

func TestCauseTreeOfMany(t *testing.T) {
	r := manyPods(30)
	if tree := newCauseTree(r.Diagnoses[0], r, podNamesOf(r)); len(tree) != 1 || len(tree[0].Branches) != 0 || tree[0].Badge != "root cause" {
		t.Errorf("the root stands for all of them, and the picture has %+v", tree)
	}
	d := &r.Diagnoses[0]
	d.Root = entity("runtime", "containerd")
	d.Chain = []forensics.Link{{Kind: "runtime", ID: "containerd", Text: "containerd"}, {Kind: "pod", ID: "u-5", Text: "pod u-5"}}
	r.Findings[0].Because = []forensics.Entity{d.Root}
	tree := newCauseTree(*d, r, podNamesOf(r))
	if len(tree[0].Branches) != 1 || tree[0].Branches[0].Text != "30 pods are gone" || tree[1].Badge != "warning" {
		t.Errorf("the picture %+v; want one box for all beside the one on the chain", tree)
	}
}

func TestWithoutEvidenceOfMany(t *testing.T) {
	f := WithoutEvidence(manyPods(3000)).Findings[0]
	if len(f.Subjects) != maxWithoutEvidence || len(f.Pods) != maxWithoutEvidence {
		t.Errorf("%d things and %d pods, which there is no time for", len(f.Subjects), len(f.Pods))
	}
}
