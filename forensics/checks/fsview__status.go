package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// reportStatus reports every file system whose worst health is status, as a warning.
func reportStatus(status mounts.Status, title func(superblock) string, detail string,
	remedies func(*forensics.Pass, mounts.Mount) []forensics.Remedy,
) func(*forensics.Pass) {
	return func(p *forensics.Pass) {
		unjudged(p)
		for _, s := range superblocks(p, status) {
			p.Report(statusFinding(p, s, title(s), detail, remedies(p, s.mount())))
		}
	}
}

func statusFinding(p *forensics.Pass, s superblock, title, detail string, remedies []forensics.Remedy) forensics.Finding {
	f := s.finding(p, forensics.Warning, title)
	b, _ := p.Model.Backing(s.device)
	switch status := s.health.Status; {
	case status == mounts.StatusDisconnected && isSMB(s.mount()):
		detail = "It answers every call with an error until its server is back, and goes on connecting by itself:"
	case status == mounts.StatusFrozen && b.Fault == backing.FaultSuspended:
		remedies = []forensics.Remedy{reviveFrom(b, s.mount())}
	}
	f.Detail = fmt.Sprintf("%s %s.", detail, s.where())
	if s.health.Status != mounts.StatusSlow && s.health.Status != mounts.StatusRecovered {
		text, refs := behind(p, s.device)
		f.Detail += text
		f.Refs = append(f.Refs, refs...)
	}
	f.ConfidenceWhy = "the answer was seen"
	f.Remedies = remedies
	switch s.health.Status {
	case mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError:
		if x, ok := passerOf(p, s); ok {
			f = x.tell(p, s, f)
		}
	}
	return withKernel(p, s.mount(), f)
}
