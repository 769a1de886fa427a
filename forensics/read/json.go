package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
)

// reportSchema is report.Schema.
const reportSchema = "nodeforensics.report/v1"

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
	Evidence forensics.Evidence `json:"evidence"`
}

// json takes evidence, reports and lists of pods. Log lines of a kubelet that logs JSON are tried as a dump.
func (r *reader) json(d document, head []byte) (kind string, used bool, err error) {
	switch schema, list := labels(head); {
	case schema == reportSchema:
		return r.report(d)
	case schema == forensics.EvidenceSchema:
		return r.savedEvidence(d)
	case list == "PodList":
		return r.pods(d)
	}
	whole, err := io.ReadAll(io.LimitReader(d.text, maxUnlabelledJSON))
	switch {
	case err != nil:
		return "", false, err
	case len(whole) == maxUnlabelledJSON:
		d.text = io.MultiReader(bytes.NewReader(whole), d.text)
		if kind, used, err := r.dumps(d); used {
			return kind, true, err
		}
		return "", false, fmt.Errorf("more than %d MB of JSON that does not say what it is in its first 64 KiB", maxUnlabelledJSON/1_000_000)
	}
	return r.unlabelled(d, whole)
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

// unlabelled takes what says at its end what it is, and text that only begins like JSON.
func (r *reader) unlabelled(d document, whole []byte) (kind string, used bool, err error) {
	var head struct{ Schema, Kind string }
	err = json.Unmarshal(whole, &head)
	d.text = bytes.NewReader(whole)
	switch {
	case err == nil && head.Schema == reportSchema:
		return r.report(d)
	case err == nil && head.Schema == forensics.EvidenceSchema:
		return r.savedEvidence(d)
	case err == nil && head.Schema != "":
		return "", false, fmt.Errorf("schema %q is not known: want %s or %s", head.Schema, reportSchema, forensics.EvidenceSchema)
	case err == nil && head.Kind == "PodList":
		return r.pods(d)
	case err == nil && head.Kind != "":
		return r.apiDump(d, time.Time{})
	}
	if kind, used, err := r.dumps(d); used {
		return kind, true, err
	}
	if err != nil {
		return "", false, fmt.Errorf("JSON: %w", err)
	}
	return "", false, errors.New("JSON without a schema that is known here")
}

// report takes the evidence of a report: it is judged anew.
func (r *reader) report(d document) (kind string, used bool, err error) {
	var saved savedReport
	err = jsonstream.Read(d.text, &saved)
	if err == nil && saved.Schema != reportSchema { // it is there twice
		err = fmt.Errorf("schema %q: not a %s document", saved.Schema, reportSchema)
	}
	if err != nil {
		return "report", false, d.withSize(fmt.Errorf("report: %w", err))
	}
	return "report", true, r.addExamination(saved.Evidence)
}

func (r *reader) savedEvidence(d document) (kind string, used bool, err error) {
	var saved forensics.Evidence
	if err := jsonstream.Read(d.text, &saved); err != nil {
		return "evidence", false, d.withSize(err)
	}
	return "evidence", true, r.addExamination(saved)
}

// addExamination adds one saved examination; two of them would mix two nodes or two moments.
func (r *reader) addExamination(e forensics.Evidence) error {
	r.mu.Lock()
	second := !r.evidence.Collected.IsZero()
	r.mu.Unlock()
	if second {
		return errors.New("a second saved examination: analyze one at a time")
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
func (r *reader) pods(d document) (kind string, used bool, err error) {
	pods, err := kubelet.ParsePods(d.text, nil)
	if err == nil {
		r.add(forensics.Evidence{Pods: pods, Coverage: []forensics.Source{{
			Source: forensics.SourceKubeletPods, Status: forensics.SourceRead, Detail: d.name, Bytes: d.read.n,
		}}})
	}
	return forensics.SourceKubeletPods, true, err
}

// apiDump takes objects of the API that were saved at some time, zero where that is unknown.
func (r *reader) apiDump(d document, saved time.Time) (kind string, used bool, err error) {
	counted := &counter{r: d.text}
	part, err := APIDump(d.name, saved, counted)
	if part.Cluster == nil {
		return forensics.SourceAPIDump, false, err
	}
	part.Coverage[0].Bytes = counted.n
	r.add(part)
	return forensics.SourceAPIDump, true, err
}
