package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountSlow finds file systems that answer late.
var mountSlow = forensics.Check{
	ID:    "mount-slow",
	Title: "A file system answers late",
	Doc: `The mount answered, but after more than a second, or it did not answer at first and did before the end of the
examination. It is not dead. The kubelet's housekeeping waits for every such answer (it complains after 15 s from 1.22
on, after 1 s from 1.27 on), so a slow mount can delay all pods of the node.`,
	Severity: forensics.Warning,
	Needs:    fsview.Needs,
	Run: func(p *forensics.Pass) {
		fsview.ReportStatus(mounts.StatusSlow,
			func(s fsview.Superblock) string {
				return fmt.Sprintf("%s is slow: it answered after %s", s.Label(), text.Duration(s.Health.Seconds))
			}, "It answers, so leave it mounted:", noRemedy)(p)
		fsview.ReportStatus(mounts.StatusRecovered,
			func(s fsview.Superblock) string {
				return fmt.Sprintf("%s has recovered: it did not answer for %s, then did", s.Label(), text.Duration(s.Health.Seconds))
			}, "It answers again:", noRemedy)(p)
	},
}

func noRemedy(*forensics.Pass, mounts.Mount) []forensics.Remedy { return nil }
