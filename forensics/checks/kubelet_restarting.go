package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletRestarting finds kubelets that ended and were started again.
var kubeletRestarting = forensics.Check{
	ID:    "kubelet-restarting",
	Title: "The kubelet ended and was started again",
	Doc: `The runs of the kubelet within the log, and why each ended: a signal (by systemd or an operator), a panic, a fatal error of
its own ("command failed", "Failed to run kubelet", F lines), the kernel's OOM killer, or systemd's watchdog.

- One restart by a signal is information: an update looks like this.
- An end for any other reason is a warning. A kubelet that could not start is information once a later one has: its node became ready, its
  sync loop takes events, or systemctl shows it active.
- A flag or a field that this version does not take is named, with what to correct.
- Three or more ends, in the log or by systemd's count, are critical if the last kubelet did not reach its sync loop: the kubelet does not finish
  starting. The last step of the start that was logged shows what comes next (cmd/kubelet/app/server.go,
  pkg/kubelet/kubelet.go, 1.10 to 1.36).

- Three events within an hour that report a start are as many starts.
- Where systemd alone tells, its own count of restarts is reported, unless a kubelet is shown to run since.

Evidence: lines of the kubelet and of systemd, NRestarts of systemctl(1). Where neither gives a reason for an end, the reason is unknown, and only
another process id or another start shows the end. Restarts before the log began are not seen.`,
	Severity: forensics.Critical,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		lives := logview.Story(p).Lives
		none := len(lives) == 0 || len(lives) == 1 && lives[0].Last == nil && lives[0].End == logs.EndRunning
		if e, n := restarts(p); none {
			if exits := logview.Events(p, "kubelet-exited"); n < manyEnds && len(exits) > 0 {
				e = exits[len(exits)-1]
				n = sinceStarted(p, e, logview.Count(exits))
			}
			if n >= manyEnds || n == manyEnds-1 && (logview.Picked(p, e.Last) || strings.Contains(e.Reason, "going to restart forever")) { // of few lines, two ends in a row show it
				p.Report(countedFinding(p, e, n))
				return
			}
		}
		if exits := logview.Events(p, "kubelet-exited"); len(exits) > 0 && logview.Brief(p) && none {
			p.Report(exitFinding(p, exits[len(exits)-1]))
			return
		}
		if failed := logview.Events(p, "kubelet-not-started"); len(failed) > 0 && none && logview.LastWritten(p, logview.Last(failed)) {
			p.Report(exitFinding(p, failed[len(failed)-1]))
			return
		}
		if !logview.SawKubelet(p) || len(lives) == 0 {
			return
		}
		var over []logs.Life
		for i, l := range lives {
			if i < len(lives)-1 || logview.KubeletEnded(p, logview.Story(p)) {
				over = append(over, l)
			}
		}
		if len(over) > 0 {
			p.Report(restartFinding(p, over, lives[len(lives)-1]))
		}
	},
}

// manyEnds is how many ends in one log are more than an operator at work.
const manyEnds = 3

// restarts are the last line of systemd that counts restarts of the kubelet, and its count: 0 where there is none, or a kubelet has started since.
func restarts(p *forensics.Pass) (last logs.Event, n int64) {
	for _, e := range logview.Events(p, "kubelet-starting") {
		if e.Max > 0 {
			last, n = e, int64(e.Max)
		}
	}
	return last, sinceStarted(p, last, n)
}

// sinceStarted is n, or 0 where a kubelet has started since e.
func sinceStarted(p *forensics.Pass, e logs.Event, n int64) int64 {
	if n > 0 && logview.StartedSince(p, e.Last, e.Quotes...) {
		return 0
	}
	return n
}

// countedFinding is of a kubelet of which only systemd tells.
func countedFinding(p *forensics.Pass, counter logs.Event, n int64) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: p.Model.KubeletEntity(), Confidence: forensics.Likely,
		Title:         fmt.Sprintf("kubelet cannot finish starting: systemd has started it %s", findings.Times(n)),
		ConfidenceWhy: "systemd counts its restarts; the kubelet's own lines were not read",
		Refs:          logview.Refs(counter.Quotes...),
		Remedies:      []forensics.Remedy{lookAtEnds()},
	}
	if counter.Code == "events" { // by events, which each start of a kubelet reports
		f.Title = fmt.Sprintf("kubelet cannot finish starting: it has started %s within an hour", findings.Times(n))
		f.ConfidenceWhy = "its events report each start; its own lines were not read"
	}
	if exits := logview.Events(p, "kubelet-exited"); len(exits) > 0 {
		last := exits[len(exits)-1]
		if last.Code != "" {
			f.Detail = fmt.Sprintf("The last time it ended with status %s.", last.Code)
		}
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
		if counter.Kind == last.Kind {
			f.Title = fmt.Sprintf("kubelet cannot finish starting: it has ended %s", findings.Times(n))
			f.ConfidenceWhy = "what starts the kubelet logs its ends; the kubelet's own lines were not read"
		} else {
			f.Refs = append(f.Refs, logview.Refs(last.Quotes...)...)
		}
	}
	return f
}

