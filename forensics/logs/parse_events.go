package logs

import (
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/kubectl"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// event reads an Event of the API. Its message is what the reporting program would log.
func (p *lineParser) event(e *entry, s *shape, text string) bool {
	api, ok := kubectl.ParseEvent(text)
	if !ok {
		return false
	}
	s.push(layerEvent)
	s.head = true
	s.stamp(e, api.Last, true)
	p.report(e, &api)
	return true
}

// report makes a line that of an event.
func (p *lineParser) report(e *entry, api *kubectl.Event) {
	e.Origin = reporter(api)
	e.Severity = 'I'
	if api.Type == "Warning" {
		e.Severity = 'W'
	}
	e.Message = api.Message
	if _, inner, ok := strings.Cut(api.Message, "Error: "); ok && inner != "" && strings.HasPrefix(api.Message, "Error: ") {
		e.Message = inner
	}
	e.Raw = clip(api.String())
	e.API = api
	e.Host, e.HostSure = api.Host, e.Severity == 'W' || api.Reason == "NodeNotReady" // the nodes of a rollout are no nodes to judge
}

// recordedEvent is how programs log the events that they report, up to 1.18 (k8s.io/client-go/tools/record/event.go, StartLogging).
var recordedEvent = pattern.New(`^Event\((?:v1|api)\.ObjectReference\{Kind:"(\w+)", Namespace:"([^"]*)", Name:"([^"]*)", UID:"([^"]*)".*?FieldPath:"([^"]*)"\}\): type: '(\w+)' reason: '(\w+)' (.*)$`)

// recorded makes an event of the API of a line with which a controller logs that it reports one. The kubelet logs what it reports in other
// words, too; a controller runs in a container, as process 1.
func (p *lineParser) recorded(e *entry, s *shape) {
	const manager = "kube-controller-manager"
	if e.Source != "event.go" || e.PID != 1 || e.Origin != "" || p.origin != "" && p.origin != manager || s.has(layerCRI) || s.has(layerDocker) {
		return
	}
	api := kubectl.Event{Count: 1}
	if m := recordedEvent.FindStringSubmatch(e.Message); m != nil {
		api.Kind, api.Namespace, api.Name, api.UID, api.Type, api.Reason, api.Message = m[1], m[2], m[3], m[4], m[6], m[7], m[8]
		api.Container = kubectl.ContainerOf(m[5])
	} else if e.Message == "Event occurred" && e.Get("reason") != "" { // since 1.19
		api.Kind, api.Type, api.Reason, api.Message = e.Get("kind"), e.Get("type"), e.Get("reason"), e.Get("message")
		api.Namespace, api.Name, _ = strings.Cut(e.Get("object"), "/")
		if api.Name == "" {
			api.Namespace, api.Name = "", api.Namespace
		}
		api.Container = kubectl.ContainerOf(e.Get("fieldPath"))
	} else {
		return
	}
	if api.Kind == "Node" {
		api.Host = api.Name
	}
	p.report(e, &api)
}

// reporter is the program that has reported an event, as logs call it. Tables of events do not say: most that matter here are
// the kubelet's.
func reporter(api *kubectl.Event) string {
	switch c := api.Component; {
	case c == "kubelet":
		return "kubelet"
	case strings.HasSuffix(c, "-controller"), strings.HasSuffix(c, "controllermanager"), strings.HasSuffix(c, "controller-manager"):
		return "kube-controller-manager"
	case c == "kernel-monitor": // of the node problem detector, which quotes the kernel
		return "kernel"
	case c != "":
		return c
	}
	switch api.Reason {
	case "FailedAttachVolume", "SuccessfulAttachVolume", "TaintManagerEviction", "FailedDetachVolume":
		return "kube-controller-manager"
	case "Scheduled", "FailedScheduling", "Preempted":
		return "kube-scheduler"
	case "TaskHung", "UnregisterNetDevice", "KernelOops", "Ext4Error", "Ext4Warning", "IOError", "XfsHasShutdown": // of the node problem detector
		return "kernel"
	}
	return "kubelet"
}

// about is the subject of an event.
func about(api *kubectl.Event) (s Subject) {
	s.Node, s.Container = cut(api.Host, maxName), cut(api.Container, maxName)
	if api.Kind != "Pod" {
		return s
	}
	s.PodName = api.Name
	if api.Namespace != "" {
		s.PodName = api.Namespace + "/" + api.Name
	}
	s.PodName = cut(s.PodName, maxName)
	if isUID(api.UID) {
		s.PodUID = api.UID
	}
	return s
}

// maxReported is how many events of the API are kept until all were read.
const maxReported = 20_000

// A report is an event of the API. They are put into their order when all were read, since no list of them has one that can be relied on.
type report struct {
	file string
	occurrence
}

// reported counts the events of the API in the order of their times. What happened to a pod before its containers were started is over.
func (f *folder) reported() {
	started, scheduled, changed := map[string]time.Time{}, map[string]time.Time{}, map[string]*kubectl.Event{}
	pulled, created := map[string]*kubectl.Event{}, map[string]time.Time{}
	for _, r := range f.reports {
		if id := podOf(r.Subject); r.Kind == kindPodStarted {
			switch r.Entry.API.Reason {
			case "Pulled":
				if pulled[id] == nil || r.Time.After(pulled[id].Last) {
					pulled[id] = r.Entry.API
				}
			case "Created", "Started":
				if r.Time.After(created[id]) {
					created[id] = r.Time
				}
			}
		}
		if id := r.pod(); id != "" && r.Kind == kindPodStarted && !r.Time.Before(started[id]) {
			started[id] = r.Time
		}
		switch id := podOf(r.Subject); {
		case r.Kind == kindSandboxChanged && (changed[id] == nil || r.Time.After(changed[id].Last)):
			changed[id] = r.Entry.API
		case id == "":
		case r.Kind == kindPodScheduled && !r.Time.Before(scheduled[id]):
			scheduled[id] = r.Time
		}
	}
	sortReports(f.reports)
	for _, r := range f.reports {
		at, ok := started[r.pod()]
		if r.Kind == kindPodStarted {
			f.operations.started(r.Subject)
		} else if ok && !at.Before(r.Time) && beforeStart[r.Kind] {
			r.Kind = noiseBeforeStart
		}
		// The kubelet looks for the image before each try to create a container.
		if again := pulled[podOf(r.Subject)]; again != nil && r.Kind == kindContainerCreateFailed && again.Last.After(r.Time) && !created[podOf(r.Subject)].After(r.Time) {
			r.Time = again.Last
			r.Entry.API.Count = max(r.Entry.API.Count, again.Count)
		}
		if since := scheduled[podOf(r.Subject)]; !ok && !since.IsZero() && beforeStart[r.Kind] {
			lasts(r.Entry.API, since)
		}
		if again := changed[podOf(r.Subject)]; !ok && again != nil && again.Last.After(r.Time) && (r.Kind == KindSandboxCreateFailed || r.Kind == kindCNIAddFailed) {
			r.Time = again.Last // the API server takes no more than an event in five minutes, and the kubelet has gone on
			r.Entry.API.Count = max(r.Entry.API.Count, again.Count)
		}
		f.count(r.file, r.occurrence)
		if r.Kind != noiseBeforeStart {
			f.operations.add(r.file, r.occurrence, f.drop)
		}
	}
}

// pod identifies the pod of an event. Rows of one file that name no pod are what `kubectl describe pod` prints of one.
func (r report) pod() string {
	id, api := podOf(r.Subject), r.Entry.API
	if id == "" && api.Name == "" && (api.Kind == "Pod" || api.Message == "Node is not ready") {
		return "\x00" + r.file // no name begins so
	}
	return id
}

// podOf identifies the pod of an event.
func podOf(s Subject) string {
	if s.PodName != "" {
		return s.PodName
	}
	return s.PodUID
}

// beforeStart are troubles of a pod that are over when a container of it was started.
var beforeStart = map[Kind]bool{
	KindVolumesNotMounted: true, KindSandboxCreateFailed: true, kindCNIAddFailed: true, kindNetworkNotReady: true, KindOperationFailed: true,
	kindMountFailed: true, kindDeviceMountFailed: true, kindAttachFailed: true, KindCSIDriverMissing: true, KindCSIAborted: true, KindCSIDeadline: true,
	KindCSIUnavailable: true, KindCSIFailed: true,
	kindNodeNotReady: true, // a kubelet that reports what it has started reports that the node is ready, too
}

// times is how often a line says that something happened.
func (e *entry) times() int64 {
	if e.API != nil {
		return e.API.Count
	}
	return 1
}

// since is when that happened first.
func (e *entry) since() time.Time {
	if e.API != nil && !e.API.First.IsZero() {
		return e.API.First
	}
	return e.Time
}

func sortReports(list []report) {
	sorting.Stable(list, func(a, b report) int { return a.Time.Compare(b.Time) })
}

const (
	// tryingLong is for how long the kubelet has tried three times at least, whatever it does: it waits for five minutes at most, and much
	// less at first.
	tryingLong = 8 * time.Minute
	fewTries   = 3
)

// lasts says of an event of a table without counts that the trouble lasts since the pod was scheduled.
func lasts(api *kubectl.Event, since time.Time) {
	if api.Count > 1 || api.First.Before(api.Last) || api.Last.Sub(since) < tryingLong {
		return
	}
	api.First, api.Count = since, fewTries
}
