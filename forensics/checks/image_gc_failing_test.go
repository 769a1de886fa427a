package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func imageGcFailingInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "too little to free", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:50:00", "10:10:00", logs.Subject{Reason: "attempted to free 9 bytes, but only found 0 bytes eligible to free"})),
			want: []string{"warning subsystem image-gc"}, says: "are not what fills the disk",
		},
		{
			name: "the runtime does not answer", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "10:09:00", "10:12:00", code(logs.Subject{Reason: "rpc error"}, "DeadlineExceeded")), event(logs.KindRuntimeDown, 9, "10:09:00", "10:12:20", down)),
			want: []string{"warning subsystem image-gc"}, says: "cannot ask the container runtime",
		},
		{name: "once at the start", base: wellNode, change: tells(event(logs.KindImageGCFailed, 1, "10:11:00", "10:11:00", logs.Subject{Code: "once"})), outcome: clean},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindImageGCFailed, 4, "09:31:30", "09:50:00", logs.Subject{})), outcome: clean},
	}
}
