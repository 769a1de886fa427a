package checks

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// mountFrozen finds file systems that were frozen on purpose.
var mountFrozen = forensics.Check{
	ID:    "mount-frozen",
	Title: "A file system is frozen",
	Doc: `A thread waits for write access to a frozen file system (fsfreeze(8), a snapshot or backup agent, dmsetup suspend).
The disk is healthy. Writes wait until the file system is thawed; reads work unless its device is suspended. A frozen file
system without writers is not detected: the test would need a write.

Where mounts were not read, the stack of a task that the kernel calls hung shows it, without the name of the file system. So does a
stack in a saved text.`,
	Severity: forensics.Warning,
	Needs: []forensics.Need{
		{forensics.SourceMounts, forensics.SourceLogs, forensics.SourceThreads}, {forensics.SourceHealth, forensics.SourceLogs, forensics.SourceThreads},
	},
	Run: func(p *forensics.Pass) {
		reportFrozen(p)
		reportFrozenByTask(p)
		for _, source := range []string{forensics.SourceMounts, forensics.SourceHealth} {
			if seen, why := p.Evidence.Saw(source); !seen { // few logs have the stack
				p.Unjudged("%s %s", source, why)
			}
		}
	},
}

// unnamedFrozen is a file system that a stack shows to be frozen, and that nothing names.
var unnamedFrozen = incident.Thing(forensics.KindPath, "frozen-file-system")

// reportFrozenByTask reports a frozen file system by the stack of a task that the kernel calls hung, or that somebody saved, where no mounts
// were read.
func reportFrozenByTask(p *forensics.Pass) {
	for _, i := range hungTasks(p) {
		if t, ok := traceOf(p, i.Events[len(i.Events)-1]); ok && unnamedFreeze(p, t) {
			f := incident.Certain(i.Finding(p, "", ""))
			p.Report(frozenByStack(f, t, i.Events[0].Process, i.Grave()))
			return
		}
	}
	if t, ok := savedFreeze(p); ok {
		f := forensics.Finding{Severity: forensics.Warning, Confidence: forensics.Likely, ConfidenceWhy: "the text shows the wait; whether it has ended since is not known"}
		p.Report(frozenByStack(f, t, savedName(t), true))
	}
}

// unnamedFreeze says whether a thread waits for a frozen file system that is not known.
func unnamedFreeze(p *forensics.Pass, t procs.Thread) bool {
	return t.Wait.Kind == procs.WaitFrozen && len(forensics.Causes(p.Model, forensics.ThreadEntity(t))) == 0
}

// savedFreeze is a thread of a saved text that waits for a frozen file system that is not known.
func savedFreeze(p *forensics.Pass) (procs.Thread, bool) {
	i := slices.IndexFunc(p.Evidence.Threads, func(t procs.Thread) bool { return t.Saved != "" && unnamedFreeze(p, t) })
	if i < 0 {
		return procs.Thread{}, false
	}
	return p.Evidence.Threads[i], true
}

func frozenByStack(f forensics.Finding, t procs.Thread, who string, grave bool) forensics.Finding {
	f.Subject, f.Refs = unnamedFrozen, append(f.Refs, stall.ThreadRef(t))
	f.Title, f.Effect = "A file system is frozen: writes wait", "writes to a frozen file system wait"
	f.Detail = findings.Sentences("It was frozen on purpose (fsfreeze, a snapshot or backup agent). Writes wait until it is thawed.", "The stack of "+who+" shows it, and does not name the file system.")
	if grave {
		f.Remedies = []forensics.Remedy{incident.Look("shows file systems on disks, one of which is frozen. It reads none of them", "findmnt", "--real")}
	}
	return f
}

var reportFrozen = fsview.ReportStatus(mounts.StatusFrozen,
	func(s fsview.Superblock) string { return s.Label() + " is frozen: writes wait" },
	"It was frozen on purpose. Writes wait until it is thawed.", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
		return []forensics.Remedy{thaw(p, m, forensics.Remedy{
			Action: remedy.ActionResume,
			Why:    "the waiting writers continue",
			OnlyIf: "no backup or snapshot is in progress: ask the owner of the backup agent first",
			Risk:   "a snapshot in progress becomes inconsistent",
		})}
	})

// thaw adds the command that thaws a file system by one of its mounts on the host.
func thaw(p *forensics.Pass, m mounts.Mount, r forensics.Remedy) forensics.Remedy {
	if host, here := p.Model.Host().ByID(m.ID); !here || host.MountPoint != m.MountPoint || forensics.InVolume(p.Model, m.MountPoint) {
		return remedy.Tell(r, r.Action, "Ask the owner of the program that froze it to thaw it (fsfreeze -u): on the host, the path "+shellword.Quote(m.MountPoint)+
			" may lead to another file system")
	}
	return remedy.OnPath(r, m.MountPoint, "Thaw the file system at", "fsfreeze", "-u")
}
