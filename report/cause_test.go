package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
)

func entity(kind forensics.Kind, id string) forensics.Entity {
	return forensics.Entity{Kind: kind, ID: id}
}

// branched is a dead file system that blocks one thread of the kubelet on the chain, and many things beside it.
func branched(blocked int) Report {
	super, mount, thread := entity("superblock", "0:47"), entity("mount", "60"), entity("thread", "9/9")
	r := Report{Findings: []forensics.Finding{
		{Severity: forensics.Critical, Title: "dead", Subject: super},
		{Severity: forensics.Critical, Title: "waits", Subject: thread, Because: []forensics.Entity{mount}},
		{Severity: forensics.Warning, Title: "orphan", Subject: entity("pod", "u1"), Because: []forensics.Entity{mount}},
		{Severity: forensics.Info, Title: "because of the orphan", Subject: entity("path", "/x"), Because: []forensics.Entity{entity("pod", "u1")}},
	}}
	for i := range blocked {
		r.Findings = append(r.Findings, forensics.Finding{
			Severity: forensics.Warning, Title: "waits too", Subject: entity("thread", fmt.Sprintf("8/%d", i)), Because: []forensics.Entity{mount},
		})
	}
	d := forensics.Diagnosis{
		Severity: forensics.Critical, Root: super,
		Chain: []forensics.Link{{Kind: "superblock", ID: "0:47", Text: "fs"}, {Kind: "mount", ID: "60", Text: "mount 60"}, {Kind: "thread", ID: "9/9", Text: "thread 9/9"}, {Kind: "kubelet", ID: "9", Text: "kubelet"}},
		Pods:  []forensics.AffectedPod{{UID: "u1"}, {UID: "u2", Namespace: "shop", Name: "db-0"}},
	}
	for i := range r.Findings {
		d.Findings = append(d.Findings, i)
	}
	d.Findings = append(d.Findings, 99, -1) // a report from elsewhere may say anything
	r.Diagnoses = []forensics.Diagnosis{d}
	return r
}

