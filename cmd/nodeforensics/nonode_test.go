package main

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func TestIsNoNode(t *testing.T) {
	t.Parallel()
	sources := func(processes, of forensics.SourceStatus) []forensics.Source {
		return []forensics.Source{{Source: forensics.SourceProcesses, Status: processes}, {Source: forensics.SourceKubelet, Status: of}}
	}
	none := sources(forensics.SourceRead, forensics.SourceAbsent)
	for name, tt := range map[string]struct {
		e    forensics.Evidence
		want bool
	}{
		"nothing of a kubelet":      {forensics.Evidence{Coverage: none}, true},
		"an empty directory of one": {forensics.Evidence{Coverage: sources(forensics.SourceRead, forensics.SourceRead), Kubelet: &kubelet.Instance{RootDir: "/var/lib/kubelet"}}, true},
		"a kubelet":                 {forensics.Evidence{Coverage: none, Kubelet: &kubelet.Instance{PID: 7}}, false},
		"a unit":                    {forensics.Evidence{Coverage: none, Kubelet: &kubelet.Instance{Expected: "unit"}}, false},
		"one that is not believed":  {forensics.Evidence{Coverage: none, Kubelet: &kubelet.Instance{Impostors: []kubelet.Impostor{{PID: 7}}}}, false},
		"a directory of a pod":      {forensics.Evidence{Coverage: none, PodDirs: []kubelet.PodDir{{}}}, false},
		"a process of a pod":        {forensics.Evidence{Coverage: none, Processes: []procs.Process{{PodUID: "5c94cb01"}}}, false},
		"processes not read":        {forensics.Evidence{Coverage: sources(forensics.SourceTruncated, forensics.SourceAbsent)}, false},
		"it was not looked for":     {forensics.Evidence{Coverage: none[:1]}, false},
		"nothing was collected":     {forensics.Evidence{}, false},
	} {
		if got := isNoNode(&tt.e); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
