package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// volumeMountFailing finds volumes that cannot be mounted, by the kubelet's log.
var volumeMountFailing = forensics.Check{
	ID:    "volume-mount-failing",
	Title: "A volume cannot be mounted",
	Doc: `"Operation for … failed", "Unable to attach or mount volumes": the kubelet tries again, at least every 2 min 2 s. A volume whose last try
failed is a warning from the third failure on, which its wait until the next try tells, too; once it is mounted, it is left out. Of a few lines that were picked
from a log, one failure at their end is possible. A driver that is not registered or is stuck in a call
has checks of its own. Pods that wait for volumes of which no failure is logged are reported by their pod: most often the volume is not
attached, or a call of the driver has not returned. On a volume with millions of files the kubelet may take minutes to change their
ownership (fsGroup).`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		pods := map[string]bool{}
		failingVolumes(p, "MountVolume", "MountDevice").report(p, "mounted", pods)
		unattached := failingVolumes(p, "AttachVolume", "VerifyControllerAttachedVolume")
		for _, list := range [][]volumeOperation{unattached, brokenDrivers(p)} {
			for _, o := range list {
				pods[cmp.Or(o.PodUID, o.PodName)] = true
				if o.PodName != "" { // the messages of others may name it without its UID
					pods[o.PodName] = true
				}
			}
		}
		waiting := incident.Spec{Few: 2, Waited: true, Kubelet: true, Window: 5 * time.Minute, Subject: func(e logs.Event) forensics.Entity {
			pod := incident.PodOf(p, e)
			if pod.Kind == "" && e.Volume != "" && !pods[""] { // an event that was quoted alone
				return incident.Thing(forensics.KindVolume, e.Volume)
			}
			if pods[pod.ID] || e.PodName != "" && pods[e.PodName] {
				return forensics.Entity{}
			}
			return pod
		}, Ended: func(waits forensics.Entity) *time.Time { // a container is started once the volumes of its pod are mounted
			return logview.Last(sorting.Delete(logview.Events(p, "pod-started"), func(e logs.Event) bool {
				pod := incident.PodOf(p, e)
				return pod != waits && (pod.Kind != "" || waits.Kind != forensics.KindVolume)
			}))
		}}
		waits := waiting.Find(p, logview.Events(p, logs.KindVolumesNotMounted, "subpath-failed"))
		for _, i := range waits {
			reportWaitingPod(p, i, unattached)
		}
		if len(waits) == 0 {
			reportOwnership(p)
		}
		reportRejected(p)
		reportCSIErrors(p, "csi-call-failed", "cannot mount or unmount volumes", "could not mount or unmount volumes")
	},
}

// rootMismatch has the kubelet leave the files of a volume alone.
var rootMismatch = forensics.Remedy{
	Action: remedy.ActionConfigure, Instruction: "Set securityContext.fsGroupChangePolicy: OnRootMismatch in the pod",
	Why: "the kubelet then changes the files only if the owner of the volume's root directory differs", OnlyIf: "the files have the right group already",
	Risk: "files with another group stay as they are",
}

// reportOwnership reports pods that wait until the kubelet has changed the ownership of all files of a volume, where no other message says
// that they wait. The kubelet says after 30 s that it is slow; new ones say each minute how far they are (pkg/volume/volume_linux.go).
func reportOwnership(p *forensics.Pass) {
	spec := incident.Spec{Few: 2, Kubelet: true, Subject: func(e logs.Event) forensics.Entity { return incident.PodOf(p, e) }, Ended: func(waits forensics.Entity) *time.Time {
		// Volumes that are mounted are counted without a name; it may be this one.
		return logview.Last(sorting.Delete(logview.Events(p, "pod-started", "mount-done"), func(e logs.Event) bool {
			return e.Kind == "pod-started" && incident.PodOf(p, e) != waits
		}))
	}}
	for _, i := range spec.Find(p, logview.Events(p, "volume-ownership")) {
		i.Expect(p, logview.FewFailures)
		name := findings.PodTitle(p, i.Subject.ID)
		f := i.Finding(p, name+" waits: the kubelet changes the ownership of all files of a volume", name+" waited: the kubelet changed the ownership of all files of a volume")
		f.Lone = false // mostly, it takes a moment
		if i.Grave() {
			f.Remedies = []forensics.Remedy{rootMismatch}
		}
		p.ReportAlike("ownership", func(n int) string {
			return findings.Plural(n, "pod") + " cannot start: the kubelet changes the ownership of files"
		}, f)
	}
}

