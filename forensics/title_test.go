package forensics_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// titled is a finding with its headline and its effect.
func titled(f forensics.Finding, title, effect string) forensics.Finding {
	f.Title, f.Effect = title, effect
	return f
}

// TestTitle: a diagnosis is called by its cause and, where something worse follows, by what follows.
func TestTitle(t *testing.T) {
	const (
		hung    = "CephFS 10.0.0.5:6789:/k8s has not responded for 46 min"
		blocked = "kubelet is hung: housekeeping blocked for 46 min"
		effect  = "kubelet is hung (housekeeping blocked)"
	)
	critical, warning := forensics.Critical, forensics.Warning
	server := titled(because(critical, "superblock 0:46"), hung, "")
	housekeeping := titled(because(critical, "subsystem housekeeping", "superblock 0:46"), blocked, effect)
	loop := titled(because(critical, "subsystem syncloop", "subsystem housekeeping"), "kubelet is hung: sync loop stalled", "kubelet is hung (sync loop stalled)")
	for name, c := range map[string]struct {
		findings []forensics.Finding
		want     string
	}{
		"the cause alone":             {[]forensics.Finding{server}, hung},
		"the cause and its effect":    {[]forensics.Finding{server, housekeeping}, hung + "; " + effect},
		"the nearest effect":          {[]forensics.Finding{loop, housekeeping, server}, hung + "; " + effect},
		"nothing found of the cause":  {[]forensics.Finding{housekeeping}, blocked},
		"an effect that is not worst": {[]forensics.Finding{server, titled(because(warning, "pod x", "superblock 0:46"), "Pod x is stuck", "pod x is stuck")}, hung},
		"a cause that is less severe": {[]forensics.Finding{titled(because(warning, "superblock 0:46"), hung, ""), housekeeping}, hung + "; " + effect},
		"no effect":                   {[]forensics.Finding{server, titled(housekeeping, blocked, "")}, hung},
	} {
		list := diagnosed(forensics.NewEvidence(), c.findings...)
		if len(list) != 1 || list[0].Title != c.want {
			t.Errorf("%s: %d diagnoses, %q; want %q", name, len(list), list[0].Title, c.want)
		}
	}
}

// TestTitleIsALine: what is too long is cut within a name, and stands whole in the detail.
func TestTitleIsALine(t *testing.T) {
	long := "NFS 10.0.0.9:/" + strings.Repeat("export/", 30) + " has not responded for 3 h"
	list := analysed(titled(because(forensics.Critical, "superblock 0:46"), long, "")).Findings
	if f := list[0]; len([]rune(f.Title)) != 120 || !strings.HasSuffix(f.Title, " has not responded for 3 h") || !strings.HasPrefix(f.Detail, long+". ") && f.Detail != long+"." {
		t.Errorf("title %q, detail %q", f.Title, f.Detail)
	}
}

// TestLinkHasItsConfidence: that of what was found of it, the lowest of several; none where nothing was.
func TestLinkHasItsConfidence(t *testing.T) {
	likely := because(forensics.Critical, "subsystem housekeeping", "goroutine 7")
	likely.Confidence = forensics.Likely
	certain := because(forensics.Critical, "subsystem housekeeping", "goroutine 7")
	certain.Confidence = forensics.Certain
	chain := diagnosed(forensics.NewEvidence(), certain, likely)[0].Chain
	if chain[0].Confidence != "" || chain[1].Confidence != forensics.Likely {
		t.Errorf("%+v", chain)
	}
}

func analysed(f forensics.Finding) forensics.Analysis {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	return forensics.Analyze(&e, []forensics.Check{report("c-0", f)})
}
