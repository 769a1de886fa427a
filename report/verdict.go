package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
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
	made, all := count(clean, "check"), len(r.Outcomes)
	switch {
	case worst > forensics.Info.Rank():
		return calm{mark{toneWarn, "unclear"}, "Problems were found, but no root cause", "The problems are listed below."}
	case clean == 0:
		return calm{mark{toneQuiet, "unknown"}, "No check could be made", "The evidence that the checks need was not collected. This report does not say that the node is healthy."}
	case unanswered(r):
		return calm{
			mark{toneWarn, "incomplete"},
			"No problem found, but a mount had not responded when the run ended",
			"It may be dead. Run it again with a longer --timeout. This report does not say that the node is healthy.",
		}
	case hasFragment(r):
		return calm{
			mark{toneWarn, "incomplete"},
			"No problem found, but a goroutine dump is incomplete",
			"What is missing in it was not judged. This report does not say that the node is healthy.",
		}
	case onlyOthers(r) != "":
		return calm{
			mark{toneWarn, "incomplete"},
			shown(fmt.Sprintf("No problem found, but of %s only requests to it were judged", cell(onlyOthers(r), 40))),
			"Most checks are about the kubelet. This report does not say that the program is healthy.",
		}
	case r.Evidence.Collector.PID == 0 && hasUnrecognizedErrors(r): // every healthy node logs some
		return calm{
			mark{toneWarn, "incomplete"},
			"No known problem found, but the logs have errors that are not recognized",
			shown(fmt.Sprintf("Most frequent: %s. This report does not say that the node is healthy.", unrecognizedError(r.Evidence.Logs.UnrecognizedErrors[0]))),
		}
	case missing > clean:
		return calm{mark{toneWarn, "incomplete"}, "No problem found, but most checks could not be made", shown(fmt.Sprintf(
			"Only %s of %d could be made. This report does not say that the node is healthy.", made, all))}
	case missing > 0:
		return calm{mark{toneGood, "clean"}, "No problem found", shown(fmt.Sprintf(
			"%s found no problem. %s could not be made: this report says nothing about them.", capital(made), count(missing, "check")))}
	}
	return calm{mark{toneGood, "clean"}, "No problem found", shown(fmt.Sprintf("All %s found no problem.", made))}
}

// unanswered says whether a mount owed its answer when looking ended: it may be dead.
func unanswered(r Report) bool {
	return slices.ContainsFunc(r.MountHealth, func(h mounts.Health) bool { return h.Status == mounts.StatusUnanswered })
}

func hasUnrecognizedErrors(r Report) bool {
	return r.Evidence.Logs != nil && len(r.Evidence.Logs.UnrecognizedErrors) > 0
}

// unrecognizedError is an error in a sentence.
func unrecognizedError(e logs.UnrecognizedError) string {
	line := e.Quote.Text
	if at := strings.Index(line, e.Source+"] "); e.Source != "" && at > 0 { // without the time and the program
		line = line[at:]
	}
	return fmt.Sprintf("%s (%s)", strings.TrimRight(string(cell(line, maxUnrecognizedText)), " ."), count(int(e.Count), "line"))
}

// maxUnrecognizedText is how much of a line is quoted in a sentence.
const maxUnrecognizedText = 300

// hasFragment says whether a dump of the kubelet, or one from a file, is a part of what its program would have written: it is cut, or lacks the
// main goroutine, which lives as long as its program.
func hasFragment(r Report) bool {
	return slices.ContainsFunc(r.Evidence.Dumps, func(d forensics.Dump) bool {
		if d.PID != 0 {
			return d.Truncated && (d.Program == "" || d.Program == "kubelet")
		}
		main := slices.ContainsFunc(d.Goroutines, func(g goroutines.Goroutine) bool { return g.ID == 1 })
		return d.Truncated || d.HasStates() && d.Summed == 0 && !main
	})
}

// onlyOthers is a program whose dump was given as a file, where none is a kubelet's; else "".
func onlyOthers(r Report) (program string) {
	for _, d := range r.Evidence.Dumps {
		if d.PID != 0 || d.Program == "" || d.Program == "kubelet" {
			return ""
		}
		program = d.Program
	}
	return program
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
		reason := cmp.Or(o.Reason, "no reason is given")
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

// hasUnprovenPods says whether the kubelet's list would tell more of a pod directory than other sources did.
func hasUnprovenPods(r *Report) bool {
	return slices.ContainsFunc(r.Evidence.PodDirs, func(d kubelet.PodDir) bool {
		state, _ := r.joined().PodState(d.UID)
		return state == forensics.PodUnknown || state.Orphaned() != "" && state.Orphaned() != forensics.Certain
	})
}

// howToCheck says what would let more checks be made, by what the sources that were tried say; "" where that depends on the check.
func howToCheck(r Report) string {
	dumped, _ := r.Evidence.Saw(forensics.SourceGoroutines)
	denied := func(names ...string) bool {
		return slices.ContainsFunc(r.Coverage, func(s forensics.Source) bool {
			name, _, _ := strings.Cut(s.Source, ":")
			return s.Status == forensics.SourceDenied && slices.Contains(names, name)
		})
	}
	podsListed, _ := r.Evidence.Saw(forensics.SourceKubeletPods) // by the API server
	switch {
	case r.Evidence.Collector.PID == 0:
		return "On the node, run nodeforensics as root."
	case r.Evidence.Root != "/":
		return "A disk has no processes: run it on the running node."
	case r.Evidence.Collector.Interrupted != "":
		return "Run it again with a longer --timeout."
	case denied(forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceHolders, forensics.SourcePodDirs):
		return "Run it as root."
	case denied(forensics.SourceKubeletPods) && !podsListed && hasUnprovenPods(&r):
		return "The pod list needs --api or --token-file (README)."
	case denied(forensics.SourceGoroutines) && !dumped:
		return howToDump(r)
	}
	return ""
}

// howToDump says how to get the kubelet's goroutines, which it does not give away. Root can read them in its memory, but not where a
// thread of it holds the lock of its memory and waits.
func howToDump(r Report) string {
	k := r.Evidence.Kubelet
	i := slices.IndexFunc(r.Coverage, func(s forensics.Source) bool {
		return strings.HasPrefix(s.Source, forensics.SourceGoroutines+":memory of ")
	})
	switch {
	case k != nil && k.Unproven != "":
		return "Goroutines were not read: the kubelet process could not be verified."
	case i >= 0 && r.Coverage[i].Status != forensics.SourceDenied:
		return "The kubelet's memory could not be read: use --token-file (README)."
	}
	return "Goroutines need root or --token-file (README)."
}
