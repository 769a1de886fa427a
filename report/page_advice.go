package report

import (
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// advice is a common reaction to a problem that makes it worse.
type advice struct {
	Command string // not to run; empty where it is no command
	Not     string
	Because string
}

// newAdvice lists what makes the problem of a diagnosis worse. The reasons are those of the kernel (umount2(2), fuse(4)) and of the
// kubelet's clean-up, pkg/kubelet/kubelet_volumes.go.
func newAdvice(r Report, d forensics.Diagnosis) (list []advice) {
	stuck := has(d, forensics.KindThread, forensics.KindGoroutine)
	hung := stuck && has(d, forensics.KindMount, forensics.KindSuperblock) || hangs(r, d)
	if leftover(r, d) {
		list = append(list, advice{
			"rm -rf", "below a pod directory", "A volume can still be mounted there, in this or in another mount namespace. Then rm deletes the data " +
				"on the server. Remove a directory that is proven empty and unmounted with rmdir: it cannot delete data.",
		})
	}
	if hung {
		list = append(list,
			advice{
				"df, ls, find, lsof, stat", "on the hung mount", "They block on the same server, and SIGKILL does not always " +
					"end them. The mount table is safe to read: /proc/self/mountinfo.",
			},
			advice{
				"umount -l", "as the first step", "It only removes the mount from the mount table. Blocked threads remain blocked. First abort " +
					"the connection or restore the server, then detach.",
			})
	}
	if stuck && has(d, forensics.KindKubelet, forensics.KindSubsystem) && !warnsOfRestart(d) {
		list = append(list, advice{
			"", "Restart the kubelet first", "The new process blocks in the same place, and the evidence in the goroutines of the old process is " +
				"lost. File servers in its cgroup (ceph-fuse, glusterfs) end with it.",
		})
	}
	if slices.ContainsFunc(d.Pods, func(p forensics.AffectedPod) bool {
		return p.State == forensics.PodTerminating || hung && p.State != forensics.PodOrphaned && p.State != forensics.PodLikelyOrphaned
	}) {
		list = append(list, advice{
			"kubectl delete pod --force", "", "It only removes the API object. The node still uses the volume, so a replacement pod on another " +
				"node can write to it at the same time.",
		})
	}
	return list
}

// hangs says whether the chain goes through a mount that does not respond.
func hangs(r Report, d forensics.Diagnosis) bool {
	return slices.ContainsFunc(r.MountHealth, func(h mounts.Health) bool {
		return h.Status == mounts.StatusHung && slices.ContainsFunc(d.Chain, func(l forensics.Link) bool {
			return l.Kind == forensics.KindSuperblock && l.ID == h.Device || l.Kind == forensics.KindMount && l.ID == strconv.Itoa(h.MountID)
		})
	})
}

// has says whether a chain goes through an entity of one of the kinds.
func has(d forensics.Diagnosis, kinds ...forensics.Kind) bool {
	return slices.ContainsFunc(d.Chain, func(l forensics.Link) bool { return slices.Contains(kinds, l.Kind) })
}

// warnsOfRestart says whether a step of the diagnosis is to leave the kubelet running.
func warnsOfRestart(d forensics.Diagnosis) bool {
	return slices.ContainsFunc(d.Remedies, func(r forensics.Remedy) bool {
		return r.Action == "no-restart"
	})
}
