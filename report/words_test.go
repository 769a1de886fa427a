package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func TestEscapeMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"plain words, (brackets) and 1.17.4":     "plain words, (brackets) and 1.17.4",
		"request_wait_answer":                    "request_wait_answer",
		"_emphasis_ and *more*":                  `\_emphasis\_ and \*more\*`,
		"`code`":                                 "\\`code\\`",
		"[text](https://x)":                      `\[text\](https&#58;//x)`,
		"<b>&amp;":                               `\<b\>\&amp;`,
		"@everyone #12 !7":                       `\@everyone \#12 \!7`,
		"a|b~c~":                                 `a\|b\~c\~`,
		`C:\dir`:                                 `C:\\dir`,
		"&#58;//":                                `\&\#58;//`,
		"10.0.0.5:6789:/k8s":                     "10.0.0.5:6789:/k8s",
		"/pods/x/volumes/kubernetes.io~csi/data": `/pods/x/volumes/kubernetes.io\~csi/data`,
	} {
		if got := escapeMarkdown(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownCodeBlockCannotBeLeft(t *testing.T) {
	got := markdownStyle{}.command(12, forensics.Remedy{Instruction: "echo '```'\n# heading"})
	want := "12. ````sh\n    echo '```'\n    # heading\n    ````\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProseSetsPathsApart(t *testing.T) {
	got := prose(`thread 1/2 is in stat("/var/lib/kubelet/pods/x"), and/or waits for 10.0.0.5:6789:/k8s.`)
	want := []segment{
		{"thread 1/2 is in ", false},
		{`stat("/var/lib/kubelet/pods/x")`, true},
		{", and/or waits for 10.0.0.5:6789:/k8s.", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 pod": count(1, "pod"), "0 pods": count(0, "pod"), "3,000 mounts": count(3000, "mount"),
		"2 directories": count(2, "directory"), "2 processes": count(2, "process"), "-1,234": grouped(-1234),
		"999": grouped(999), "1,000,000": grouped(1_000_000), "1.0 KiB": bytesWords(1024), "1,023 B": bytesWords(1023),
		"64.0 MiB": bytesWords(64 << 20),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A status that was added and forgotten here would look like one of which nothing is known.
func TestEveryStatusHasWords(t *testing.T) {
	for _, s := range []mounts.Status{
		mounts.StatusHung, mounts.StatusFrozen, mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError,
	} {
		if _, tone := healthWords(s); tone != toneBad {
			t.Errorf("%s is %s", s, tone)
		}
	}
	if word, tone := healthWords("new-status"); word != "new-status" || tone != toneQuiet {
		t.Errorf("an unknown status is %q, %s", word, tone)
	}
	if _, tone := healthWords(mounts.StatusOK); tone != toneGood {
		t.Errorf("ok is %s", tone)
	}
}

func TestCalmClaimsNoMoreThanWasSeen(t *testing.T) {
	outcomes := func(clean, not int) []forensics.Outcome {
		var list []forensics.Outcome
		for range clean {
			list = append(list, forensics.Outcome{Status: forensics.OutcomeClean})
		}
		for range not {
			list = append(list, forensics.Outcome{Status: forensics.OutcomeNotChecked})
		}
		return list
	}
	late := []mounts.Health{{Status: mounts.StatusUnanswered}}
	for name, c := range map[string]struct {
		r    Report
		want tone
	}{
		"all clean":                  {Report{Outcomes: outcomes(9, 0)}, toneGood},
		"a few not checked":          {Report{Outcomes: outcomes(9, 3)}, toneGood},
		"most not checked":           {Report{Outcomes: outcomes(2, 11)}, toneWarn},
		"a mount owes its answer":    {Report{Outcomes: outcomes(9, 1), MountHealth: late}, toneWarn},
		"nothing checked":            {Report{Outcomes: outcomes(0, 4)}, toneQuiet},
		"no checks at all":           {Report{}, toneQuiet},
		"warnings without diagnosis": {Report{Outcomes: outcomes(9, 0), Findings: []forensics.Finding{{Severity: forensics.Warning}}}, toneWarn},
	} {
		if got := newCalm(c.r).Mark.Tone; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAdviceFitsTheTrouble(t *testing.T) {
	link := func(kinds ...forensics.Kind) (chain []forensics.Link) {
		for _, k := range kinds {
			chain = append(chain, forensics.Link{Kind: k})
		}
		return chain
	}
	stuck := link(forensics.KindGoroutine, forensics.KindSubsystem)
	dead := link(forensics.KindSuperblock, forensics.KindMount, forensics.KindThread)
	onNFS := []forensics.Link{{Kind: forensics.KindSuperblock, ID: "0:50"}, {Kind: forensics.KindPod}}
	for name, c := range map[string]struct {
		chain []forensics.Link
		steps []forensics.Remedy
		pods  []forensics.PodState
		want  []string
	}{
		"kubelet is not running": {link(forensics.KindKubelet), nil, nil, nil},
		"only a dump was given":  {stuck, nil, nil, []string{"Restart the kubelet first"}},
		"dead mount, no kubelet": {dead, nil, nil, []string{"df, ls, find, lsof, stat", "umount -l"}},
		"a mount that hangs":     {onNFS, nil, nil, []string{"df, ls, find, lsof, stat", "umount -l"}},
		"a step says it already": {stuck, []forensics.Remedy{{Action: "no-restart", Instruction: "Leave it"}}, nil, nil},
		"a step that reads so":   {stuck, []forensics.Remedy{{Action: "look", Instruction: "Do not restart the kubelet"}}, nil, []string{"Restart the kubelet first"}},
		"stopped runtime":        {link(forensics.KindRuntime), nil, []forensics.PodState{forensics.PodTerminating}, []string{"kubectl delete pod --force"}},
		"orphaned pods":          {link(forensics.KindPod), nil, []forensics.PodState{forensics.PodOrphaned}, []string{"rm -rf"}},
		"slow mount":             {link(forensics.KindSuperblock), nil, []forensics.PodState{forensics.PodLive}, nil},
	} {
		d := forensics.Diagnosis{Chain: c.chain, Remedies: c.steps}
		if name == "orphaned pods" {
			d.Findings = []int{-1, 7, 0}
		}
		for _, state := range c.pods {
			d.Pods = append(d.Pods, forensics.AffectedPod{State: state})
		}
		r := Report{MountHealth: []mounts.Health{{Device: "0:50", Status: mounts.StatusHung}}, Diagnoses: []forensics.Diagnosis{d}, Findings: []forensics.Finding{{ID: "pod-orphaned"}}}
		var got []string
		for _, a := range newAdvice(r, d) {
			text := a.Command
			if text == "" {
				text = a.Not
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !strings.Contains(string(JSONSchema()), `"no-restart"`) {
		t.Error("no action is called no-restart any more")
	}
}

func TestCapital(t *testing.T) {
	for in, want := range map[string]string{
		"shows whether it runs": "Shows whether it runs", "none: read-only": "None: read-only", "none": "None", "Already": "Already",
		"umount has failed": "umount has failed", "/sys/fs is there": "/sys/fs is there", "vol_data.json is saved": "vol_data.json is saved",
		"": "", "ünder": "ünder", "kubelet 1.14 and newer": "kubelet 1.14 and newer", "SIGKILL ends it": "SIGKILL ends it",
	} {
		if got := capital(in); got != want {
			t.Errorf("capital(%q) is %q, want %q", in, got, want)
		}
	}
}

// TestEdgeOfAProcess has the two things that a process does to a mount: it serves the file system, or it uses the mount.
func TestEdgeOfAProcess(t *testing.T) {
	for effect, want := range map[forensics.Kind]string{forensics.KindSuperblock: "serves", forensics.KindMount: "uses"} {
		if got := edgeWords(forensics.KindProcess, effect); got != want {
			t.Errorf("process to %s: %q, want %q", effect, got, want)
		}
	}
}
