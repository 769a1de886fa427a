package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var _ = scenariosOf("pod-orphaned", podOrphanedInLogs())

func podOrphanedInLogs() []scenario {
	clean := forensics.OutcomeClean
	return []scenario{
		{
			name: "the log alone", base: wellNode, change: both(tells(numbered(event(logs.KindOrphan, 900, "09:31:00", "10:12:28", logs.Subject{PodUID: deadUID, Reason: "volume paths are still present on disk"}), 3)), logAlone),
			want: []string{"warning pod " + deadUID}, says: "The kubelet counts 3 orphaned pods and names only the first. Each round names the same pod",
		},
		{
			name: "pods that come and go", base: wellNode, change: both(tells(
				numbered(event(logs.KindOrphan, 9, "10:11:00", "10:12:20", logs.Subject{PodUID: deadUID}), 2),
				numbered(event(logs.KindOrphan, 9, "10:12:21", "10:12:28", logs.Subject{PodUID: "11111111-2222-3333-4444-555555555555"}), 2)), logAlone),
			want: []string{"warning pod " + deadUID}, says: "changes (2 pods so far), so orphaned pods come and go",
		},
		{
			name: "the directory and the log", base: sickNode, change: both(unmounted, tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:20", logs.Subject{PodUID: deadUID, Reason: "directory not empty"}))),
			want: []string{"warning pod " + deadUID}, says: "The directory contains data",
		},
		{
			name: "said up to where the loop fell silent", base: wellNode, change: both(silentSince("10:00:10", 900), tells(event(logs.KindOrphan, 9, "09:31:00", "10:00:09", logs.Subject{PodUID: deadUID})), logAlone),
			want: []string{"warning pod " + deadUID},
		},
		{
			name: "mounts, and no list of pods", base: sickNode, change: both(tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:28", logs.Subject{PodUID: deadUID, Reason: "volume paths are still present on disk"})), func(_ testing.TB, e *forensics.Evidence) {
				e.Pods = nil
				e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceTimeout})
			}),
			outcome: clean, // it is pod-orphaned-mounted
		},
		{
			name: "only the log shows the directory, and the pod is in no list", base: sickNode, change: both(unmounted, tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:28", logs.Subject{PodUID: deadUID, Reason: "directory not empty"})), func(_ testing.TB, e *forensics.Evidence) {
				e.PodDirs = e.PodDirs[:1]
			}),
			want: []string{"warning pod " + deadUID}, says: "no longer exists",
		},
		{name: "it is over", base: wellNode, change: tells(event(logs.KindOrphan, 9, "09:31:00", "09:40:00", logs.Subject{PodUID: deadUID})), outcome: clean},
		{name: "the pod lives", base: wellNode, change: tells(event(logs.KindOrphan, 9, "09:31:00", "10:12:28", logs.Subject{PodUID: liveUID})), outcome: clean},
	}
}
