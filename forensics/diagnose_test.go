package forensics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// entity spells one as "kind id".
func entity(s string) forensics.Entity {
	kind, id, _ := strings.Cut(s, " ")
	return forensics.Entity{Kind: forensics.Kind(kind), ID: id}
}

// because is a finding: subject, severity and what explains it.
func because(severity forensics.Severity, subject string, causes ...string) forensics.Finding {
	f := forensics.Finding{Severity: severity, Subject: entity(subject), Title: subject + " is bad"}
	for _, c := range causes {
		f.Because = append(f.Because, entity(c))
	}
	return f
}

// diagnosed analyses findings; the check's id of the i-th is "c-i".
func diagnosed(e forensics.Evidence, list ...forensics.Finding) []forensics.Diagnosis {
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	var all []forensics.Check
	for i, f := range list {
		all = append(all, report(fmt.Sprintf("c-%d", i), f))
	}
	return forensics.Analyze(&e, all).Diagnoses
}

// outline is a diagnosis in one line: severity, chain.
func outline(d forensics.Diagnosis) string {
	var links []string
	for _, link := range d.Chain {
		links = append(links, string(link.Kind)+" "+link.ID)
	}
	return string(d.Severity) + ": " + strings.Join(links, " < ")
}

// TestHoldersOfOneMountAreOneDiagnosis has what several processes hold: one thing is wrong, not as many as there are processes.
// What only one of them explains stays with that one, and another mount apart.
func TestHoldersOfOneMountAreOneDiagnosis(t *testing.T) {
	warning := forensics.Warning
	list := diagnosed(forensics.NewEvidence(),
		because(warning, "mount 5", "process 1", "process 2", "process 3"),
		because(warning, "mount 6", "process 2"),
		because(warning, "mount 7", "process 4"))
	var got []string
	for _, d := range list {
		got = append(got, outline(d)+" | "+d.Chain[0].Text)
	}
	want := []string{
		"warning: process 2 < mount 5 | process 2, and 2 other processes: 1, 3",
		"warning: process 4 < mount 7 | process 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnoses (-want +got):\n%s", diff)
	}
}