// exitFinding is of a kubelet of which somebody shows only that it has ended, by systemd's line.
func exitFinding(p *forensics.Pass, exit logs.Event) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: p.Model.KubeletEntity(), Confidence: forensics.Possible, ConfidenceWhy: incident.FewLines,
		Title: headline.Fit("kubelet has ended: " + exit.Reason), Refs: logview.Refs(exit.Quotes...), Remedies: []forensics.Remedy{lookAtEnds()},
	}
}

// lookAtEnds shows the kubelet's last lines.
func lookAtEnds() forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"journalctl", "-u", "kubelet", "-n", "200", "--no-pager"},
		Why: "the last error before an end says more about the cause than the end itself", Risk: "none: read-only",
	}
}

func restartFinding(p *forensics.Pass, over []logs.Life, last logs.Life) forensics.Finding {
	lasts := sorting.Delete(slices.Clone(over), func(l logs.Life) bool { return startedSince(p, l) })
	bad := sorting.Delete(slices.Clone(lasts), func(l logs.Life) bool { return l.End == logs.EndSignal || l.End == logs.EndUnknown || l.End == "" })
	f := forensics.Finding{
		Severity: forensics.Info, Subject: p.Model.KubeletEntity(), Confidence: forensics.Certain, Since: cmp.Or(over[0].Last, over[0].Started),
		Title:         fmt.Sprintf("kubelet has ended %s within the log: %s", findings.Times(int64(len(over))), endings(over)),
		ConfidenceWhy: "the kubelet or systemd logs the reason",
	}
	waits, starts := "", false
	if !through(last) {
		waits, starts = startWaits(p, last)
	}
	times, by := int64(len(over)), "within the log"
	if _, n := restarts(p); n > times {
		times, by = n, "by systemd's count"
	}
	if times > int64(len(over)) && times >= manyEnds {
		f.Title = fmt.Sprintf("kubelet has ended %s %s; in the log %s", findings.Times(times), by, endings(over))
	}
	switch {
	case times >= manyEnds && len(bad) > 0 && starts && !logview.Stale(p):
		f.Severity = forensics.Critical
		f.Title = fmt.Sprintf("kubelet cannot finish starting: it has ended %s %s", findings.Times(times), by)
	case len(bad) > 0, len(lasts) >= manyEnds:
		f.Severity = forensics.Warning
	}
	refused := refusedSetting(p)
	if len(bad) > 0 && refused != "" {
		f.Title = headline.Fit("kubelet cannot start: " + refused)
	}
	if slices.ContainsFunc(over, func(l logs.Life) bool { return l.End == logs.EndUnknown }) {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "another process id or another start shows the ends; the log does not give the reason for each"
	}
	var lives []string
	for _, l := range over[max(0, len(over)-findings.MaxQuoted):] {
		lives = append(lives, lifeText(l))
		if l.EndQuote != nil {
			f.Refs = append(f.Refs, logview.Refs(*l.EndQuote)...)
		}
	}
	if len(over) > 1 {
		lives = append([]string{fmt.Sprintf("%s ended %s: %s.", findings.Capital(p.Model.KubeletName()), findings.Times(int64(len(over))), endings(over))}, lives...)
	}
	f.Detail = findings.Sentences(strings.Join(lives, " "), waits, logview.AsOf(p))
	f.Because = fatalCauses(p)
	if s := logview.Runtime(p); s != nil && s.Current && slices.ContainsFunc(s.Events, func(e logs.Event) bool { return e.Kind == kubeletFatal }) {
		f.Because = append(f.Because, p.Model.RuntimeEntity())
	}
	if len(healthInLog(p)) > 0 && slices.ContainsFunc(over, func(l logs.Life) bool { return l.End == logs.EndWatchdog }) {
		f.Because = append(f.Because, stall.SyncLoopEntity)
	}
	if f.Severity != forensics.Info {
		f.Remedies = []forensics.Remedy{lookAtEnds()}
	}
	if f.Severity != forensics.Info && refused != "" {
		f.Remedies = append(f.Remedies, correctSetting)
	}
	return f
}

