package checks

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = scenariosOf("image-gc-failing", imageGcFailingInLogs())

func imageGcFailingInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "too little to free", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:50:00", "10:10:00", logs.Subject{Reason: "attempted to free 9 bytes, but only found 0 bytes eligible to free"})),
			want: []string{"warning subsystem image-gc"}, says: "The disk is not full of unused images",
		},
		{
			name: "the runtime does not answer", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "10:09:00", "10:12:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded")), event(logs.KindRuntimeDown, 9, "10:09:00", "10:12:20", down)),
			want: []string{"warning subsystem image-gc"}, says: "cannot query the container runtime",
		},
		{
			name: "a threshold that the log shows far below the default", base: wellNode,
			change: tells(event("image-gc", 3, "09:50:00", "10:10:00", logs.Subject{Reason: "2"}), event(logs.KindImageGCFailed, 4, "09:50:00", "10:10:00", logs.Subject{Reason: "attempted to free 9 bytes, but only found 0 bytes eligible to free"})),
			want:   []string{"warning subsystem image-gc"}, says: "Image garbage collection starts at 2 % disk usage (imageGCHighThresholdPercent: 2) and fails",
		},
		{name: "once at the start", base: wellNode, change: tells(event(logs.KindImageGCFailed, 1, "10:11:00", "10:11:00", logs.Subject{Code: "once"})), outcome: clean},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:31:30", "09:50:00", logs.Subject{})), outcome: clean},
	}
}

func TestImageGCTooLittle(t *testing.T) {
	assumed := func(d *eviction.State) { d.Assumed = "/k.conf could not be read" }
	few := func(images ...runtimes.Image) change {
		return func(tb testing.TB, e *forensics.Evidence) {
			disk(14)(tb, e) // 86 % used: down to 80 %, 6 GiB have to go
			e.Images = images
		}
	}
	for _, tt := range []scenario{
		{name: "unused images are too small", change: few(image("a"), image("b", used), image("c", pinned)), want: []string{"warning subsystem image-gc"}, says: "cannot free 6.0 GiB: unused images use 2.0 GiB"},
		{
			name: "a threshold far below the default", change: disk(50, settings(eviction.Settings{Minor: 34, HighPercent: ptr(2), LowPercent: ptr(1)})), want: []string{"warning subsystem image-gc"},
			says: "Image garbage collection starts at 2 % disk usage (imageGCHighThresholdPercent: 2): it cannot free 49.0 GiB",
		},
		{name: "there is enough", change: few(image("a"), image("b"), image("c"))},
		{name: "a size is unknown", change: few(image("a", func(i *runtimes.Image) { i.SizeBytes = nil })), outcome: forensics.OutcomeNotChecked},
		{name: "below the threshold", change: disk(16), outcome: forensics.OutcomeClean},
		{name: "below one that is only assumed", change: func(tb testing.TB, e *forensics.Evidence) {
			disk(16, assumed)(tb, e)
			e.Logs = nil
			e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceLogs })
		}, outcome: forensics.OutcomeNotChecked},
		{name: "below one that is only assumed, and the log tells of no trouble", change: disk(16, assumed), outcome: forensics.OutcomeClean},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.base = wellNode; tt.run(t, local(imageGCTooLittle)) })
	}
}
