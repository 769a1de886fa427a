package kubectl

import (
	"strings"
	"testing"
)

func TestHearsay(t *testing.T) {
	for _, c := range []struct{ name, text, reason string }{
		{"a runtime", "Hi,\ndocker ps hangs on one node.\n", runtimeSilent},
		{"a container", "Hi,\ndocker stop 4f2a never returns.\n", stopSilent},
		{"a pod", "Hi,\nall my pods are stuck in Terminating.\n", StuckTerminating},
		{"a pod that has time left", "All my pods are stuck in Terminating. The grace period is an hour.\n", ""},
		{"a pod beside what a program has written", "All my pods are stuck in Terminating.\n# kubectl get pods\n", ""},
		{"what may be", "Why do pods hang in Terminating?\nPods can be stuck in Terminating if the node is lost.\n", ""},
		{"a document", "Runbook: docker ps hangs\n", ""},
		{"files", "df hangs\n", ""}, // which are no matter of an event
	} {
		got := string(Hearsay([]byte(c.text)))
		if (got != "") != (c.reason != "") || !strings.Contains(got, `"reason":"`+c.reason) && c.reason != "" {
			t.Errorf("%s: %s", c.name, got)
		}
		if got != "" && strings.Count(got, "\n") != strings.Count(c.text, "\n") {
			t.Errorf("%s: %d lines", c.name, strings.Count(got, "\n"))
		}
	}
}
