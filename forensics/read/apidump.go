package read

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

// APIDump reads objects of the API from a file that was saved at some time, zero where that is unknown. With an error, it
// returns the objects before it.
func APIDump(name string, saved time.Time, r io.Reader) (forensics.Evidence, error) {
	dump, err := apidump.Parse(r)
	if len(dump.Pods)+len(dump.Nodes)+len(dump.Claims)+len(dump.Volumes)+len(dump.Owners) == 0 {
		return forensics.Evidence{}, errors.Join(err, fmt.Errorf("no pods, nodes, claims, volumes or owners of pods in %s", kindsOf(dump)))
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
	return forensics.Evidence{Cluster: &dump, Coverage: []forensics.Source{source}}, err
}

func kindsOf(d apidump.Dump) string {
	if len(d.Kinds) == 0 {
		return "the API objects"
	}
	return strings.Join(slices.Sorted(maps.Keys(d.Kinds)), ", ")
}
