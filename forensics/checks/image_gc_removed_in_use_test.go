package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("image-gc-removed-in-use", imageGcRemovedInUseInLogs())

func imageGcRemovedInUseInLogs() []scenario {
	clean := forensics.OutcomeClean
	removed := event(logs.KindImageRemoved, 1, "10:05:20", "10:05:20", logs.Subject{Image: "sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55"})
	pull := logs.Subject{PodUID: liveUID, PodName: "default/web", Image: "registry.local/app:1.0", Code: "ErrImageNeverPull", Reason: "image is not present with pull policy of Never"}
	return []scenario{
		{name: "a pod that must not pull", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "registry.local/app:1.0 cannot be pulled"},
		{name: "and which pods wait for it", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), want: []string{"warning subsystem image-gc"}, says: "default/web"},
		{name: "a removal alone", base: wellNode, change: tells(removed), want: []string{"info subsystem image-gc"}, says: "must be loaded again by an operator"},
		{
			name: "a threshold far below the default", base: wellNode, change: both(disk(50, settings(eviction.Settings{Minor: 34, HighPercent: ptr(2), LowPercent: ptr(1)})), tells(removed)),
			want: []string{"info subsystem image-gc"}, says: "Image garbage collection starts at 2 % disk usage (imageGCHighThresholdPercent: 2): unused images are removed",
		},
		{name: "a pull that failed before", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:01:00", "10:02:00", pull)), want: []string{"info subsystem image-gc"}},
		{name: "a name that the registry does not know", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
			logs.Subject{Image: "nginx:9.99", Code: "NotFound", Reason: "manifest unknown"})), want: []string{"info subsystem image-gc"}},
		{name: "a registry that does not answer", base: wellNode, change: tells(removed, event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00",
			logs.Subject{Image: "registry.local/app:1.0", Code: "Unknown", Reason: "dial tcp 10.0.0.9:443: i/o timeout"})), want: []string{"warning subsystem image-gc"}, says: "7 pulls failed"},
		{name: "a pull that fails, and nothing was removed", base: wellNode, change: tells(event(logs.KindImagePullFailed, 7, "10:06:00", "10:12:00", pull)), outcome: clean},
	}
}

// TestImagesAtRisk and the next one hold to a positive and near misses what stands under ids of checks that rest on logs.
func TestImagesAtRisk(t *testing.T) {
	const app = "registry.local/app:1.0"
	for _, tt := range []scenario{
		{name: "a static pod must not pull it", change: static(app, "Never", disk(16), image(app)), want: []string{"warning subsystem image-gc"}, says: app + " (imagePullPolicy Never)"},
		{name: "a registry may have it", change: static(app, "IfNotPresent", disk(16), image(app)), want: []string{"info subsystem image-gc"}},
		{name: "a container has it", change: static(app, "Never", disk(16), image(app, used))},
		{name: "pinned", change: static(app, "Never", disk(16), image(app, pinned))},
		{name: "nothing is about to be deleted", change: static(app, "Never", disk(50), image(app))},
		{name: "another pod's image", change: static("registry.local/other:1", "Never", disk(16), image(app))},
		{name: "missing already, says a dump of the API", change: daemon("node-1", "a:1", "ErrImageNeverPull"), want: []string{"warning subsystem image-gc"}, says: "a:1 (ErrImageNeverPull)"},
		{name: "missing on another node", change: daemon("node-2", "a:1", "ErrImageNeverPull")},
		{name: "there, and its container waits for something else", change: daemon("node-1", "b:1", "ContainerCreating")},
		{name: "images were not read", change: func(tb testing.TB, e *forensics.Evidence) {
			daemon("node-1", "a:1", "ErrImageNeverPull")(tb, e)
			e.Cover(forensics.Source{Source: forensics.SourceRuntime, Status: forensics.SourceDenied})
		}},
		{name: "short names", change: static("busybox", "Never", disk(16), image("docker.io/library/busybox:latest")), want: []string{"warning subsystem image-gc"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.base = wellNode; tt.run(t, local(imagesAtRisk)) })
	}
}
