package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// calm is what is said when there is no diagnosis. It says "clean" only of what was looked at.
type calm struct {
	Mark  mark // "clean", "unknown", ...
	Title shown
	Text  shown
}

func newCalm(r Report) calm {
	clean, missing := 0, len(unchecked(r.Outcomes))
	for _, o := range r.Outcomes {
		if o.Status == forensics.OutcomeClean || o.Status == forensics.OutcomeFound {
			clean++
		}
	}
	worst := 0
	for _, f := range r.Findings {
		worst = max(worst, f.Severity.Rank())
	}
	switch {
	case worst > forensics.Info.Rank():
		return calm{mark{toneWarn, "unclear"}, "There are findings, but no root cause was worked out", "See the findings below."}
	case clean == 0:
		return calm{
			mark{toneQuiet, "unknown"},
			"Nothing could be judged",
			"Not one check had what it needs. This says nothing about the health of the node.",
		}
	case missing > clean || unanswered(r):
		return calm{mark{toneWarn, "incomplete"}, "Nothing above info was found, but too little could be seen", shown(fmt.Sprintf(
			"Only %s of %d could look. This report does not say that the node is well.", count(clean, "check"), len(r.Outcomes)))}
	case missing > 0:
		return calm{mark{toneGood, "clean"}, "Nothing above info was found", shown(fmt.Sprintf(
			"%s looked and found nothing that needs a person. %s could not look: of that, this report says nothing.",
			count(clean, "check"), count(missing, "check")))}
	}
	return calm{mark{toneGood, "clean"}, "Nothing above info was found", shown(fmt.Sprintf(
		"All %s could look, and found nothing that needs a person.", count(clean, "check")))}
}

// unanswered says whether a mount owed its answer when looking ended: it may be dead.
func unanswered(r Report) bool {
	return slices.ContainsFunc(r.MountHealth, func(h mounts.Health) bool { return h.Status == mounts.StatusUnanswered })
}

// unchecked are the outcomes of checks that could not judge, or not all of it.
func unchecked(outcomes []forensics.Outcome) []forensics.Outcome {
	var missing []forensics.Outcome
	for _, o := range outcomes {
		if o.Status == forensics.OutcomeNotChecked || o.Status == forensics.OutcomeFailed {
			missing = append(missing, o)
		}
	}
	return missing
}

// reasonGroup is checks that could not be made for the same reason.
type reasonGroup struct {
	Reason string
	Checks []string
}

// byReason puts outcomes of one reason together, in order of appearance.
func byReason(outcomes []forensics.Outcome) []reasonGroup {
	var groups []reasonGroup
	for _, o := range outcomes {
		reason := cmp.Or(o.Reason, "no reason was given")
		if o.Status == forensics.OutcomeFailed {
			reason = "the check itself failed: " + reason
		}
		i := slices.IndexFunc(groups, func(g reasonGroup) bool { return g.Reason == reason })
		if i < 0 {
			groups = append(groups, reasonGroup{Reason: strings.Clone(reason)})
			i = len(groups) - 1
		}
		groups[i].Checks = append(groups[i].Checks, o.Check)
	}
	return groups
}