// reportRejected reports volumes that the kubelet does not begin to mount. It tries again every 100 ms.
func reportRejected(p *forensics.Pass) {
	spec := incident.Spec{Kubelet: true, Subject: func(e logs.Event) forensics.Entity {
		return cmp.Or(incident.PodOf(p, e), logview.VolumeEntity(p, e.Subject))
	}}
	for _, i := range spec.Find(p, logview.Events(p, "volume-rejected")) {
		i.Expect(p, logview.FewFailures)
		name := "Volume " + cmp.Or(i.Events[0].Volume, "(not named)")
		if i.Subject.Kind == forensics.KindPod {
			name += " of " + lower(findings.PodTitle(p, i.Subject.ID))
		}
		f := i.Finding(p, name+" cannot be mounted", name+" could not be mounted")
		f.Effect = "volumes cannot be mounted"
		if i.Grave() {
			f.Remedies = []forensics.Remedy{describePod(i.Events[0].PodName)}
		}
		p.ReportAlike("rejected", func(n int) string {
			return findings.Plural(n, "volume") + " cannot be mounted: the kubelet does not accept them"
		}, f)
	}
}

// reportCSIErrors reports what the own log of a CSI driver or of its sidecars says. Which driver it is, it does not say.
func reportCSIErrors(p *forensics.Pass, kind logs.Kind, now, then string) {
	spec := incident.Spec{Window: 6 * time.Minute, Subject: func(logs.Event) forensics.Entity { return logview.DriverEntity("") }}
	for _, i := range spec.Find(p, logview.Events(p, kind)) {
		i.Expect(p, logview.FewFailures)
		f := i.Finding(p, "CSI driver "+now, "CSI driver "+then)
		f.ConfidenceWhy = "the log of the driver says so; which driver it is, it does not say"
		if i.Grave() {
			f.Remedies = []forensics.Remedy{describePod("")}
		}
		p.Report(f)
	}
}

// reportWaitingPod reports a pod whose volumes are not mounted in time. The only volume that cannot be attached is the reason, if nothing
// says whose it is: the attachment is of the node, and its messages name no pod.
func reportWaitingPod(p *forensics.Pass, i incident.Incident, unattached volumeOperations) {
	name := "A pod"
	if i.Subject.Kind == forensics.KindPod {
		name = findings.PodTitle(p, i.Subject.ID)
	}
	what := "its volumes"
	if v := i.Events[len(i.Events)-1].Volume; v != "" {
		what = "volume " + v
	}
	f := i.Finding(p, name+" has been waiting for "+what, name+" was waiting for "+what)
	f.Confidence = forensics.Possible
	if i.Grave() {
		f.Remedies = []forensics.Remedy{describePod(i.Events[0].PodName)}
	}
	if len(unattached) == 1 && unattached[0].PodUID == "" && unattached[0].PodName == "" {
		f.Because = []forensics.Entity{logview.VolumeEntity(p, unattached[0].Subject)}
		f.Detail = findings.Sentences(f.Detail, "Most likely it waits for "+logview.OperationVolume(unattached[0].Operation)+", which cannot be attached.")
	}
	for _, e := range logview.Events(p, "volume-ownership") {
		uid := logview.UIDOf(p, i.Events[0].Subject)
		if uid != "" && e.PodUID != uid {
			continue
		}
		f.Detail = findings.Sentences(f.Detail, "Before, the kubelet began to change the ownership of all files below "+e.Path+" (fsGroup). "+
			"On a volume with many files this takes longer than the kubelet waits.")
		f.Refs = append(f.Refs, logview.EventRefs(e)...)
		if i.Grave() {
			f.Remedies = append(f.Remedies, rootMismatch)
		}
		break
	}
	p.ReportAlike("waits for volumes", func(n int) string { return findings.Plural(n, "pod") + " cannot start: volumes are not mounted" }, f)
}

