package diskview

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Remedies are steps to free space, those for the largest users first.
func Remedies(p *forensics.Pass, f eviction.FileSystem) []forensics.Remedy {
	var steps []forensics.Remedy
	u, counted := State(p).UsageOf(f.Device)
	if !counted {
		steps = append(steps, remedy.CountUsage())
	}
	for _, k := range u.Kinds {
		if r, ok := kindRemedy(p, k.Kind, u); ok && k.Bytes*20 > u.UsedBytes && len(steps) < 3 {
			steps = append(steps, r)
		}
	}
	return append(steps, forensics.Remedy{
		Action: remedy.ActionConfigure, Instruction: "Pin images that no registry has: ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
		Why:  "under disk pressure the kubelet deletes every unused image, but no pinned one (1.23 and later; CRI-O: pinned_images)",
		Risk: "none. The space of pinned images is not freed either",
	})
}

// largest lists what is large below a directory, if no mount point is below it that du would hang on.
func largest(p *forensics.Pass, dir string) forensics.Remedy {
	r := forensics.Remedy{
		Action:      remedy.ActionLook,
		Instruction: "Find large directories below " + shellword.Quote(dir),
		Why:         "finds what is large below " + dir + ". It belongs neither to the kubelet nor to the runtime, so their garbage collection does not free it",
		OnlyIf:      "all mounts below it respond: du hangs on a dead mount, also with -x",
		Risk:        "none: read-only. It can take long on a large disk",
	}
	if remedy.IsPath(dir) && !slices.ContainsFunc(p.Model.Host().Below(dir), func(m mounts.Mount) bool { return m.MountPoint != dir }) {
		r = remedy.Run(r, r.Action, "du", "-xh", "--max-depth=2", "--threshold=100M", dir)
		r.OnlyIf = "nothing was mounted below it since the examination: du hangs on a dead mount, also with -x"
	}
	return r
}

func kindRemedy(p *forensics.Pass, kind string, u eviction.Usage) (forensics.Remedy, bool) {
	switch kind {
	case eviction.KindOther:
		i := slices.IndexFunc(u.Items, func(item eviction.Item) bool { return item.Kind == kind })
		if i < 0 {
			break
		}
		return largest(p, u.Items[i].Path), true
	case eviction.KindImages, eviction.KindLayers:
		return forensics.Remedy{
			Action: remedy.ActionFree, Command: []string{"crictl", "rmi", "--prune"}, Why: "removes unused images",
			OnlyIf: "every removed image can be pulled again: none was loaded manually (ctr or crictl import)",
			Risk:   "manually loaded images are lost",
		}, true
	case eviction.KindJournal:
		return forensics.Remedy{
			Action: remedy.ActionFree, Command: []string{"journalctl", "--vacuum-size=500M"}, Why: "removes archived journal files; SystemMaxUse= in journald.conf limits the journal permanently",
			OnlyIf: "the logs of this problem are saved elsewhere", Risk: "older logs are deleted",
		}, true
	case eviction.KindLogs:
		return forensics.Remedy{
			Action: remedy.ActionConfigure, Instruction: "Lower containerLogMaxSize and containerLogMaxFiles of the kubelet. Find out why the pod logs so much",
			Why:  "by default the kubelet rotates logs at 10 MiB and keeps 5 files. It checks every 10 s; a fast writer exceeds the limit in between",
			Risk: "the rotation deletes older log lines",
		}, true
	case eviction.KindEmptyDir, eviction.KindWritable:
		return forensics.Remedy{
			Action: remedy.ActionDeletePod, Instruction: "Delete the pod with the largest usage (kubectl delete pod). Give it an ephemeral-storage limit or a sizeLimit for its emptyDir",
			Why: "emptyDir volumes and writable layers are deleted with their pod", OnlyIf: "the data in them is not needed",
			Risk: "the data in its emptyDir volumes and in its containers' file systems is lost",
		}, true
	case eviction.KindDeleted:
		return forensics.Remedy{
			Action: remedy.ActionRestart, Instruction: "Restart the processes that have deleted files open: see disk-deleted-open-files",
			Why: "the kernel frees the space when the files are closed", Risk: "the work of these processes is interrupted",
		}, true
	}
	return forensics.Remedy{}, false
}
