package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func imageGcRemovedInUseInLogs() []scenario {
	clean := forensics.OutcomeClean
	removed := event(logs.KindImageRemoved, 1, "10:05:20", "10:05:20", logs.Subject{Image: "sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55"})
	pull := logs.Subject{PodUID: liveUID, PodName: "default/web", Image: "registry.local/app:1.0", Code: "ErrImageNeverPull", Reason: "image is not present with pull policy of Never"}
	return []scenario{
		{name: "a pod that must not pull", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "registry.local/app:1.0 cannot be pulled"},
		{name: "and which pods wait for it", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "default/web"},
		{name: "a removal alone", base: wellNode, change: tells(removed), want: []string{"info subsystem image-gc"}, says: "comes back by hand only"},
		{name: "a pull that failed before", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:01:00", "10:02:00", pull)), want: []string{"info subsystem image-gc"}},
		{name: "a name that the registry does not know", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
			logs.Subject{Image: "nginx:9.99", Code: "NotFound", Reason: "manifest unknown"})), want: []string{"info subsystem image-gc"}},
		{name: "a registry that does not answer", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
			logs.Subject{Image: "registry.local/app:1.0", Code: "Unknown", Reason: "dial tcp 10.0.0.9:443: i/o timeout"})), want: []string{"warning subsystem image-gc"}, says: "7 pulls failed"},
		{name: "a pull that fails, and nothing was removed", base: wellNode, change: tells(event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), outcome: clean},
	}
}
