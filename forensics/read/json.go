package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
	"github.com/nodeforensics/nodeforensics/internal/nodename"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// reportSchema is report.Schema, and reportSchemaV1 the one before.
const (
	reportSchema   = "nodeforensics.report/v2"
	reportSchemaV1 = "nodeforensics.report/v1"
)

func isReport(schema string) bool { return schema == reportSchema || schema == reportSchemaV1 }

// savedReport has the fields of report.Report. The judgement is made anew, but a file in which it is broken is not trusted.
type savedReport struct {
	Schema string `json:"schema"`
	Tool   struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Command []string `json:"command"`
	} `json:"tool"`
	Node      forensics.Node        `json:"node"`
	Diagnoses []forensics.Diagnosis `json:"diagnoses"`
	Findings  []forensics.Finding   `json:"findings"`
	Outcomes  []forensics.Outcome   `json:"outcomes"`
	Coverage  []forensics.Source    `json:"coverage"`
	Sections  []struct {
		Title   string     `json:"title"`
		Text    string     `json:"text,omitempty"`
		Columns []string   `json:"columns,omitempty"`
		Rows    [][]string `json:"rows,omitempty"`
	} `json:"sections,omitempty"`
	MountHealth []mounts.Health `json:"mount_health"`
	Evidence    v1.Evidence     `json:"evidence"`
}

// labels are what the beginning of an object says of the whole, as far as it says so.
func labels(head []byte) (schema, kind string) {
	dec := json.NewDecoder(bytes.NewReader(head))
	_, _ = dec.Token()
	for schema == "" {
		key, err := dec.Token()
		if err != nil {
			return schema, kind
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return schema, kind
		}
		switch text, _ := value.(string); key {
		case "schema":
			schema = text
		case "kind":
			kind = text
		}
	}
	return schema, kind
}

// unlabelled takes JSON that does not say at its beginning what it is, and text that only begins like JSON, as log lines of a
// kubelet do that logs JSON: that may hold a dump.
func (r *reader) unlabelled(ctx context.Context, d document) (kind string, used bool, err error) {
	whole, err := io.ReadAll(io.LimitReader(d.text, maxUnlabelledJSON))
	switch {
	case err != nil:
		return "", false, err
	case len(whole) == maxUnlabelledJSON:
		d.text = io.MultiReader(bytes.NewReader(whole), d.text)
		if kind, used, err := r.dumps(d); used {
			return kind, true, err
		}
		return "", false, fmt.Errorf("more than %d MB of JSON, and no schema or kind in its first 64 KiB", maxUnlabelledJSON/1_000_000)
	}
	var says struct{ Schema, Kind string }
	bad := json.Unmarshal(whole, &says)
	d.text, d.saved = bytes.NewReader(whole), time.Time{}
	if bad == nil {
		if known, ok := recognise(beginning{head: whole, schema: says.Schema, kind: says.Kind, whole: true}); ok {
			used, err := known.add(r, ctx, d)
			return known.name, used, err
		}
		if says.Schema != "" {
			return "", false, fmt.Errorf("unknown schema %q: want %s or %s", says.Schema, reportSchema, forensics.EvidenceSchema)
		}
	}
	if kind, used, err := r.dumps(d); used {
		return kind, true, err
	}
	if bad != nil {
		return "", false, fmt.Errorf("JSON: %w", bad)
	}
	return "", false, errors.New("unrecognized JSON, skipped: no known schema")
}

// report takes the evidence of a report: it is judged anew.
func (r *reader) report(_ context.Context, d document) (used bool, err error) {
	var saved savedReport
	err = jsonstream.Read(d.text, &saved)
	if err == nil && !isReport(saved.Schema) { // it is there twice
		err = fmt.Errorf("schema %q: not a %s document", saved.Schema, reportSchema)
	}
	if err != nil {
		return false, d.withSize(fmt.Errorf("report: %w", err))
	}
	return true, r.addExamination(saved.Evidence.Current())
}

func (r *reader) savedEvidence(_ context.Context, d document) (used bool, err error) {
	var saved v1.Evidence
	if err := jsonstream.Read(d.text, &saved); err != nil {
		return false, d.withSize(err)
	}
	return true, r.addExamination(saved.Current())
}

// addExamination adds one saved examination; two of one node would mix two moments.
func (r *reader) addExamination(e forensics.Evidence) error {
	r.node = e.Node.Name
	r.mu.Lock()
	second := slices.ContainsFunc(r.parts, func(p part) bool {
		return !p.Collected.IsZero() && (p.node == e.Node.Name || nodename.Same(p.node, e.Node.Name))
	})
	r.mu.Unlock()
	if second {
		return errors.New("a second saved report of this node: analyze one at a time")
	}
	r.add(e)
	return nil
}

// withSize adds the size of a file that is too large.
func (d document) withSize(err error) error {
	if size := d.content.Size(); errors.Is(err, jsonlimit.ErrTooLarge) && size > 0 {
		return fmt.Errorf("%.1f MB: %w", float64(size)/1e6, err)
	}
	return err
}

// pods takes the kubelet's own list of pods.
func (r *reader) pods(_ context.Context, d document) (used bool, err error) {
	pods, err := kubelet.ParsePods(d.text, nil)
	if err != nil {
		return false, err
	}
	r.add(forensics.Evidence{Pods: pods, Coverage: []forensics.Source{{
		Source: forensics.SourceKubeletPods, Status: forensics.SourceRead, Detail: d.name, Bytes: d.read.n,
	}}})
	return true, nil
}

// textFile is a text as a file of its own.
func textFile(name string, saved time.Time, text []byte) File {
	return File{Name: name, Open: func() (Content, error) {
		return &inMemory{Reader: bytes.NewReader(text), saved: saved, Closer: io.NopCloser(nil)}, nil
	}}
}

// apiDump takes objects of the API.
func (r *reader) apiDump(ctx context.Context, d document) (used bool, err error) {
	counted := &counter{r: d.text}
	part, events, err := apiDump(d.name, d.saved, counted)
	if events != nil {
		if r.events == nil {
			r.events = map[string]bool{}
		}
		r.events[d.name] = true
		r.addLog(ctx, textFile(d.name, d.saved, events), nil, nil, nil)
	}
	if part.Cluster == nil {
		return events != nil, err
	}
	part.Coverage[0].Bytes = counted.n
	r.add(part)
	return true, err
}

// objectsIn takes the objects of the API that stand in a text, and what it shows of others. It is false if there are none.
func (r *reader) objectsIn(ctx context.Context, d document, m *inMemory) (used bool) {
	if len(m.objects) > 0 {
		d.text = bytes.NewReader(m.objects)
		used, _ = r.apiDump(ctx, d)
	}
	if len(m.shown) == 0 {
		return used
	}
	if d.saved.IsZero() { // as the ages in it count
		d.saved = r.opt.Now
	}
	part, _, _ := apiDump(d.name, d.saved, bytes.NewReader(m.shown))
	if part.Cluster == nil {
		return used
	}
	for i := range part.Cluster.Pods {
		part.Cluster.Pods[i].Partial = true
	}
	for i := range part.Cluster.Claims {
		part.Cluster.Claims[i].Partial = true
	}
	for i := range part.Cluster.Volumes {
		part.Cluster.Volumes[i].Partial = true
	}
	part.Coverage[0].Status, part.Coverage[0].Detail = forensics.SourceTruncated, "only what the text shows"
	r.add(part)
	return true
}
