// Package unmounts finds the mounts that are being unmounted or should be, and the kubelet's unmounts that were refused.
package unmounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A Mount is one that is being unmounted or should be.
type Mount struct {
	Mount    mounts.Mount
	Severity forensics.Severity
	Pod      string // its processes do not count
	By       int    // the process that unmounts it
	Why      string
}

// Mounts lists them, certain ones first, and inner ones before outer ones.
func Mounts(p *forensics.Pass) []Mount {
	list := ofEndingPods(p)
	list = append(list, underWay(p)...)
	list = append(list, unusedStaged(p)...)
	for _, status := range []mounts.Status{mounts.StatusHung, mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError} {
		for _, s := range fsview.Superblocks(p, status) {
			for _, m := range slices.Backward(s.Mounts) {
				if _, here := p.Model.Host().ByID(m.ID); here && m.MountPoint != "/" {
					list = append(list, Mount{Mount: m, Severity: forensics.Info, Why: fmt.Sprintf("its file system is %s", status)})
				}
			}
		}
	}
	return list
}

// RefusedMounts lists the mounts that the kubelet could not unmount by its log. It tries that only when the pod's containers
// have ended, even if other evidence shows the pod as running: a remaining process of the pod then blocks the unmount like any other.
func RefusedMounts(p *forensics.Pass, refused []*Refusal) []Mount {
	var list []Mount
	by := BySubject(p, refused)
	for _, m := range slices.Backward(p.Evidence.Mounts.Mounts) {
		if len(by[forensics.MountEntity(m.ID)]) > 0 {
			list = append(list, Mount{Mount: m, Severity: forensics.Warning, Why: "the kubelet's log shows a refused unmount: target is busy"})
		}
	}
	return list
}

// ofEndingPods lists the mounts of orphaned and terminating pods.
func ofEndingPods(p *forensics.Pass) []Mount {
	var list []Mount
	for _, d := range p.Evidence.PodDirs {
		state, why := p.Model.PodState(d.UID)
		sure := state.Orphaned()
		if (state == forensics.PodUnknown || sure != "" && sure != forensics.Certain) && slices.ContainsFunc(p.Model.PodMounts(d.UID), func(m mounts.Mount) bool { return inUse(p, m) }) {
			p.Unjudged("pod %s: %s", d.UID, why) // whoever uses the mount may have a right to it
		}
		if state != forensics.PodOrphaned && state != forensics.PodTerminating {
			continue
		}
		for _, m := range slices.Backward(p.Model.PodMounts(d.UID)) {
			list = append(list, Mount{
				Mount: m, Severity: forensics.Warning, Pod: d.UID, Why: fmt.Sprintf("its pod is %s: %s", state, why),
			})
		}
	}
	return list
}

// inUse says whether anything holds a mount. A mount that nothing holds is not busy, whatever its pod.
func inUse(p *forensics.Pass, m mounts.Mount) bool {
	processes, kernel := p.Model.Uses().Holders(m.ID)
	return len(processes)+len(kernel) > 0
}

// underWay lists the mounts that running programs unmount.
func underWay(p *forensics.Pass) []Mount {
	var list []Mount
	for _, process := range p.Evidence.Processes {
		if !unmounts(process.Comm) || process.MountNS == 0 || process.MountNS != p.Evidence.Mounts.Namespace || isLazy(process) {
			continue // in another namespace, or an unknown one: its paths mean something else, and it can have any name
		}
		for _, word := range process.Command[min(1, len(process.Command)):] {
			if at := p.Model.Host().At(word); strings.HasPrefix(word, "/") && len(at) > 0 {
				list = append(list, Mount{
					Mount: at[len(at)-1], Severity: forensics.Warning, By: process.PID,
					Why: fmt.Sprintf("process %d (%s) is unmounting it", process.PID, process.Comm),
				})
			}
		}
	}
	return list
}

// unmounts says whether a program is umount(8), one of its helpers, or fusermount(1). Their command lines name the mount point.
func unmounts(program string) bool {
	switch program {
	case "umount", "fusermount", "fusermount3":
		return true
	}
	fsType, helper := strings.CutPrefix(program, "umount.")
	return helper && fsfamily.Of(fsType).Class != fsfamily.Unknown
}

// isLazy says whether umount(8) or fusermount(1) detaches (umount2(2), MNT_DETACH). That is never refused as busy.
func isLazy(process procs.Process) bool {
	flag := "l"
	if strings.HasPrefix(process.Comm, "fusermount") {
		flag = "z"
	}
	return slices.ContainsFunc(process.Command, func(word string) bool {
		options, short := strings.CutPrefix(word, "-")
		if end := strings.IndexAny(options, "tON"); end >= 0 {
			options = options[:end] // what follows is their value
		}
		return word == "--lazy" || short && !strings.HasPrefix(options, "-") && strings.Contains(options, flag)
	})
}

// StagedPath is where the kubelet mounts a volume once for all its pods: CSI volumes since 1.9, in-tree ones before.
var StagedPath = pattern.New(`/plugins/kubernetes\.io/(csi/.*/globalmount|[^/]+/mounts/.+)$`)

// unusedStaged lists the staged volumes that no pod has mounted.
func unusedStaged(p *forensics.Pass) []Mount {
	var list []Mount
	for _, m := range p.Evidence.Mounts.Mounts {
		if p.Model.BelowKubelet(m.MountPoint) && StagedPath.MatchString(m.MountPoint) && len(p.Model.PodsOf(m.Device)) == 0 && !servesPods(p, m) {
			list = append(list, Mount{Mount: m, Severity: forensics.Warning, Why: "it is staged, but no pod has the volume mounted"})
		}
	}
	return list
}

// servesPods says whether pods have the volume of a staged mount by way of another file system: one that a process serves
// from it, as where it is encrypted (gocryptfs), or one in an image file on it.
func servesPods(p *forensics.Pass, staged mounts.Mount) bool {
	list, kernel := p.Model.Uses().Holders(staged.ID)
	servers := forensics.Once(p, "servers of pods", func() map[int]bool {
		pids := map[int]bool{}
		for _, s := range p.Model.Uses().AllServers() {
			pids[s.PID] = s.PID != 0 && (pids[s.PID] || len(p.Model.PodsOf(s.Device)) > 0)
		}
		return pids
	})
	sources := forensics.Once(p, "sources of pods", func() map[string]bool {
		found := map[string]bool{}
		for _, m := range p.Evidence.Mounts.Mounts {
			uid, _ := forensics.PodOf(m.MountPoint)
			found[m.Source] = found[m.Source] || uid != ""
		}
		return found
	})
	return slices.ContainsFunc(list, func(h holders.Holder) bool { return servers[h.PID] }) ||
		slices.ContainsFunc(kernel, func(k holders.KernelUser) bool { return k.Use == holders.UseLoop && sources[k.What] })
}