// describePod shows a pod, "namespace/name"; "" where it is not known.
func describePod(name string) forensics.Remedy {
	return incident.Look("shows the events of the pod, with the last error in full", append([]string{"kubectl", "describe", "pod"}, remedy.PodArguments(name)...)...)
}

// A volumeOperation is the last try of an operation of a volume.
type volumeOperation struct{ logs.Operation }

// volumeOperations are failing operations of one direction.
type volumeOperations []volumeOperation

// failingVolumes are operations whose last try failed, of these names, without those that other checks explain: a driver that is not
// registered, one that is stuck in a call, a mount that is in use.
func failingVolumes(p *forensics.Pass, names ...string) volumeOperations {
	var found volumeOperations
	broken := map[string]bool{}
	for _, o := range brokenDrivers(p) {
		broken[o.Driver] = true
	}
	for _, o := range logview.Story(p).Operations {
		driver := logview.DriverOf(o.Subject)
		if !slices.Contains(names, o.Name) || o.Failures == 0 || driver != "" && broken[driver] || !logview.AfterStart(p, o.Failed) {
			continue
		}
		found = append(found, volumeOperation{o})
	}
	return found
}

// brokenDrivers are drivers that csi-driver-missing or csi-operation-stuck report, as operations without a name.
func brokenDrivers(p *forensics.Pass) (found []volumeOperation) {
	for _, e := range logview.Events(p, logs.KindCSIDriverMissing) {
		found = append(found, volumeOperation{logs.Operation{Subject: logs.Subject{Driver: logview.DriverOf(e.Subject), PodUID: logview.UIDOf(p, e.Subject)}}})
	}
	for _, t := range csiInLog(p) {
		found = append(found, volumeOperation{logs.Operation{Subject: logs.Subject{Driver: t.driver}}})
		for _, e := range t.events {
			found = append(found, volumeOperation{logs.Operation{Subject: logs.Subject{Driver: t.driver, PodUID: logview.UIDOf(p, e.Subject)}}})
		}
	}
	return found
}

// report reports the operations, "mounted" or "attached" being what they failed to do, and notes their pods.
func (list volumeOperations) report(p *forensics.Pass, done string, pods map[string]bool) {
	for _, o := range list {
		o.PodUID = logview.UIDOf(p, o.Subject)
		failures := max(o.Failures, failuresBefore(o.RetrySeconds))
		window := max(150*time.Second, time.Duration(2*o.RetrySeconds)*time.Second)
		if o.RetrySeconds == 0 { // events
			if window = 15 * time.Minute; o.Failures > manyEvents {
				window = 30 * time.Minute
			}
			window = incident.ForEvents(p, o.Failed, window)
		}
		current := logview.Within(o.Failed, logview.KubeletEnd(p), window)
		lasting := o.Code == "Multi-Attach" // which is said once, and lasts until the volume is attached
		over := logview.SaidOver(p, logs.Event{Quotes: o.Quotes})
		picked := failures < logview.FewFailures && !lasting && (logview.Picked(p, o.Failed) || waitedFor(p, o.Failed)) && !passing(o.Reason)
		f := o.finding(p, done, !over && (lasting || current && failures >= logview.FewFailures || picked))
		if picked {
			f.Confidence, f.ConfidenceWhy = forensics.Possible, incident.FewLines
		}
		if grave := f.Severity == forensics.Warning; o.PodUID != "" || grave {
			pods[cmp.Or(o.PodUID, o.PodName)] = true
		}
		what := [2]string{o.Code, logview.DriverOf(o.Subject)}
		p.ReportAlike(what, func(n int) string {
			title := findings.Plural(n, "volume") + " cannot be " + done
			if what[1] != "" {
				title += " by CSI driver " + what[1]
			}
			return headline.Fit(title + ": " + cmp.Or(what[0], "see the details"))
		}, f)
	}
}

// waitedFor says whether, in lines that somebody has picked, a pod still waited for its volumes after a failure, and before the next try.
func waitedFor(p *forensics.Pass, failed *time.Time) bool {
	const pause = 2*time.Minute + 2*time.Second
	last := logview.Last(logview.Events(p, logs.KindVolumesNotMounted))
	return failed != nil && last != nil && !last.Before(*failed) && last.Sub(*failed) <= pause && logview.Picked(p, last)
}

