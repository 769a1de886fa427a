package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("disk-deleted-open-files", diskDeletedOpenFilesScenarios())

func diskDeletedOpenFilesScenarios() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{name: "many gigabytes", base: wellNode, change: deleted(2<<30, 1<<30), want: []string{"warning disk 254:0"}, says: "use 3.0 GiB on /"},
		{name: "some", base: wellNode, change: deleted(300 << 20), want: []string{"info disk 254:0"}},
		{name: "a log that was rotated", base: wellNode, change: deleted(10 << 20), outcome: clean},
	}
}
