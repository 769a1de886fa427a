package main

import (
	"strings"
	"testing"
)

func TestAMachineThatIsNoNode(t *testing.T) {
	if !onNode(t) {
		return
	}
	const says = "No kubelet runs here, and nothing says that one should.\n"
	o := examine(t, exitDone, "--no-probe")
	if k := o.report(t).Evidence.Kubelet; k != nil && k.Expected != "" {
		t.Skip("this machine has a kubelet: " + k.Expected)
	}
	if !strings.Contains(o.stdout, says) || !strings.Contains(o.stdout, "nodeforensics analyze FILE…\n") || !strings.Contains(o.stdout, "nodeforensics --root DIR\n") {
		t.Errorf("it is not said: %s", o.stdout)
	}
	if o := finish(t, command(t, "--no-probe", "-o", "json")); strings.Contains(o.stdout, says) || !strings.Contains(o.stderr, says) {
		t.Errorf("beside JSON: %s", o.stderr)
	}
	startKubelet(t, t.TempDir())
	if o := examine(t, exitDone, "--no-probe"); strings.Contains(o.stdout, says) {
		t.Errorf("it is said of a node: %s", o.stdout)
	}
}
