package mask

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/testnode"
)

// secretive is a node with forty of everything and a secret in each kind of text.
func secretive() forensics.Evidence {
	e := testnode.Node()
	for _, k := range testnode.Kinds() {
		k.Add(&e, 40)
	}
	for i := range e.Processes {
		e.Processes[i].Command = append(e.Processes[i].Command, fmt.Sprintf("--password=secret%d", i))
	}
	for i := range e.Mounts.Mounts {
		e.Mounts.Mounts[i].SuperOptions += fmt.Sprintf(",password=secret%d", i)
	}
	for i := range e.Logs.Events {
		e.Logs.Events[i].Quotes[0].Text += " token=secretsecret"
	}
	e.Kubelet.Endpoints = append(e.Kubelet.Endpoints, kubelet.Endpoint{Detail: "Authorization: Bearer secretsecret"})
	e.Kubelet.Flags["password"] = "secretsecret"
	e.Coverage[0].Detail = "password=secretsecret"
	return e
}

func TestMaskingInPiecesIsTheSame(t *testing.T) {
	for _, strict := range []bool{false, true} {
		whole, pieces := secretive(), secretive()
		r := redact.New([]byte("key"))
		Part(r, &whole)
		text := r.Text
		if strict {
			text = strictText(r, &whole)
		}
		whole.Redactions = slices.Concat(whole.Redactions, r.Ledger())
		textOfPieces, cut := Until(t.Context(), &pieces, []byte("key"), strict)
		if cut != nil {
			t.Errorf("cut: %v", cut)
		}
		if diff := cmp.Diff(whole, pieces, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("strict %v (-whole +pieces):\n%.3000s", strict, diff)
		}
		const more = "password=secret1 on node-1"
		if a, b := text("x", more), textOfPieces("x", more); a != b || strings.Contains(a, "secret1") {
			t.Errorf("further texts: %q and %q", a, b)
		}
	}
}

// TestWhatIsNotMaskedIsLeftOut ends the context while the processes are being masked, of which the tenth ends it.
func TestWhatIsNotMaskedIsLeftOut(t *testing.T) {
	e := secretive()
	for range 5000 {
		e.Processes = append(e.Processes, procs.Process{PID: 1, Command: []string{"x", "--password=secretsecret"}})
	}
	ctx := &endingContext{Context: t.Context(), pieces: 60}
	_, cut := Until(ctx, &e, []byte("key"), false)
	if cut == nil || !strings.Contains(cut.Error(), "processes") || !strings.Contains(cut.Error(), "logs") || strings.Contains(cut.Error(), "schema") {
		t.Fatalf("cut: %v", cut)
	}
	if n := len(e.Processes); n == 0 || n > 1000 {
		t.Errorf("%d processes are left", n)
	}
	for _, p := range e.Processes {
		if strings.Contains(strings.Join(p.Command, " "), "=secret") {
			t.Fatalf("not masked: %q", p.Command)
		}
	}
	if e.Logs != nil || e.Pods == nil || len(e.Pods) > 0 {
		t.Errorf("not masked and there: %v, %d pods", e.Logs, len(e.Pods))
	}
	if last := e.Coverage[len(e.Coverage)-1]; last.Detail != cut.Error() || last.Status != forensics.SourceTruncated {
		t.Errorf("coverage ends in %+v", last)
	}
	e = secretive()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	text, cut := Until(over, &e, nil, true)
	if len(e.Processes) > 0 || e.Node.Name != "" || cut == nil || text("x", "password=secret1 on node-1") != "" {
		t.Errorf("strict and without time: %d processes of %q, cut %v", len(e.Processes), e.Node.Name, cut)
	}
	if words := []string{"password=x"}; StringsUntil(over, &words, "x", text) || words[0] != "password=x" {
		t.Error("masked without time")
	}
}

// An endingContext is over when it has been asked so many times.
type endingContext struct {
	context.Context
	pieces int
}

func (c *endingContext) Err() error {
	if c.pieces--; c.pieces < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
