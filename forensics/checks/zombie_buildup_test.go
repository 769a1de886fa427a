package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("zombie-buildup", zombieBuildupScenarios())

func zombieBuildupScenarios() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "a hundred of one parent", base: wellNode, change: zombies(100), want: []string{"warning process 4000"}, says: "of pod default/web"},
		{name: "a few", base: wellNode, change: zombies(20), outcome: clean},
		{name: "of a parent that is not seen", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			zombies(150)(tb, e)
			for i := range e.Processes {
				e.Processes[i].PPID = 0
			}
		}, outcome: forensics.OutcomeNotChecked},
		{name: "of different parents", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			zombies(150)(tb, e)
			for i := range e.Processes {
				e.Processes[i].PPID = i
			}
		}, outcome: clean},
	}
}
