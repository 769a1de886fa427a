package diskview

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Remedies are steps to free space, those for the largest fillers first.
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
		Action: remedy.ActionConfigure, Instruction: "Keep images that no registry can give back: ctr -n k8s.io images label NAME io.cri-containerd.pinned=pinned",
		Why:  "under pressure the kubelet deletes every image that no container uses; pinned ones it leaves (1.23 and later; CRI-O: pinned_images)",
		Risk: "none; what is pinned is not freed either",
	})
}

// largest lists what is large below a directory, if du comes across no mount point there.
func largest(p *forensics.Pass, dir string) forensics.Remedy {
	r := forensics.Remedy{
		Action:      remedy.ActionLook,
		Instruction: "Look for what is large below " + shellword.Quote(dir),
		Why:         "finds what is large below " + dir + ", which is neither the kubelet's nor the runtime's: no garbage collection of theirs frees it",
		OnlyIf:      "what is mounted below it answers: du hangs at a dead mount, also with -x",
		Risk:        "none: it reads. It takes its time on a large disk",
	}
	if remedy.IsPath(dir) && !slices.ContainsFunc(p.Model.Host().Below(dir), func(m mounts.Mount) bool { return m.MountPoint != dir }) {
		r = remedy.Run(r, r.Action, "du", "-xh", "--max-depth=2", "--threshold=100M", dir)
		r.OnlyIf = "nothing has been mounted below it since: du hangs at a dead mount, also with -x"
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
			Action: remedy.ActionFree, Command: []string{"crictl", "rmi", "--prune"}, Why: "removes images that no container uses",
			OnlyIf: "every image that is missing later can be pulled again: none was loaded by hand (ctr or crictl import)",
			Risk:   "images that were loaded by hand are gone for good",
		}, true
	case eviction.KindJournal:
		return forensics.Remedy{
			Action: remedy.ActionFree, Command: []string{"journalctl", "--vacuum-size=500M"}, Why: "removes archived journal files; SystemMaxUse= in journald.conf keeps it so",
			OnlyIf: "the logs of the trouble are saved elsewhere", Risk: "older logs are gone",
		}, true
	case eviction.KindLogs:
		return forensics.Remedy{
			Action: remedy.ActionConfigure, Instruction: "Lower containerLogMaxSize and containerLogMaxFiles of the kubelet, and find out why the pod logs so much",
			Why:  "the kubelet rotates logs at 10 MiB and 5 files by default, and once every 10 s, which a fast writer outruns",
			Risk: "older lines of logs are gone after the rotation",
		}, true
	case eviction.KindEmptyDir, eviction.KindWritable:
		return forensics.Remedy{
			Action: remedy.ActionDeletePod, Instruction: "Delete the pod that takes most (kubectl delete pod), and give it a limit for ephemeral-storage or a sizeLimit of its emptyDir",
			Why: "emptyDir volumes and writable layers go with their pod", OnlyIf: "what it wrote there can be lost",
			Risk: "what is in its emptyDir volumes and in its containers' file systems is gone",
		}, true
	case eviction.KindDeleted:
		return forensics.Remedy{
			Action: remedy.ActionRestart, Instruction: "Restart the processes that hold deleted files: see disk-deleted-open-files",
			Why: "the space is free once they are closed", Risk: "what they do is interrupted",
		}, true
	}
	return forensics.Remedy{}, false
}
