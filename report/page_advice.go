package report

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// advice is something that people do in this situation and should not.
type advice struct {
	Command string // what to type not; empty where it is no command
	Not     string
	Because string
}

// newAdvice lists what would make the trouble at hand worse. The reasons are those of the kernel (umount2(2),
// fuse(4)) and of the kubelet's clean-up, pkg/kubelet/kubelet_volumes.go.
func newAdvice(r Report) []advice {
	var hung, kubelet, pods bool
	for _, h := range r.MountHealth {
		hung = hung || h.Status == mounts.StatusHung
	}
	for _, d := range r.Diagnoses {
		pods = pods || len(d.Pods) > 0
		stuck := has(d, forensics.KindThread, forensics.KindGoroutine)
		hung = hung || stuck && has(d, forensics.KindMount, forensics.KindSuperblock)
		kubelet = kubelet || stuck && has(d, forensics.KindKubelet, forensics.KindSubsystem) && !warnsOfRestart(d)
	}
	if len(r.Diagnoses) == 0 && !hung {
		return nil
	}
	list := []advice{{
		"rm -rf", "below a pod directory", "Where a volume is still mounted, in this or in another mount namespace, that deletes " +
			"the data on the server. A directory that is proven empty and unmounted is removed with rmdir, which cannot do that.",
	}}
	if hung {
		list = append(list,
			advice{
				"df, ls, find, lsof, stat", "on the dead mount", "They wait for the same server, and a SIGKILL does not always " +
					"end them. The mount table is safe to read: /proc/self/mountinfo.",
			},
			advice{
				"umount -l", "as the first step", "It hides the mount from the mount table and helps nobody who already waits: " +
					"the stuck threads stay stuck. First abort or revive the connection, then detach.",
			})
	}
	if kubelet {
		list = append(list, advice{
			"", "Restart the kubelet first", "The new one runs into the same wait, what the old one's goroutines prove is " +
				"lost, and file servers that run in its cgroup (ceph-fuse, glusterfs) die with it.",
		})
	}
	if pods {
		list = append(list, advice{
			"kubectl delete pod --force", "", "That only removes the object in the API. The node still holds the volume, so a " +
				"replacement elsewhere may write to it at the same time.",
		})
	}
	return list
}

// has says whether a chain goes through an entity of one of the kinds.
func has(d forensics.Diagnosis, kinds ...forensics.Kind) bool {
	return slices.ContainsFunc(d.Chain, func(l forensics.Link) bool { return slices.Contains(kinds, l.Kind) })
}

// warnsOfRestart says whether the steps of a diagnosis say already not to restart the kubelet.
func warnsOfRestart(d forensics.Diagnosis) bool {
	return slices.ContainsFunc(d.Remedies, func(r forensics.Remedy) bool {
		return r.Action == "no-restart"
	})
}
