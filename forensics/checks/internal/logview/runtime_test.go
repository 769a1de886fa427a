package logview

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// Messages of a runtime that does not answer name the question only where they were an answer to one.
func TestUnansweredQuestion(t *testing.T) {
	for _, tt := range []struct {
		event logs.Event
		call  string
		ok    bool
	}{
		{logs.Event{Kind: logs.KindRuntimeDown}, "", true},
		{logs.Event{Kind: logs.KindSyncLoopSkipped, Subject: logs.Subject{Reason: "container runtime is down"}}, "", true},
		{logs.Event{Kind: logs.KindSyncLoopSkipped, Subject: logs.Subject{Reason: "PLEG is not healthy"}}, "", false},
		{logs.Event{Kind: logs.KindPLEGRelistFailed, Subject: logs.Subject{Code: "DeadlineExceeded"}}, "", true},
		{logs.Event{Kind: logs.KindRuntimeCallFailed, Subject: logs.Subject{Reason: "ListPodSandbox: it broke", Code: "DeadlineExceeded"}}, "ListPodSandbox", true},
		{logs.Event{Kind: logs.KindRuntimeCallFailed, Subject: logs.Subject{Reason: "PullImage from a registry", Code: "DeadlineExceeded"}}, "PullImage", false},
	} {
		if call, ok := unansweredIn(tt.event); call != tt.call || ok != tt.ok {
			t.Errorf("%+v: %q, %t; want %q, %t", tt.event, call, ok, tt.call, tt.ok)
		}
	}
}
