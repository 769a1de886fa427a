package fsview

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
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
