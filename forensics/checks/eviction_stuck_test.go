package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("eviction-stuck", evictionStuckInLogs())

func evictionStuckInLogs() []scenario {
	clean := forensics.OutcomeClean
	removed := event(logs.KindImageRemoved, 1, "10:05:20", "10:05:20", logs.Subject{Image: "sha256:4e13ac714925c6eb8b00e6a968f749e64c490f6969ff515b90fdc4cbb3476c55"})
	critical := event(logs.KindEvictionCritical, 37, "10:05:20", "10:12:25", logs.Subject{PodName: "default/web"})
	reclaim := event(logs.KindEvictionReclaiming, 40, "10:05:10", "10:12:25", logs.Subject{Reason: "ephemeral-storage"})
	return []scenario{
		{name: "only a critical pod", base: wellNode, change: tells(reclaim, critical), want: []string{"warning subsystem eviction"}, says: "remaining pods are critical and cannot be evicted: default/web"},
		{name: "and the pressure", base: wellNode, change: tells(reclaim, critical, removed), want: []string{"warning subsystem eviction"}, says: "tried to reclaim ephemeral-storage 40 times, from 2026-11-20 10:05:10 UTC to 10:12:25 UTC. It removed 1 image."},
		{name: "a victim that stays", base: wellNode, change: tells(event(logs.KindEvictionCleanupTimeout, 3, "10:05:20", "10:12:00", logs.Subject{PodName: "default/web"})), want: []string{"warning subsystem eviction"}, says: "could not remove default/web (" + liveUID + ") in time"},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindEvictionCritical, 37, "09:35:20", "09:42:25", logs.Subject{PodName: "default/web"})), want: []string{"info subsystem eviction"}},
		{name: "no pod was found twice", base: wellNode, change: tells(event(logs.KindEvictionNone, 2, "10:12:15", "10:12:25", logs.Subject{})), outcome: clean},
		{name: "no pod was found three times", base: wellNode, change: tells(event(logs.KindEvictionNone, 3, "10:12:05", "10:12:25", logs.Subject{})), want: []string{"warning subsystem eviction"}},
		{name: "one pod could not be killed", base: wellNode, change: tells(event(logs.KindEvictionFailed, 1, "10:12:25", "10:12:25", logs.Subject{PodName: "default/web"})), want: []string{"warning subsystem eviction"}},
		{name: "no pod was found once", base: wellNode, change: tells(event(logs.KindEvictionNone, 1, "10:12:25", "10:12:25", logs.Subject{})), outcome: clean},
		{name: "an eviction that helped", base: wellNode, change: tells(reclaim, event(logs.KindEvictionEvicted, 1, "10:05:30", "10:05:30", logs.Subject{PodName: "default/db"})), outcome: clean},
	}
}