func TestCauseTree(t *testing.T) {
	r := branched(6)
	tree := newCauseTree(r.Diagnoses[0], r, podNamesOf(r))
	got := map[string][]string{}
	for _, s := range tree {
		got[s.Edge+">"+s.Text+"/"+s.Badge] = nil
		for _, b := range s.Branches {
			got[s.Edge+">"+s.Text+"/"+s.Badge] = append(got[s.Edge+">"+s.Text+"/"+s.Badge], b.Edge+" "+b.Text)
		}
	}
	want := map[string][]string{
		">fs/root cause": nil,
		"is mounted as>mount 60/": {
			"is a volume of orphan", "is used by because of the orphan",
			"blocks 6 threads: 8/0, 8/1, 8/2, 8/3 and 2 more",
		},
		"blocks>thread 9/9/critical": nil,
		"leads to>kubelet/":          {"blocks 1 pod: shop/db-0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongChainLosesItsMiddle(t *testing.T) {
	var d forensics.Diagnosis
	for i := range 40 {
		d.Chain = append(d.Chain, forensics.Link{Kind: forensics.KindProcess, ID: fmt.Sprint(i), Text: fmt.Sprint("step ", i)})
	}
	tree := newCauseTree(d, Report{}, podBook{})
	if len(tree) != maxSpine || tree[0].Text != "step 0" || tree[len(tree)-1].Text != "step 39" || tree[maxSpine/2].Text != "29 steps: see the list" {
		t.Errorf("got %d steps, %q in the middle", len(tree), tree[maxSpine/2].Text)
	}
}

// Boxes must not lie on each other, nor leave the drawing, however much there is to draw.
func TestPictureBoxesDoNotOverlap(t *testing.T) {
	for _, blocked := range []int{0, 1, 6, 200} {
		r := branched(blocked)
		p := newPicture(r.Diagnoses[0], r, podNamesOf(r), 1)
		if !p.Branched {
			t.Error("has branches, and does not say so")
		}
		for _, d := range []drawing{p.Wide, p.Narrow} {
			for i, a := range d.Boxes {
				if a.X < 0 || a.Y < 0 || a.X+a.W > d.W || a.Y+a.H > d.H {
					t.Errorf("%s, %d blocked: box %d leaves the drawing", d.Class, blocked, i)
				}
				for _, b := range d.Boxes[:i] {
					if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
						t.Errorf("%s, %d blocked: %v lies on %v", d.Class, blocked, a.Lines, b.Lines)
					}
				}
			}
		}
	}
}

// A line ends in its arrow, not short of it nor in the box behind it.
func TestPictureLinesEndInTheirArrows(t *testing.T) {
	r := branched(6)
	p := newPicture(r.Diagnoses[0], r, podNamesOf(r), 1)
	for _, d := range []drawing{p.Wide, p.Narrow} {
		for _, line := range d.Lines {
			var x, y, end int
			last := strings.LastIndexAny(line.Path, "HV")
			_, errEnd := fmt.Sscan(line.Path[last+1:], &end)
			_, errTip := fmt.Sscanf(line.Arrow, "M%d %dl", &x, &y)
			tip := x
			if line.Path[last] == 'V' {
				tip = y
			}
			if errEnd != nil || errTip != nil || end < tip-8 || end >= tip {
				t.Errorf("%s: line %s does not end in arrow %s", d.Class, line.Path, line.Arrow)
			}
		}
	}
}

func TestABoxAloneIsNoPicture(t *testing.T) {
	d := forensics.Diagnosis{Chain: []forensics.Link{{Kind: "pod", ID: "u"}}}
	if p := newPicture(d, Report{}, podBook{}, 1); p != nil {
		t.Error("drew one box")
	}
}

func TestRefsLeadToTheEvidence(t *testing.T) {
	p := newPlaces()
	p.put(forensics.KindGoroutine, "142", "goroutines-1")
	p.put(forensics.KindThread, "9825/9839", "thread-1")
	p.put(forensics.KindMount, "60", "mount-1")
	p.put(forensics.KindSuperblock, "0:47", "mount-1")
	p.put(forensics.KindPod, "u1", "pod-1")
	p.put(forensics.KindKubelet, "kubelet", "kubelet")
	for source, want := range map[string]string{
		"goroutines:https://127.0.0.1:10250/debug/pprof/goroutine?debug=2:goroutine 142": "#goroutines-1",
		"goroutines:goroutine 7":   "#goroutines",
		"threads:9825/9839":        "#thread-1",
		"threads:thread 9825/9839": "#thread-1",
		"mounts:60":                "#mount-1",
		"mount-health:0:47":        "#mount-1",
		"mount-health:0:99":        "#mounts",
		"pod-dirs:u1":              "#pod-1",
		"cgroups:u1":               "#pod-1",
		"kubelet-health:https://127.0.0.1:10250/healthz": "#kubelet",
		"processes:1":     "#processes",
		"collector":       "#run",
		"something-new:x": "",
		"":                "",
	} {
		if got := p.refHref(source); got != want {
			t.Errorf("%q leads to %q, want %q", source, got, want)
		}
	}
	for e, want := range map[forensics.Entity]string{
		entity("volume", "u1/kubernetes.io~csi/data"): "#pod-1",
		entity("subsystem", "housekeeping"):           "#kubelet",
		entity("kubelet", "9825"):                     "#kubelet",
		entity("disk", "259:1"):                       "",
	} {
		if got := p.href(e); got != want {
			t.Errorf("%v leads to %q, want %q", e, got, want)
		}
	}
}

// TestUserWords names root by its number where it has no name.
func TestUserWords(t *testing.T) {
	for want, h := range map[string]forensics.HolderProcess{
		"0": {UID: 0}, "33": {UID: 33}, "www-data": {UID: 33, User: "www-data"}, "unknown": {UID: -1},
	} {
		if got := userWords(h); got != want {
			t.Errorf("%+v: %s, want %s", h, got, want)
		}
	}
}