// passing says whether the kubelet mounts the volume at the next try, as a rule, since it has just been told of the pod, and not yet of its secrets,
// or does not need it any more, since the pod has ended (pkg/kubelet/util/manager).
func passing(reason string) bool {
	return strings.Contains(reason, "failed to sync ") && strings.Contains(reason, " cache: timed out") || strings.HasSuffix(strings.TrimRight(reason, "]. "), "not registered")
}

// manyEvents is half of the 25 events of one object that a program sends at once; of the later ones it sends one in five minutes, whatever they
// say (client-go, tools/record, events_cache.go). Two things that fail in turns share them: a volume that cannot be mounted, and the pod that
// waits for it.
const manyEvents = 12

// failuresBefore is how many tries in a row failed before the kubelet waits that long until the next: 500 ms after the first, twice as long
// after each other one, 2 min 2 s at most (pkg/util/goroutinemap/exponentialbackoff).
func failuresBefore(retrySeconds float64) int64 {
	n := int64(0)
	for wait := 0.5; wait <= retrySeconds && n < 9; wait *= 2 {
		n++
	}
	return n
}

// lastAt says when something happened last, as far as that is known.
func lastAt(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ", last at " + logview.Moment(t)
}

func (o volumeOperation) finding(p *forensics.Pass, done string, grave bool) forensics.Finding {
	name := findings.Capital(logview.OperationVolume(o.Operation))
	first := o.Started
	for _, q := range o.Quotes {
		first = logview.Earliest(first, q.Time)
	}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: logview.VolumeEntity(p, o.Subject), Since: first, Pods: findings.UIDs(o.PodUID), Refs: logview.Refs(o.Quotes...),
		Confidence: forensics.Likely, ConfidenceWhy: "the kubelet's log says so, and no later line says that it worked",
		Title: name + " cannot be " + done, Effect: "volumes cannot be " + done,
	}
	if o.PodUID != "" || o.PodName != "" {
		f.Title += " for pod " + cmp.Or(o.PodName, strings.TrimPrefix(findings.PodTitle(p, o.PodUID), "Pod "))
	}
	if driver := logview.DriverOf(o.Subject); driver != "" {
		f.Detail = "CSI driver: " + driver + "."
	}
	f.Detail = findings.Sentences(f.Detail, findings.Capital(o.Name)+" failed "+findings.Times(o.Failures)+lastAt(o.Failed)+".")
	if reason := strings.Join(strings.Fields(o.Reason), " "); reason != "" {
		f.Detail += " Last error: " + strings.TrimRight(reason, ".") + "."
		f.Title = headline.Fit(f.Title + ": " + incident.Short(reason, max(24, headline.Most-len(f.Title)-2)))
	}
	if done == "mounted" && (o.Code == "ENOSPC" || strings.Contains(strings.ToLower(o.Reason), "no space left on device")) {
		f.Because = append(f.Because, fullMounts(p)...)
	}
	if done == "unmounted" {
		f.Because = append(f.Because, leaksIn(p, o.Reason)...)
	}
	dead := o.Code == "ENOTCONN" || o.Code == "ESTALE"
	if dead {
		f.Detail += " The mount that the kubelet finds there is dead: its server has ended or forgotten it."
	}
	if dead || strings.Contains(o.Reason, "mkdir /") && strings.Contains(o.Reason, ": file exists") { // stat(2) of a dead mount fails, and os.MkdirAll goes on
		f.Because = sorting.Delete(deadMounts(p, o.Volume), func(e forensics.Entity) bool { return e == f.Subject })
	}
	f.Title = headline.Fit(f.Title)
	byReadOnly(p, &f, o.Reason)
	if grave {
		f.Severity = forensics.Warning
		f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
		f.Remedies = []forensics.Remedy{describePod(o.PodName)}
	}
	if silent, _, _ := logview.SyncLoop(p); silent != nil && done == "unmounted" {
		f.Because = []forensics.Entity{stall.SyncLoopEntity}
	}
	return f
}
