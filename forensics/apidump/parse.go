package apidump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxObjects bounds a dump; clusters are supported up to 150,000 pods.
const maxObjects = 1_000_000

// Parse reads a dump. With an error, it returns the objects before it. Objects that cannot be decoded are skipped and counted in the
// error.
func Parse(r io.Reader) (Dump, error) {
	d := NewDump()
	decoders := newDecoders(&d)
	seen := 0
	err := split(r, func(kind string, text []byte) error {
		if seen++; seen > maxObjects {
			return fmt.Errorf("more than %d objects", maxObjects)
		}
		decoders.add(kind, text)
		return nil
	})
	bad, first := decoders.finish()
	switch {
	case err != nil:
	case bad > 0:
		err = fmt.Errorf("%d of %d objects cannot be decoded, first: %w", bad, seen, first)
	}
	return d, err
}

// maxEvents bounds the events: an API server has one hour of them.
const maxEvents = 100_000

// event is an object of kind Event, on one line.
type event []byte

// decoders decode objects on all processors and add them to a dump in their order.
type decoders struct {
	dump  *Dump
	batch []raw
	size  int
	queue chan *work   // in order
	tasks chan<- *work // to whoever is free
	done  chan struct{}
	bad   int
	first error
}

type raw struct {
	kind string
	text []byte
}

type work struct {
	batch   []raw
	objects []any
	bad     int
	first   error
	ready   chan struct{}
}

// batchBytes is how much text is decoded in one go.
const batchBytes = 1 << 20

func newDecoders(d *Dump) *decoders {
	workers := runtime.GOMAXPROCS(0)
	tasks := make(chan *work, workers)
	c := &decoders{dump: d, queue: make(chan *work, 2*workers), tasks: tasks, done: make(chan struct{})}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for w := range tasks {
				w.decode()
				close(w.ready)
			}
		})
	}
	go func() {
		defer close(c.done)
		for w := range c.queue {
			<-w.ready
			c.collect(w)
		}
	}()
	return c
}

func (c *decoders) add(kind string, text []byte) {
	c.batch = append(c.batch, raw{kind, unindented(text)})
	if c.size += len(text); c.size >= batchBytes {
		c.flush()
	}
}

// unindented is a copy of JSON without the indentation that kubectl gives it, which is a third of it. A line break that
// is not escaped cannot be inside of a string.
func unindented(text []byte) []byte {
	short := make([]byte, 0, len(text))
	for {
		line, rest, more := bytes.Cut(text, []byte{'\n'})
		short = append(short, line...)
		if !more {
			return short
		}
		text = bytes.TrimLeft(rest, " ")
	}
}

func (c *decoders) flush() {
	if len(c.batch) == 0 {
		return
	}
	w := &work{batch: c.batch, ready: make(chan struct{})}
	c.batch, c.size = nil, 0
	c.queue <- w
	c.tasks <- w
}

// finish waits for the rest, and says how many objects could not be decoded.
func (c *decoders) finish() (bad int, first error) {
	c.flush()
	close(c.queue)
	close(c.tasks)
	<-c.done
	return c.bad, c.first
}

func (w *work) decode() {
	for _, r := range w.batch {
		object, err := decode(r)
		if err != nil {
			if w.bad++; w.first == nil {
				w.first = err
			}
			continue
		}
		w.objects = append(w.objects, object)
	}
	w.batch = nil
}

func (c *decoders) collect(w *work) {
	if c.bad += w.bad; c.first == nil {
		c.first = w.first
	}
	for _, object := range w.objects {
		switch o := object.(type) {
		case Pod:
			c.dump.Kinds["Pod"]++
			c.dump.Pods = append(c.dump.Pods, o)
		case Node:
			c.dump.Kinds["Node"]++
			c.dump.Nodes = append(c.dump.Nodes, o)
		case Claim:
			c.dump.Kinds["PersistentVolumeClaim"]++
			c.dump.Claims = append(c.dump.Claims, o)
		case Volume:
			c.dump.Kinds["PersistentVolume"]++
			c.dump.Volumes = append(c.dump.Volumes, o)
		case event:
			c.dump.Kinds["Event"]++
			if len(c.dump.Events) < maxEvents {
				c.dump.Events = append(c.dump.Events, o)
			}
		case Object:
			c.dump.Kinds[o.Kind]++
			if slices.Contains(ownerKinds, o.Kind) {
				c.dump.Owners = append(c.dump.Owners, o)
			}
		}
	}
}

// ownerKinds are the kinds of objects that own pods and that matter here.
var ownerKinds = []string{
	"Job", "CronJob", "Workflow", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Deployment",
}

// decode reads one object.
func decode(r raw) (any, error) {
	switch r.kind {
	case "":
		return nil, errors.New("an object without a kind")
	case "Pod":
		var p podObject
		err := unmarshal(r.text, &p)
		return p.pod(), err
	case "Node":
		var n nodeObject
		err := unmarshal(r.text, &n)
		return n.node(), err
	case "Event":
		return event(r.text), nil
	case "PersistentVolumeClaim":
		var c claimObject
		err := unmarshal(r.text, &c)
		return c.claim(), err
	case "PersistentVolume":
		var v volumeObject
		err := unmarshal(r.text, &v)
		return v.volume(), err
	case "Job", "Workflow":
		var o ownerObject
		err := unmarshal(r.text, &o)
		return o.object(r.kind), err
	}
	var any struct {
		Metadata meta `json:"metadata"`
	}
	err := unmarshal(r.text, &any)
	return any.Metadata.object(r.kind), err
}

// unmarshal decodes leniently: a field of another type than expected is left out.
func unmarshal(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// moment is a time of the API, absent where it is none: one bad time must not cost the object.
type moment struct{ *time.Time }

func (m *moment) UnmarshalJSON(text []byte) error {
	if t, err := time.Parse(time.RFC3339, strings.Trim(string(text), `"`)); err == nil {
		t = t.UTC()
		m.Time = &t
	}
	return nil
}

type meta struct {
	Name              string      `json:"name"`
	Namespace         string      `json:"namespace"`
	UID               string      `json:"uid"`
	CreationTimestamp moment      `json:"creationTimestamp"`
	DeletionTimestamp moment      `json:"deletionTimestamp"`
	DeletionGrace     *int64      `json:"deletionGracePeriodSeconds"`
	Finalizers        []string    `json:"finalizers"`
	OwnerReferences   []Owner     `json:"ownerReferences"`
	Annotations       annotations `json:"annotations"`
}

// annotations are those that matter; others can be large.
type annotations struct {
	Mirror string `json:"kubernetes.io/config.mirror"`
}

func (m meta) object(kind string) Object {
	return Object{
		Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, Created: m.CreationTimestamp.Time,
		Deleting: m.DeletionTimestamp.Time, Finalizers: m.Finalizers, Owners: m.OwnerReferences,
	}
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	LastTransitionTime moment `json:"lastTransitionTime"`
}

func (c condition) condition() *Condition {
	return &Condition{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
}