// refusedSetting is what the last kubelet that ended says of a flag or a field that its version does not take; "" if it ended otherwise.
func refusedSetting(p *forensics.Pass) string {
	fatal := logview.Events(p, kubeletFatal)
	if len(fatal) == 0 || slices.ContainsFunc(fatal, func(e logs.Event) bool { return e.Cause() != "setting" }) {
		return ""
	}
	reason := fatal[len(fatal)-1].Reason
	if _, flag, ok := strings.Cut(reason, "failed to parse kubelet flag: "); ok {
		return flag
	}
	return reason
}

// startedSince says whether a run ended by an error of its own before it had started, and a later one did start.
func startedSince(p *forensics.Pass, l logs.Life) bool {
	return l.End == logs.EndFatal && l.EndQuote != nil && l.Stage != logs.StartSyncLoop && l.Stage != logs.StartRegistered &&
		logview.StartedSince(p, l.EndQuote.Time, *l.EndQuote)
}

const kubeletFatal logs.Kind = "kubelet-fatal"

// fatalCauses are what kubelets ended for by their own words, where other checks report it.
func fatalCauses(p *forensics.Pass) (found []forensics.Entity) {
	lists := [][]incident.Incident{invalidStates(p), badCertificates(p), fullByLog(p), failingPaths(p)}
	for _, l := range limits {
		lists = append(lists, l.find(p))
	}
	for _, i := range badCertificates(p) { // a kubeconfig that is missing has no line about a certificate beside it
		if i.Grave() && slices.ContainsFunc(logview.Events(p, kubeletFatal), func(e logs.Event) bool { return e.Cause() == "no-bootstrap" }) {
			found = append(found, i.Subject)
		}
	}
	for _, i := range slices.Concat(lists...) {
		if i.Grave() && slices.ContainsFunc(i.Events, func(e logs.Event) bool {
			return e.Kind == kubeletFatal || e.Kind == logs.KindCertExpired && e.Code == "panic" || e.Origin == "kubelet" && endsService(e)
		}) {
			found = append(found, i.Subject)
		}
	}
	return found
}

// endings counts the reasons: "by a panic", "2 by a panic, 1 by a signal".
func endings(over []logs.Life) string {
	counts := map[string]int{}
	var order []string
	for _, l := range over {
		why := endText(l.End)
		if counts[why]++; counts[why] == 1 {
			order = append(order, why)
		}
	}
	var parts []string
	if len(over) == 1 {
		return order[0]
	}
	for _, why := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	return strings.Join(parts, ", ")
}

func endText(end logs.End) string {
	switch end {
	case logs.EndSignal:
		return "by a signal or by systemd"
	case logs.EndPanic:
		return "by a panic"
	case logs.EndFatal:
		return "by a fatal error of its own"
	case logs.EndOOM:
		return "by the OOM killer"
	case logs.EndWatchdog:
		return "by systemd's watchdog"
	}
	return "for an unknown reason"
}

func lifeText(l logs.Life) string {
	name := "A kubelet"
	if l.PID != 0 {
		name = fmt.Sprintf("Process %d", l.PID)
	}
	s := name + " ended " + endText(l.End)
	if l.Last != nil {
		s += "; its last line is of " + logview.Moment(l.Last)
	}
	if seconds := logview.Between(l.Started, l.Last); seconds > 0 {
		s += ", " + text.Duration(seconds) + " after its start"
	}
	return s + "."
}

// through says whether a run is past its start, or the log does not show it.
func through(l logs.Life) bool {
	return l.Started == nil || l.Stage == "" || l.Stage == logs.StartSyncLoop || l.Stage == logs.StartRegistered
}

// startWaits says how far the last start came and what comes next; false for an unknown stage.
func startWaits(p *forensics.Pass, l logs.Life) (string, bool) {
	next, ok := map[logs.StartStage]string{
		logs.StartVersion:          "a client certificate or the API server (bootstrap), then cAdvisor. cAdvisor reads the size of file systems: a dead one blocks the start here (NFS from 1.21 to 1.31)",
		logs.StartCAdvisor:         "cAdvisor or the container manager. cAdvisor reads the size of file systems: a dead one blocks the start here (NFS from 1.21 to 1.31)",
		logs.StartContainerManager: "the container runtime's socket, or a checkpoint of the CPU, memory or device manager",
		logs.StartRuntime:          "the kubelet's own server",
		logs.StartServer:           "the volume manager",
		logs.StartVolumeManager:    "the reconstruction of volumes (1.28 and later), or the sync loop",
	}[l.Stage]
	if !ok {
		return "", false
	}
	s := fmt.Sprintf("The last start, at %s, reached the stage %q. Next it waits for %s.", logview.Moment(l.Started), l.Stage, next)
	if seconds := logview.Between(l.Started, logview.KubeletEnd(p)); seconds > 0 {
		s += " The log continues for " + text.Duration(seconds) + " after the start."
	}
	return s, true
}
