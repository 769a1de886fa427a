// Package kubectl reads what kubectl prints for people: tables of events and of nodes, descriptions, and objects of the API as YAML or
// JSON beside prose. Events become lines of JSON, as "kubectl get events -o json | jq -c .items[]" prints them.
package kubectl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// An Event is what matters of an Event of the API.
type Event struct {
	Type, Reason, Message string
	// Kind, Namespace, Name and UID are those of the object that it is about; each may be "". Container is the container of a pod.
	Kind, Namespace, Name, UID, Container string
	// Component is the program that reported it, Host its node; "" where that is not known.
	Component, Host string
	// Count is how often it was reported, at least 1; First and Last are when, zero where that is not known.
	Count       int64
	First, Last time.Time
}

// object is an Event of core/v1 or of events.k8s.io/v1.
type object struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion,omitempty"`
	Type       string    `json:"type,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	Note       string    `json:"note,omitempty"`
	Involved   reference `json:"involvedObject"`
	Regarding  reference `json:"regarding,omitzero"`
	Source     source    `json:"source,omitzero"`
	OldSource  source    `json:"deprecatedSource,omitzero"`
	Component  string    `json:"reportingComponent,omitempty"`
	Controller string    `json:"reportingController,omitempty"`
	Instance   string    `json:"reportingInstance,omitempty"`
	Count      int64     `json:"count,omitempty"`
	OldCount   int64     `json:"deprecatedCount,omitempty"`
	First      moment    `json:"firstTimestamp,omitzero"`
	Last       moment    `json:"lastTimestamp,omitzero"`
	OldFirst   moment    `json:"deprecatedFirstTimestamp,omitzero"`
	OldLast    moment    `json:"deprecatedLastTimestamp,omitzero"`
	At         moment    `json:"eventTime,omitzero"`
	Series     *series   `json:"series,omitempty"`
	Metadata   struct {
		Namespace string `json:"namespace,omitempty"`
		Created   moment `json:"creationTimestamp,omitzero"`
	} `json:"metadata,omitzero"`
}

type reference struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	FieldPath string `json:"fieldPath,omitempty"`
}

type source struct {
	Component string `json:"component,omitempty"`
	Host      string `json:"host,omitempty"`
}

type series struct {
	Count int64  `json:"count,omitempty"`
	Last  moment `json:"lastObservedTime,omitzero"`
}

// moment is a time of the API; zero where it is none: one bad time must not cost the event.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(text []byte) error {
	if t, err := time.Parse(time.RFC3339Nano, strings.Trim(string(text), `"`)); err == nil {
		m.Time = t.UTC()
	}
	return nil
}

// ParseEvent reads an object of the API; false if it is no event.
func ParseEvent(text string) (Event, bool) {
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.Kind != "Event" {
		return Event{}, false
	}
	about := o.Involved
	if about == (reference{}) {
		about = o.Regarding
	}
	e := Event{
		Type: o.Type, Reason: o.Reason, Message: cmp.Or(o.Message, o.Note),
		Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID, Container: ContainerOf(about.FieldPath),
		Component: cmp.Or(o.Source.Component, o.OldSource.Component, o.Component, o.Controller),
		Host:      cmp.Or(o.Source.Host, o.OldSource.Host),
		Count:     max(o.Count, o.OldCount, 1),
		First:     firstOf(o.First, o.OldFirst, o.At, o.Metadata.Created),
		Last:      firstOf(o.Last, o.OldLast, o.At, o.Metadata.Created),
	}
	if e.Host == "" && e.Component == "kubelet" {
		e.Host = o.Instance
	}
	if o.Series != nil {
		e.Count = max(e.Count, o.Series.Count)
		if o.Series.Last.After(e.Last) {
			e.Last = o.Series.Last.Time
		}
	}
	if e.Message, _ = strings.CutPrefix(e.Message, "(combined from similar events): "); e.First.IsZero() || e.First.After(e.Last) {
		e.First = e.Last
	}
	if e.Host == "" && e.Kind == "Node" {
		e.Host = e.Name
	}
	return e, true
}

func firstOf(times ...moment) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t.Time
		}
	}
	return time.Time{}
}

// ContainerOf is the container in "spec.containers{name}".
func ContainerOf(path string) string {
	_, name, ok := strings.Cut(path, "{")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// Line is the event as a line of JSON, with its line end.
func (e Event) Line() []byte {
	o := object{
		Kind: "Event", APIVersion: "v1", Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count,
		Involved: reference{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID},
		Source:   source{e.Component, e.Host}, First: moment{e.First}, Last: moment{e.Last},
	}
	if e.Container != "" {
		o.Involved.FieldPath = "spec.containers{" + e.Container + "}"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o) // of strings and numbers
	return b.Bytes()
}

// String is the event in one line, as kubectl words it.
func (e Event) String() string {
	var b strings.Builder
	word := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	word(e.Type)
	word(e.Reason)
	if !e.Last.IsZero() {
		word(e.Last.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if e.Count > 1 {
		word("(x" + decimal(e.Count) + ")")
	}
	word(e.Component)
	if e.Kind != "Node" {
		word(e.Host)
	}
	if e.Name != "" {
		name := e.Name
		if e.Namespace != "" {
			name = e.Namespace + "/" + name
		}
		word(strings.ToLower(cmp.Or(e.Kind, "object")) + " " + name + ":")
	}
	word(strings.Join(strings.Fields(e.Message), " "))
	return b.String()
}
