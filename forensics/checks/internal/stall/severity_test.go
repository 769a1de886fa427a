package stall

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// What concerns the whole runtime is told from what concerns one pod.
func TestQuestionsToTheRuntime(t *testing.T) {
	for call, want := range map[string][2]bool{ // the whole runtime, at once
		"Version": {true, true}, "ContainerStatus": {false, true}, "InspectContainer": {false, true}, "StopContainer": {false, false},
	} {
		if got := [2]bool{AsksWholeRuntime(call), AnswersAtOnce(call)}; got != want {
			t.Errorf("%s: %v, want %v", call, got, want)
		}
	}
}

// A question that the kubelet asks Docker itself is judged as the same one to another runtime, and named as Docker's.
func TestQuestionsToDocker(t *testing.T) {
	w := remoteWait(goroutines.Goroutine{State: "select", Frames: []goroutines.Frame{
		{Func: "k8s.io/kubernetes/pkg/kubelet/dockershim/libdocker.(*kubeDockerClient).ListContainers"},
	}})
	if w.Kind != WaitRuntime || !AsksWholeRuntime(w.Call) || w.question() != "docker ListContainers" {
		t.Errorf("%+v, a question called %s", w, w.question())
	}
}