func TestDiagnosesFollowCausesToTheirRoots(t *testing.T) {
	table := forensics.NewEvidence()
	table.Mounts.Mounts = []mounts.Mount{fuseMount(59, "0:46", deadPoint), fuseMount(60, "0:46", "/elsewhere")}
	waiting := procs.Thread{PID: 7, TID: 7, Device: "0:46", MountID: 59, Wait: procs.Wait{Kind: procs.WaitFUSE, FS: "fuse"}}
	locked := procs.Thread{PID: 8, TID: 8, Device: "0:46", MountID: 59, Wait: procs.Wait{Kind: procs.WaitFSLock}}
	elsewhere := procs.Thread{PID: 9, TID: 9, Device: "0:99", Wait: procs.Wait{Kind: procs.WaitFSLock}}
	table.Threads = []procs.Thread{waiting, locked, elsewhere}
	for _, tt := range []struct {
		name     string
		findings []forensics.Finding
		want     []string
	}{
		{"nothing", nil, nil},
		{
			"who holds a mount does not make its file system hang",
			[]forensics.Finding{
				because("warning", "superblock 0:46"), because("info", "mount 59", "process 4711"), because("warning", "pod a", "mount 59"),
			},
			[]string{"warning: superblock 0:46 < mount 59 < pod a"},
		},
		{
			"who holds a mount of a file system that is well keeps it",
			[]forensics.Finding{because("warning", "mount 59", "process 4711")},
			[]string{"warning: process 4711 < mount 59"},
		},
		{
			"a thread waits for a lock behind one that waits for the server",
			[]forensics.Finding{because("warning", "superblock 0:46"), because("warning", "thread 8/8")},
			[]string{"warning: superblock 0:46 < mount 59 < thread 8/8"},
		},
		{"a thread waits for a lock of another file system", []forensics.Finding{because("warning", "thread 9/9")}, []string{"warning: thread 9/9"}},
		{"information is no diagnosis", []forensics.Finding{because("info", "pod a")}, nil},
		{"a finding on its own", []forensics.Finding{because("warning", "pod a")}, []string{"warning: pod a"}},
		{
			"a chain",
			[]forensics.Finding{because("critical", "kubelet k", "pod a"), because("warning", "pod a", "volume v")},
			[]string{"critical: volume v < pod a < kubelet k"},
		},
		{
			"the chain through findings that are only information",
			[]forensics.Finding{because("critical", "kubelet k", "pod a"), because("info", "pod a", "volume v")},
			[]string{"critical: volume v < pod a < kubelet k"},
		},
		{
			"two roots of one symptom",
			[]forensics.Finding{because("critical", "kubelet k", "disk a", "disk b")},
			[]string{"critical: disk a < kubelet k", "critical: disk b < kubelet k"},
		},
		{
			"one root of two symptoms",
			[]forensics.Finding{because("warning", "pod a", "disk d"), because("critical", "pod b", "disk d")},
			[]string{"critical: disk d < pod b"},
		},
		{
			"a mount is explained by its superblock",
			[]forensics.Finding{because("warning", "pod a", "mount 59"), because("warning", "pod b", "mount 60")},
			[]string{"warning: superblock 0:46 < mount 59 < pod a"},
		},
		{
			"a subsystem stops the kubelet",
			[]forensics.Finding{because("critical", "subsystem housekeeping", "mount 59")},
			[]string{"critical: superblock 0:46 < mount 59 < subsystem housekeeping < kubelet kubelet"},
		},
		{
			"another subsystem does not",
			[]forensics.Finding{because("critical", "subsystem eviction", "mount 59")},
			[]string{"critical: superblock 0:46 < mount 59 < subsystem eviction"},
		},
		{"the worst symptom before the farthest", []forensics.Finding{
			because("warning", "pod a", "disk d"), because("warning", "pod b", "pod a"), because("critical", "pod c", "disk d"),
		}, []string{"critical: disk d < pod c"}},
		{"because of itself", []forensics.Finding{because("warning", "pod a", "pod a")}, []string{"warning: pod a"}},
		{
			"two that explain each other",
			[]forensics.Finding{because("warning", "pod a", "pod b"), because("warning", "pod b", "pod a")},
			[]string{"warning: pod b < pod a"},
		},
		{"a circle of three with a root", []forensics.Finding{
			because("critical", "pod a", "pod b"), because("warning", "pod b", "pod c"), because("warning", "pod c", "pod a", "disk d"),
		}, []string{"critical: disk d < pod c < pod b < pod a"}},
		{"a mount of which nothing is known", []forensics.Finding{because("warning", "pod a", "mount 4711")}, []string{"warning: mount 4711 < pod a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range diagnosed(table, tt.findings...) {
				got = append(got, outline(d))
				if d.Root != entity(string(d.Chain[0].Kind)+" "+d.Chain[0].ID) {
					t.Errorf("the chain does not begin with the root %v: %v", d.Root, d.Chain)
				}
				if d.Title == "" || d.Paragraph == "" {
					t.Errorf("no title or paragraph: %+v", d)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoTroubleIsLostInACircle holds for circles of any shape, too: every finding belongs to a diagnosis.
func TestNoTroubleIsLostInACircle(t *testing.T) {
	const n = 5
	for seed := range 1 << 10 { // every graph of 5 findings in which each has two causes, more or less
		var list []forensics.Finding
		for i := range n {
			a, b := (seed>>(2*i))%n, (seed>>i+i)%n
			list = append(list, because("warning", fmt.Sprintf("pod %d", i), fmt.Sprintf("pod %d", a), fmt.Sprintf("pod %d", b)))
		}
		seen := map[int]bool{}
		for _, d := range diagnosed(forensics.NewEvidence(), list...) {
			for _, i := range d.Findings {
				seen[i] = true
			}
		}
		if len(seen) != n {
			t.Fatalf("seed %d: %d of %d findings are in a diagnosis", seed, len(seen), n)
		}
	}
}

func TestDiagnosesAreOrderedWorstFirst(t *testing.T) {
	var got []string
	for _, d := range diagnosed(forensics.NewEvidence(),
		because("warning", "pod w2"), because("warning", "pod w1"),
		because("critical", "pod short"), because("critical", "pod long", "disk d"),
		because("warning", "volume v", "csi-driver x"),
	) {
		got = append(got, outline(d))
	}
	want := []string{
		"critical: disk d < pod long", "critical: pod short",
		"warning: csi-driver x < volume v", "warning: pod w1", "warning: pod w2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeeperTroublesComeFirst has what nothing links: of one severity, the trouble on which more of the node stands comes first, however long the other
// chains are.
func TestDeeperTroublesComeFirst(t *testing.T) {
	unsure := because("warning", "thread 7/7")
	unsure.Confidence = forensics.Possible
	var got []string
	for _, d := range diagnosed(forensics.NewEvidence(),
		because("warning", "pod p", "volume v"), because("warning", "container c"), unsure,
		because("warning", "subsystem pleg", "runtime r"), because("warning", "limit inotify"),
		because("warning", "superblock 0:46"), because("warning", "path /x"),
		because("critical", "pod worse"),
	) {
		got = append(got, outline(d))
	}
	want := []string{
		"critical: pod worse", "warning: limit inotify", "warning: path /x", "warning: superblock 0:46", "warning: runtime r < subsystem pleg",
		"warning: volume v < pod p", "warning: container c", "warning: thread 7/7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheKernelsVerdictOnAPodIsDeep has a pod that the kernel has killed before a mount, which has lost the server that was in it.
func TestTheKernelsVerdictOnAPodIsDeep(t *testing.T) {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	for id, want := range map[string]string{"kernel-oom": "pod p", "pod-stuck": "superblock 0:46"} {
		list := forensics.Analyze(&e, []forensics.Check{
			report("mount-lost", because("warning", "superblock 0:46")), report(id, because("warning", "pod p")),
		}).Diagnoses
		if got := string(list[0].Root.Kind) + " " + list[0].Root.ID; len(list) != 2 || got != want {
			t.Errorf("%s: first %s of %d, want %s", id, got, len(list), want)
		}
	}
}

func TestADiagnosisSumsUpItsFindings(t *testing.T) {
	early, late := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	step := func(instruction string) forensics.Remedy {
		return forensics.Remedy{Action: "look", Instruction: instruction, Why: "it helps", Risk: "none"}
	}
	symptom := because("critical", "kubelet k", "pod a")
	symptom.Title, symptom.Since, symptom.Pods, symptom.Remedies = "the kubelet stands still", &late, []string{"u1", "u2"}, []forensics.Remedy{step("cordon"), step("both")}
	symptom.Confidence, symptom.ConfidenceWhy = forensics.Likely, "one link was inferred"
	cause := because("warning", "pod a", "disk d")
	cause.Since, cause.Pods, cause.Remedies = &early, []string{"u2", "u3"}, []forensics.Remedy{step("both"), step("look at the disk")}
	list := diagnosed(forensics.NewEvidence(), symptom, cause)
	if len(list) != 1 {
		t.Fatalf("%d diagnoses", len(list))
	}
	d := list[0]
	if d.Title != symptom.Title || d.Confidence != forensics.Likely || d.ConfidenceWhy != symptom.ConfidenceWhy || d.Since == nil || !d.Since.Equal(early) {
		t.Errorf("%q, %s (%s), since %v", d.Title, d.Confidence, d.ConfidenceWhy, d.Since)
	}
	var pods, steps []string
	for _, p := range d.Pods {
		pods = append(pods, p.UID)
	}
	for _, r := range d.Remedies {
		steps = append(steps, r.String())
	}
	slices.Sort(pods)
	if diff := cmp.Diff([]string{"a", "u1", "u2", "u3"}, pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cordon", "both", "look at the disk"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	for _, part := range []string{symptom.Title, "disk d", "pod a", "likely", "cordon"} {
		if !strings.Contains(d.Paragraph, part) {
			t.Errorf("the paragraph does not say %q: %s", part, d.Paragraph)
		}
	}
}

func TestASickNodeIsDiagnosedOnceForEachDeadServer(t *testing.T) {
	e := sickNode(t, 20, 30)
	a := forensics.Analyze(&e, checks.All())
	if len(a.Diagnoses) != 20 {
		t.Fatalf("%d diagnoses, want 20", len(a.Diagnoses))
	}
	want := "critical: superblock 0:100 < mount 100 < thread 9825/20000 < goroutine 117 < subsystem housekeeping < subsystem syncloop < kubelet 9825"
	if got := outline(a.Diagnoses[0]); got != want {
		t.Errorf("the first is\n%s, want\n%s", got, want)
	}
}

// TestDiagnosisIsAsSureAsItsWeakestLink has three findings of one chain: the least sure decides, wherever it stands, and with
// it the reason. One that is less severe takes nothing away.
func TestDiagnosisIsAsSureAsItsWeakestLink(t *testing.T) {
	sure := func(f forensics.Finding, c forensics.Confidence) forensics.Finding {
		f.Confidence, f.ConfidenceWhy = c, "it is "+string(c)
		return f
	}
	link := []forensics.Finding{because("critical", "kubelet k", "pod a"), because("critical", "pod a", "volume v"), because("critical", "volume v")}
	for i := range link {
		for lowest, levels := range map[forensics.Confidence][]forensics.Confidence{
			forensics.Possible: {forensics.Possible, forensics.Likely, forensics.Certain},
			forensics.Likely:   {forensics.Certain, forensics.Likely, forensics.Certain},
			forensics.Certain:  {forensics.Certain, forensics.Certain, forensics.Certain},
		} {
			list := diagnosed(forensics.NewEvidence(), sure(link[0], levels[i]), sure(link[1], levels[(i+1)%3]), sure(link[2], levels[(i+2)%3]),
				sure(because("warning", "pod a", "volume v"), forensics.Possible))
			if len(list) != 1 || list[0].Confidence != lowest || list[0].ConfidenceWhy != "it is "+string(lowest) {
				t.Errorf("%v from %d: %+v", levels, i, list)
			}
		}
	}
}

// TestTheNamedRootCounts: the title names the root, so it is no surer than what was found about that, severe or not.
func TestTheNamedRootCounts(t *testing.T) {
	effect, root := because("critical", "kubelet k", "volume v"), because("warning", "volume v")
	effect.Confidence, root.Confidence = forensics.Certain, forensics.Likely
	root.ConfidenceWhy = "a path fits"
	list := diagnosed(forensics.NewEvidence(), effect, root)
	if len(list) != 1 || list[0].Confidence != forensics.Likely || list[0].ConfidenceWhy != "a path fits" {
		t.Errorf("%+v", list)
	}
}
