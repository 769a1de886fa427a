package read

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/internal/kubectl"
)

// APIDump reads objects of the API from a file that was saved at some time, zero where that is unknown. With an error, it
// returns the objects before it. Events are left to [Files], which reads them with the logs.
func APIDump(name string, saved time.Time, r io.Reader) (forensics.Evidence, error) {
	part, events, err := apiDump(name, saved, r)
	if part.Cluster == nil && events != nil {
		err = errors.Join(err, errors.New("events alone"))
	}
	return part, err
}

// apiDump also returns the events, one JSON object a line; nil where there is none. Nodes that are not ready are among them.
func apiDump(name string, saved time.Time, r io.Reader) (part forensics.Evidence, events []byte, err error) {
	dump, err := apidump.Parse(r)
	events = eventLines(&dump)
	if len(dump.Pods)+len(dump.Nodes)+len(dump.Claims)+len(dump.Volumes)+len(dump.Owners) == 0 {
		if events == nil {
			err = errors.Join(err, fmt.Errorf("no pods, nodes, claims, volumes, owners of pods or events in %s", kindsOf(dump)))
		}
		return forensics.Evidence{}, events, err
	}
	dump.Trim()
	if !saved.IsZero() {
		saved = saved.UTC()
		dump.Saved = &saved
	}
	source := forensics.Source{Source: forensics.SourceAPIDump + ":" + name, Status: forensics.SourceRead}
	if err != nil {
		source.Status, source.Detail = forensics.SourceTruncated, err.Error()
	}
	return forensics.Evidence{Cluster: &dump, Coverage: []forensics.Source{source}}, events, err
}

// eventLines takes the events out of a dump.
func eventLines(dump *apidump.Dump) []byte {
	var b bytes.Buffer
	for _, e := range dump.Events {
		b.Write(append(e, '\n'))
	}
	dump.Events = nil
	ready := map[string]int{} // the last of several copies of a node counts
	for i, n := range dump.Nodes {
		if n.Name != "" && n.Ready == "True" {
			ready[n.Name] = i
		}
	}
	for i, n := range dump.Nodes {
		for _, c := range n.Pressures {
			if ready[n.Name] <= i {
				e := kubectl.NotReady(n.Name, "True", c.Message, c.Since)
				e.Reason = c.Reason
				b.Write(e.Line())
			}
		}
		if c := n.NotReady; c != nil && ready[n.Name] <= i {
			b.Write(kubectl.NotReady(n.Name, n.Ready, c.Message, c.Since).Line())
		}
	}
	return b.Bytes()
}

func kindsOf(d apidump.Dump) string {
	if len(d.Kinds) == 0 {
		return "the API objects"
	}
	return strings.Join(slices.Sorted(maps.Keys(d.Kinds)), ", ")
}
