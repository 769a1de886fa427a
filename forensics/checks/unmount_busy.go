package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// UnmountBusy finds what keeps the mounts of pods that are going or gone from being unmounted.
var UnmountBusy = forensics.Check{
	ID:    "unmount-busy",
	Title: "A mount that should go is in use",
	Doc: `A mount below the directory of a pod that is gone or terminating, and what makes umount(2) answer EBUSY for it
("target is busy" in the kubelet's log, again every two minutes): processes outside the pod with a working or root
directory, program, open or mapped file on that very mount, and mounts below it, loop devices, swap, NFS exports and
bound sockets. Holds were confirmed by mount id where the kernel tells it (Linux 3.15); working and root directories are
told by their path. Containers of the terminating pod itself are not counted. A process that is in another mount
namespace holds its own copy of a mount and does not keep the host's busy: see mount-leaked-namespace.

The kubelet's log shows the refused unmounts themselves, since when, how often, and how long it waits until the next try
(500 ms, doubled each time up to 2 min 2 s). "Busy" is told from umount's words in any language. Only what was still
refused when the log ended counts. With the log alone nobody is named who holds it.`,
	Severity: forensics.Warning,
	Needs: []forensics.Need{
		{forensics.SourcePodDirs, forensics.SourceLogs},
		{forensics.SourceKubeletPods, forensics.SourceLogs},
		{forensics.SourceHolders, forensics.SourceLogs},
		{forensics.SourceMounts, forensics.SourceLogs},
	},
	Run: func(p *forensics.Pass) {
		var missing []string
		for _, source := range []string{forensics.SourcePodDirs, forensics.SourceKubeletPods, forensics.SourceHolders, forensics.SourceMounts} {
			if ok, why := p.Evidence.Saw(source); !ok {
				missing = append(missing, source+" "+why)
			}
		}
		if len(missing) > 0 {
			p.Unjudged("who holds a mount was not judged: %s", strings.Join(missing, ", "))
		}
		refused := refusals(p)
		for _, d := range p.Evidence.PodDirs {
			state, why := p.Model.PodState(d.UID)
			if state == forensics.PodUnknown {
				p.Unjudged("pod %s: %s", d.UID, why)
			}
			if state != forensics.PodOrphaned && state != forensics.PodTerminating {
				continue
			}
			for _, m := range slices.Backward(podMounts(p, d.UID)) {
				reportBusy(p, d.UID, m, string(state)+": "+why, refused)
			}
		}
		for _, r := range refused {
			if !r.told {
				p.Report(r.finding(p))
			}
		}
	},
}

func reportBusy(p *forensics.Pass, uid string, m mounts.Mount, why string, refused []*refusal) {
	holders, kernel := p.Model.HeldBy(m.ID)
	holders = slices.DeleteFunc(slices.Clone(holders), func(h procs.Holder) bool {
		process, _ := p.Model.Process(h.PID)
		return process.PodUID == uid
	})
	kernel = slices.DeleteFunc(slices.Clone(kernel), func(k mounts.KernelUser) bool { return !k.Blocks })
	if len(holders)+len(kernel) == 0 {
		return
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Pods: []string{uid},
		ConfidenceWhy: "the holds were read from /proc; the pod is " + why,
	}
	if !slices.ContainsFunc(holders, func(h procs.Holder) bool { return !h.ByPath }) && len(kernel) == 0 {
		f.Confidence = forensics.Likely
	}
	var by []string
	for _, pid := range holdingPIDs(holders) {
		first := holders[slices.IndexFunc(holders, func(h procs.Holder) bool { return h.PID == pid })]
		by = append(by, who(p, pid)+" "+byWhat(first))
		f.Because = append(f.Because, processEntity(pid))
		f.Refs = append(f.Refs, holderRef(first))
		f.Remedies = append(f.Remedies, stopHolder(p, pid))
	}
	for _, k := range kernel {
		by = append(by, kernelText(k))
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders, Excerpt: strings.TrimSpace(string(k.Use) + " " + k.What + " " + k.Detail)})
		f.Remedies = append(f.Remedies, freeKernel(k))
		if k.UserMount != 0 {
			f.Because = append(f.Because, forensics.MountEntity(k.UserMount))
		}
	}
	f.Title = fmt.Sprintf("mount %d at %s of a pod that is going cannot be unmounted: %s", m.ID, m.MountPoint, some(by))
	f.Detail = "umount answers EBUSY (\"target is busy\") until nothing of this is left: " + strings.Join(by, "; ") + ". " +
		"Restarting the kubelet does not help. Not visible in /proc: " + mounts.KernelBlind + "."
	f.Remedies = append(f.Remedies, forensics.Remedy{
		Command:      "umount -c " + quote(m.MountPoint),
		Why:          "the kubelet does it itself at its next try, within about two minutes; this is for a pod that the kubelet has forgotten",
		Precondition: "nothing holds it any more: nodeforensics holders " + quote(m.MountPoint),
		Risk:         "none while nothing holds it: a plain unmount fails rather than lose data. A lazy one (-l) hides a mount that is still written to; never use it before the volume is attached to another node",
	})
	for _, r := range refused {
		if r.subject == f.Subject {
			r.told = true
			f = r.join(f)
		}
	}
	p.Report(f)
}

func kernelText(k mounts.KernelUser) string {
	switch k.Use {
	case mounts.UseMount:
		return fmt.Sprintf("mount %d at %s lies on it", k.UserMount, k.What)
	case mounts.UseLoop:
		return fmt.Sprintf("loop device %s uses %s", k.What, k.Detail)
	case mounts.UseSwap:
		return "swap is on in " + k.What
	case mounts.UseExport:
		return fmt.Sprintf("nfsd exports %s", k.What)
	case mounts.UseSocket:
		return fmt.Sprintf("a socket is bound to %s", k.What)
	}
	return fmt.Sprintf("%s %s", k.Use, k.What)
}

func freeKernel(k mounts.KernelUser) forensics.Remedy {
	r := forensics.Remedy{Why: kernelText(k), Precondition: "nobody needs it any more"}
	switch k.Use {
	case mounts.UseMount:
		r.Command, r.Risk = "umount -c "+quote(k.What), "fails while that mount is in use itself, which is the safe answer"
	case mounts.UseLoop:
		r.Command, r.Risk = "losetup -d "+quote(k.What), "whoever has mounted or opened the loop device loses its disk: unmount that first"
	case mounts.UseSwap:
		r.Command, r.Risk = "swapoff "+quote(k.What), "what is swapped out has to fit into memory"
	case mounts.UseExport:
		r.Command, r.Risk = "exportfs -u '*':"+quote(k.What), "NFS clients lose that directory" //nolint:misspell // exportfs(8)
	default:
		r.Command, r.Risk = "Stop the process that has bound "+k.What+" (ss -xlp)", "its clients cannot connect any more"
	}
	return r
}
