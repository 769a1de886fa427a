package checks

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// TestAStoppedKubeletOfAListing: a process of a pod can have the name of the kubelet, too.
func TestAStoppedKubeletOfAListing(t *testing.T) {
	text := "# ps -eo pid,ppid,stat,cmd\n   1822       1 Tsl  /usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n"
	all, _ := read.Files(t.Context(), read.Options{}, read.FSFile(fstest.MapFS{"ps.txt": {Data: []byte(text)}}, "ps.txt"))
	f, ok := findingOf(forensics.Analyze(&all[0], All()), "kubelet-not-running")
	if !ok || f.Confidence != forensics.Likely || len(f.Remedies) != 1 || !strings.HasPrefix(f.Remedies[0].OnlyIf, "/proc/1822/exe is the kubelet") {
		t.Errorf("%+v", f)
	}
}

// TestNotReadIsNotJudged: what only the cgroups, or a unit that is enabled, show says nothing about processes that were not read.
func TestNotReadIsNotJudged(t *testing.T) {
	for _, check := range []string{"kubelet-not-running", "container-unkillable"} {
		e := wellNode(t)
		gone("kubelet.service is enabled")(t, &e)
		e.Collector.PID = 4711
		e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceProcesses })
		for _, source := range []string{forensics.SourceKubelet, forensics.SourceCgroups} {
			e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
		}
		a := forensics.Analyze(&e, []forensics.Check{checkOf(t, check)})
		if len(a.Findings) > 0 || a.Outcomes[0].Status != forensics.OutcomeNotChecked || !strings.Contains(a.Outcomes[0].Reason, "processes") {
			t.Errorf("%s: %+v, %+v", check, a.Outcomes, a.Findings)
		}
	}
}

func checkOf(t *testing.T, id string) forensics.Check {
	t.Helper()
	list := All()
	i := slices.IndexFunc(list, func(c forensics.Check) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %q", id)
	}
	return list[i]
}
