package fsview

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// ReportStatus reports every file system whose worst health is status, as a warning.
func ReportStatus(status mounts.Status, title func(Superblock) string, detail string,
	remedies func(*forensics.Pass, mounts.Mount) []forensics.Remedy,
) func(*forensics.Pass) {
	return func(p *forensics.Pass) {
		Unjudged(p)
		for _, s := range Superblocks(p, status) {
			p.Report(statusFinding(p, s, title(s), detail, remedies(p, s.Mount())))
		}
	}
}

func statusFinding(p *forensics.Pass, s Superblock, title, detail string, remedies []forensics.Remedy) forensics.Finding {
	f := s.Finding(p, forensics.Warning, title)
	b, _ := p.Model.Backing(s.Device)
	switch status := s.Health.Status; {
	case status == mounts.StatusDisconnected && remedy.IsSMB(s.Mount()):
		detail = "It answers every call with an error until its server is back, and tries by itself to reconnect."
	case status == mounts.StatusFrozen && b.Fault == backing.FaultSuspended:
		remedies = []forensics.Remedy{remedy.ReviveFrom(b, s.Mount())}
	}
	f.Detail = fmt.Sprintf("%s Mounted at %s.", detail, s.Where())
	if s.Health.Status != mounts.StatusSlow && s.Health.Status != mounts.StatusRecovered {
		text, refs := Behind(p, s.Device)
		f.Detail += text
		f.Refs = append(f.Refs, refs...)
	}
	f.ConfidenceWhy = "observed directly"
	switch {
	case !s.Saved():
	case s.Health.Status == mounts.StatusSlow:
		f.ConfidenceWhy = "a tool measured it; whether it is still so is not known"
	default:
		f.ConfidenceWhy = "a tool printed the error; whether it is still so is not known"
	}
	if s.Health.Method == hearsay.Method && !existsInstead(p) {
		f.Severity, f.Lone, f.Confidence, f.ConfidenceWhy = forensics.Info, true, forensics.Possible, hearsay.Says
	}
	f.Remedies = remedies
	if s.Mount().MountPoint == hearsay.Unnamed { // where the working directory of a shell was
		f.Detail = detail + " Which one it is, the text does not say."
		f.Remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"grep", "-E", " - (nfs4?|cifs|smb3|ceph|fuse[.a-z0-9_-]*) ", "/proc/self/mountinfo"},
			Why: "shows the mounts that need a server. It reads no mount", Risk: "none: read-only",
		}}
	}
	switch s.Health.Status {
	case mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError:
		if x, ok := errorSourceOf(p, s); ok {
			f = x.addTo(p, s, f)
		}
	}
	return WithKernel(p, s.Mount(), f)
}

// hostPath is a directory that a runtime wants to make for a container, since stat(2) has failed, and that is there.
var hostPath = pattern.New(`mkdir /\S+: file exists`)

// existsInstead says whether a runtime has met such a directory: most often it is a mount without its server.
func existsInstead(p *forensics.Pass) bool {
	return slices.ContainsFunc(logview.Events(p, "container-create-failed", "container-start-failed"), func(e logs.Event) bool { return hostPath.MatchString(e.Reason) })
}

// ExistsInstead is the file system that a sentence calls dead, where a runtime has met a directory that is there and does not answer stat(2).
func ExistsInstead(p *forensics.Pass, reason string) (dead []forensics.Entity) {
	if !hostPath.MatchString(reason) {
		return nil
	}
	for _, s := range Superblocks(p, mounts.StatusDisconnected) {
		if s.Mount().MountPoint == hearsay.Unnamed {
			dead = append(dead, s.Entity())
		}
	}
	return dead
}
