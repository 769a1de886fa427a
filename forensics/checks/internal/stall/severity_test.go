package stall

import (
	"testing"
)

// What concerns the whole runtime is told from what concerns one pod, also where the kubelet asked Docker itself.
func TestQuestionsToTheRuntime(t *testing.T) {
	for call, want := range map[string][2]bool{ // the whole runtime, at once
		"Version": {true, true}, "docker Version": {true, true}, "docker ListContainers": {true, true},
		"ContainerStatus": {false, true}, "docker InspectContainer": {false, true},
		"StopContainer": {false, false}, "docker StopContainer": {false, false},
	} {
		if got := [2]bool{AsksWholeRuntime(call), AnswersAtOnce(call)}; got != want {
			t.Errorf("%s: %v, want %v", call, got, want)
		}
	}
}
