// Package report writes what was found for its readers: JSON with its schema ([JSON], [JSONSchema]), one HTML page ([HTML]), text
// for a terminal ([Text]) and for a ticket ([Plain], [Markdown]); and, without a node around them, groups of goroutines, what
// logs tell, and who uses a mount. The shell script that cleans up is in package plan.
//
// Writers are pure: the same report gives the same bytes, on any machine. No control character of the node reaches a reader,
// and text of the node cannot become markup. What is too long is cut, and says so; the JSON has the whole.
//
// Within a version of [Schema], fields are added, and none goes or means something else.
package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// Schema names the layout of [Report] as JSON. Fields are added within v2; a change of meaning makes v3.
const Schema = "nodeforensics.report/v2"

// schemaV1 had remedies whose command was one string, for a shell or a sentence.
const schemaV1 = "nodeforensics.report/v1"

// ErrSchema says that a JSON document is not a report of this schema.
var ErrSchema = errors.New("not a " + Schema + " document")

// Report is everything that is known about one examination: the judgement first, the evidence last.
type Report struct {
	Schema    string                `json:"schema"`
	Tool      Tool                  `json:"tool"`
	Node      forensics.Node        `json:"node"`
	Diagnoses []forensics.Diagnosis `json:"diagnoses"`
	Findings  []forensics.Finding   `json:"findings"`
	Outcomes  []forensics.Outcome   `json:"outcomes"`
	Coverage  []forensics.Source    `json:"coverage"`
	// Sections are what the caller adds; absent in reports of the command.
	Sections []Section `json:"sections,omitempty"`
	// MountHealth is how each mount answers that was looked at.
	MountHealth []mounts.Health    `json:"mount_health"`
	Evidence    forensics.Evidence `json:"evidence"`

	model *forensics.Model // of the evidence, where it was made already
}

// joined is the model of the evidence.
func (r *Report) joined() *forensics.Model {
	if r.model == nil {
		r.model = forensics.NewModel(&r.Evidence)
	}
	return r.model
}

// Tool is the program that judged; what collected stands in the evidence.
type Tool struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Command []string `json:"command"`
}

// New joins evidence and analysis. Coverage and node stand twice in the JSON, at the top for people and scripts, and
// inside the evidence, which stays complete on its own.
func New(tool Tool, evidence forensics.Evidence, analysis forensics.Analysis) Report {
	return Report{
		Schema: Schema, Tool: tool, Node: evidence.Node,
		Diagnoses: append([]forensics.Diagnosis{}, analysis.Diagnoses...), // arrays are never null
		Findings:  append([]forensics.Finding{}, analysis.Findings...),
		Outcomes:  append([]forensics.Outcome{}, analysis.Outcomes...),
		Coverage:  append([]forensics.Source{}, evidence.Coverage...), Evidence: evidence,
		MountHealth: append([]mounts.Health{}, analysis.MountHealth...), model: analysis.Model,
	}
}

// JSON writes the report, indented, as [JSONSchema] describes it. Arrays are never null.
func JSON(w io.Writer, r Report) error { return writeJSON(w, r, true) }

// Read reads what [JSON] wrote, also as nodeforensics.report/v1: the report is then of [Schema], and its remedies have no action, and
// what was their command as an instruction. A document of another schema is [ErrSchema], and one that needs too much memory jsonlimit.ErrTooLarge.
func Read(r io.Reader) (Report, error) {
	var saved struct {
		Report
		Evidence v1.Evidence `json:"evidence"`
	}
	if err := jsonstream.Read(r, &saved); err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	rep := saved.Report
	if rep.Evidence = saved.Evidence.Current(); saved.Evidence.Schema == v1.Schema {
		rep.MountHealth = saved.Evidence.Health
	}
	if rep.Schema == schemaV1 {
		rep.Schema = Schema
	}
	if rep.Schema != Schema {
		return Report{}, fmt.Errorf("report: schema %q: %w", rep.Schema, ErrSchema)
	}
	return rep, nil
}
