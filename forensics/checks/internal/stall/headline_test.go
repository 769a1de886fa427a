package stall

import "testing"

func TestLockOwner(t *testing.T) {
	for call, want := range map[string]string{
		"github.com/google/cadvisor/manager.(*manager).GetMachineInfo":                    "cAdvisor manager",
		"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod":                           "pod workers",
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncNodeStatus":                         "kubelet",
		"k8s.io/kubernetes/pkg/kubelet/status.(*manager).syncBatch":                       "status manager",
		"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.(*ManagerImpl).Allocate":          "device manager",
		"k8s.io/kubernetes/pkg/kubelet/container.(*runtimeCache).GetPods":                 "runtime cache",
		"k8s.io/kubernetes/pkg/kubelet/volumemanager/cache.(*desiredStateOfWorld).AddPod": "desired state of world",
		"k8s.io/kubernetes/pkg/kubelet/cm.lockAll":                                        "cm.lockAll",
	} {
		if got := LockOwner(Wait{Call: call}); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 1: "1", 999: "999", 1000: "1,000", 5652: "5,652", 1234567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Goroutines(1) + ", " + Goroutines(5652); got != "1 goroutine, 5,652 goroutines" {
		t.Error(got)
	}
}
