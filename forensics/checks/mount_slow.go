package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountSlow finds file systems that respond slowly.
var mountSlow = forensics.Check{
	ID:    "mount-slow",
	Title: "A file system responds slowly",
	Doc: `The mount answered after more than a second. Or it did not answer at first, but did before the end of the
examination. It is not dead. The kubelet's housekeeping waits for every such answer, so a slow mount can delay all pods of the
node. The kubelet logs such a delay: after 15 s from version 1.22 on, after 1 s from 1.27 on.

In a saved text it counts how long time(1) or strace -T measured for one call, or for a program that makes few: at least 5 s.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: func(p *forensics.Pass) {
		fsview.ReportStatus(mounts.StatusSlow,
			func(s fsview.Superblock) string {
				return fmt.Sprintf("%s is slow: it responded after %s", s.Label(), text.Duration(s.Health.Seconds))
			}, "It responds, so leave it mounted.", noRemedy)(p)
		fsview.ReportStatus(mounts.StatusRecovered,
			func(s fsview.Superblock) string {
				return fmt.Sprintf("%s has recovered: it did not respond for %s", s.Label(), text.Duration(s.Health.Seconds))
			}, "It responds again.", noRemedy)(p)
	},
}

func noRemedy(*forensics.Pass, mounts.Mount) []forensics.Remedy { return nil }
