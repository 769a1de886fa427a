package logs

import (
	"cmp"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// operationID identifies operations of which the kubelet runs one at a time: a direction, a volume and a pod.
type operationID struct {
	away            bool
	device          bool
	uniqueName, pod string
}

type operation struct {
	Operation
	started, failed time.Time
	running         bool
	first, last     Quote
	quotes          int
}

// operations follows the volume operations that have not ended well.
type operations struct {
	open map[operationID]*operation
	// pods counts the open operations of each pod.
	pods map[string]int
}

// operationStarts and operationEnds are the kinds that begin and end operations.
var operationStarts = map[Kind]string{
	kindAttachVerifyStarted: opVerify, kindAttachStarted: opAttachVolume, kindMountStarted: opMountVolume,
	kindUnmountStarted: opUnmountVolume, kindDeviceUnmountStart: opUnmountDevice,
}

var operationEnds = map[Kind]string{
	kindAttachDone: opAttachVolume, kindMountDone: opMountVolume, KindUnmountDone: opUnmountVolume,
	KindDeviceUnmounted: opUnmountDevice, KindVolumeDetached: "",
}

// operationFails says whether a line is the end of an operation that failed. Of an event, people often quote the message alone; of a step that
// succeeded, too.
func operationFails(o *occurrence) bool {
	if o.Kind == kindAttachWaiting || o.Kind == kindAttachWaited || o.Kind == kindDeviceMounted {
		return false
	}
	return (ofEvent(o) || ofTearDown(o)) && operationOf(o.Entry.Message) != "" || strings.HasPrefix(o.Entry.Message, multiAttach) || strings.HasPrefix(o.Entry.Message, "Operation for ") || strings.HasPrefix(o.Entry.Message, "operation {")
}

// ofEvent says whether a line may be an event of the API, or the message of one.
func ofEvent(o *occurrence) bool { return o.Entry.API != nil || o.Entry.Bare && o.Entry.Time.IsZero() }

// ofTearDown says whether a line is about a volume of which tearDown has read the error.
func ofTearDown(o *occurrence) bool { return strings.HasPrefix(o.Entry.Message, tearDownFailed) }

func (s *operations) add(file string, o occurrence, drop func(Kind)) {
	if o.UniqueName == "" && (!ofEvent(&o) && !ofTearDown(&o) || o.Volume == "") {
		return
	}
	if name, ok := operationStarts[o.Kind]; ok {
		if op := s.at(idOf(name, o.Subject), o.Kind, drop); op != nil {
			op.start(name, file, o)
		}
		return
	}
	if name, ok := operationEnds[o.Kind]; ok {
		s.end(name, o.Subject)
		return
	}
	if text := o.Entry.Message; strings.HasPrefix(text, "operationExecutor.") && strings.Contains(text, " failed (controllerAttachDetachEnabled ") {
		s.forget(idOf(operationOf(text), o.Subject)) // it did not even begin
		return
	}
	if operationFails(&o) {
		name := operationOf(o.Entry.Message)
		if op := s.at(idOf(name, o.Subject), o.Kind, drop); op != nil {
			op.fail(name, file, o)
		}
	}
}

func idOf(name string, s Subject) operationID {
	id := operationID{uniqueName: cmp.Or(s.UniqueName, s.Volume), pod: cmp.Or(s.PodUID, s.PodName)}
	switch name {
	case opUnmountVolume:
		id.away = true
	case opUnmountDevice:
		id.away, id.device, id.pod = true, true, ""
	case opAttachVolume:
		id.device, id.pod = true, ""
	}
	return id
}

// at is the operation of an identity, a new one where there is room.
func (s *operations) at(id operationID, k Kind, drop func(Kind)) *operation {
	op := s.open[id]
	if op == nil {
		if len(s.open) >= maxTracked {
			drop(k)
			return nil
		}
		op = new(operation)
		s.open[id] = op
		s.pods[id.pod]++
	}
	return op
}

func (op *operation) start(name, file string, o occurrence) {
	reason, code := op.Reason, op.Code
	op.Subject = o.Subject
	op.Reason, op.Code = reason, code // of the last failure
	op.Name, op.started, op.running = name, o.Time, true
	op.note(quote(file, o.Entry))
}

func (op *operation) fail(name, file string, o occurrence) {
	volume, pod := op.Volume, op.PodName
	op.Subject = o.Subject
	op.Volume, op.PodName = cmp.Or(o.Volume, volume), cmp.Or(o.PodName, pod)
	op.Name = cmp.Or(name, op.Name)
	op.failed, op.running = o.Time, false
	op.Failures += o.Entry.times()
	if op.started.IsZero() && o.Entry.API != nil {
		op.started = o.Entry.since()
	}
	op.RetrySeconds = o.Number
	op.note(quote(file, o.Entry))
}

func (op *operation) note(q Quote) {
	if op.quotes == 0 {
		op.first = q
	}
	op.last = q
	op.quotes++
}

// end forgets an operation that ended well. A volume that was detached has no operation any more.
func (s *operations) end(name string, v Subject) {
	if name != "" {
		s.forget(idOf(name, v))
		return
	}
	s.forget(operationID{uniqueName: v.UniqueName, away: true, device: true})
	s.forget(operationID{uniqueName: v.UniqueName, device: true})
}

func (s *operations) forget(id operationID) {
	if _, ok := s.open[id]; !ok {
		return
	}
	delete(s.open, id)
	if s.pods[id.pod]--; s.pods[id.pod] <= 0 {
		delete(s.pods, id.pod)
	}
}

// started forgets what kept a pod from its volumes: a container of it was started.
func (s *operations) started(pod Subject) {
	for id, op := range s.open {
		if !id.away && podOf(pod) != "" && podOf(op.Subject) == podOf(pod) {
			s.forget(id)
		}
	}
}

// gone forgets the operations of a pod that no longer exists.
func (s *operations) gone(uid string) {
	if uid == "" || s.pods[uid] == 0 {
		return
	}
	for id := range s.open {
		if id.pod == uid {
			s.forget(id)
		}
	}
}

// restarted forgets what ran in a kubelet that is no more. What failed stays: the next one has to do it.
func (s *operations) restarted() {
	for id, op := range s.open {
		op.running = false
		if op.Failures == 0 {
			s.forget(id)
		}
	}
}

// unmounts are the operations away from the node of a pod.
func (s *operations) unmounts(uid string) []*operation {
	var found []*operation
	for id, op := range s.open {
		if id.away && uid != "" && op.PodUID == uid {
			found = append(found, op)
		}
	}
	sorting.Stable(found, func(a, b *operation) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.UniqueName, b.UniqueName), cmp.Compare(a.Volume, b.Volume))
	})
	return found
}

func (s *operations) list() []Operation {
	out := make([]Operation, 0, len(s.open))
	for _, op := range s.open {
		if op.Name == opVerify && op.Failures == 0 {
			continue // it has no line for its success
		}
		o := op.Operation
		if !op.started.IsZero() {
			t := op.started
			o.Started = &t
		}
		if !op.failed.IsZero() {
			t := op.failed
			o.Failed = &t
		}
		o.Quotes = []Quote{op.first}
		if op.quotes > 1 {
			o.Quotes = append(o.Quotes, op.last)
		}
		out = append(out, o)
	}
	sorting.Stable(out, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), compareTimes(a.Started, b.Started),
			cmp.Compare(a.UniqueName, b.UniqueName), cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.PodName, b.PodName),
			cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxEvents)]
}
