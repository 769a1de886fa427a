package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

func diskNearThresholdOnDisks() []scenario {
	return []scenario{
		{name: "near", base: wellNode, change: disk(19), want: []string{"info disk 254:0"}, says: "4.0 % of its size away from the hard eviction threshold imagefs.available<15%"},
		{name: "very near", base: wellNode, change: disk(16), want: []string{"warning disk 254:0"}, says: "begins at 85 % usage and frees down to 80 %; it is at 84 %"},
		{name: "past it is disk-pressure", base: wellNode, change: disk(14), outcome: forensics.OutcomeClean},
		{name: "far", base: wellNode, change: disk(20), outcome: forensics.OutcomeClean},
		{
			name: "one key drops the others", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, EvictionHard: map[string]string{"memory.available": "1Gi"}})),
			want: []string{"warning subsystem eviction"}, says: "switches off the defaults of the others",
		},
		{
			name: "collection after eviction", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, HighPercent: ptr(90), LowPercent: ptr(80)})),
			want: []string{"info subsystem eviction"}, says: "eviction comes first",
		},
		{
			name: "a percentage that never triggers", base: wellNode, change: disk(50, settings(eviction.Settings{
				Minor: 34, MergeDefaults: true, EvictionHard: map[string]string{"nodefs.available": "0%"},
			})), want: []string{"info subsystem eviction"}, says: "the kubelet ignores 0%",
		},
		{name: "what k3s sets is no mistake", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, Program: "k3s"})), outcome: forensics.OutcomeClean},
	}
}
