package forensics_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestBadRemedies: a check whose step says nothing to do, or two things, or has an action that there is not, is broken.
func TestBadRemedies(t *testing.T) {
	for name, tt := range map[string]struct {
		remedy forensics.Remedy
		want   forensics.OutcomeStatus
	}{
		"a command":             {forensics.Remedy{Action: "stop", Command: []string{"kill", "7"}}, forensics.OutcomeFound},
		"an instruction":        {forensics.Remedy{Action: "wait", Instruction: "Wait."}, forensics.OutcomeFound},
		"both":                  {forensics.Remedy{Action: "stop", Command: []string{"kill", "7"}, Instruction: "Kill it."}, forensics.OutcomeFailed},
		"neither":               {forensics.Remedy{Action: "stop", Why: "it helps"}, forensics.OutcomeFailed},
		"no program":            {forensics.Remedy{Action: "stop", Command: []string{"", "7"}}, forensics.OutcomeFailed},
		"no action":             {forensics.Remedy{Command: []string{"kill", "7"}}, forensics.OutcomeFailed},
		"an action unheard of":  {forensics.Remedy{Action: "reboot", Command: []string{"reboot"}}, forensics.OutcomeFailed},
		"an action with a typo": {forensics.Remedy{Action: "Look", Command: []string{"ls"}}, forensics.OutcomeFailed},
	} {
		e := forensics.NewEvidence()
		check := forensics.Check{ID: "x", Severity: forensics.Warning, Run: func(p *forensics.Pass) {
			p.Report(forensics.Finding{Severity: forensics.Info, Remedies: []forensics.Remedy{{Action: "look", Instruction: "Look."}, tt.remedy}})
		}}
		a := forensics.Analyze(&e, []forensics.Check{check})
		if got := a.Outcomes[0]; got.Status != tt.want || tt.want == forensics.OutcomeFailed && (got.Reason == "" || len(a.Findings) > 0) {
			t.Errorf("%s: %+v with %d findings, want %s", name, got, len(a.Findings), tt.want)
		}
	}
}

// TestRemedyOfV1 reads what reports of v1 have, and what those of today have.
func TestRemedyOfV1(t *testing.T) {
	for text, want := range map[string]forensics.Remedy{
		`{"command":"kill 7; kill 8","why":"w","precondition":"p","risk":"r"}`: {Instruction: "kill 7; kill 8", Why: "w", OnlyIf: "p", Risk: "r"},
		`{"command":"Wait","why":"w","risk":"r"}`:                              {Instruction: "Wait", Why: "w", Risk: "r"},
		`{"action":"stop","command":["kill","7"],"why":"w","only_if":"p","risk":"r"}`: {
			Action: "stop", Command: []string{"kill", "7"}, Why: "w", OnlyIf: "p", Risk: "r",
		},
		`{"action":"wait","instruction":"Wait","why":"w","risk":"r"}`: {Action: "wait", Instruction: "Wait", Why: "w", Risk: "r"},
		`{"command":null}`: {},
	} {
		got := forensics.Remedy{Why: "left from before"}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{`{"command":7}`, `{"command":{}}`, `{"command":[7]}`, `{"precondition":[]}`, `7`} {
		if err := json.Unmarshal([]byte(text), new(forensics.Remedy)); err == nil {
			t.Errorf("%s is read as a remedy", text)
		}
	}
}

// TestRemedyAsText quotes for a shell, and leaves sentences alone.
func TestRemedyAsText(t *testing.T) {
	for want, r := range map[string]forensics.Remedy{
		"umount -c '/a b'":           {Command: []string{"umount", "-c", "/a b"}},
		"sh -c 'echo 1 > /x'":        {Command: []string{"sh", "-c", "echo 1 > /x"}},
		"Find out who's there, then": {Instruction: "Find out who's there, then"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOrderOfSteps: what several findings say to do is told once, and in the order of what it does to the node, whatever it is called.
func TestOrderOfSteps(t *testing.T) {
	step := func(action forensics.Action, command ...string) forensics.Remedy {
		return forensics.Remedy{Action: action, Command: command, Why: "it helps", Risk: "none"}
	}
	first, second := because("critical", "kubelet k", "pod a"), because("warning", "pod a")
	first.Remedies = []forensics.Remedy{
		step("clean-up", "plan"), step("detach", "umount", "-l", "/a"), step("unmount", "umount", "-f", "/a"), step("abort", "umount", "-f", "/a"),
		step("end-namespace", "kill", "7"), step("stop", "kill", "7"),
	}
	second.Remedies = []forensics.Remedy{step("stop", "kill", "7"), step("stop", "kill 7"), step("look", "ls")}
	var got []string
	for _, r := range diagnosed(forensics.NewEvidence(), first, second)[0].Remedies {
		got = append(got, string(r.Action)+" "+r.String())
	}
	want := []string{
		"abort umount -f /a", "stop kill 7", "stop 'kill 7'", "look ls", "unmount umount -f /a", "detach umount -l /a", "end-namespace kill 7", "clean-up plan",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
