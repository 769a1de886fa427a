package report

import (
	"bytes"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// goroutinesSchema names the layout of [Goroutines] as JSON.
const goroutinesSchema = "nodeforensics.goroutines/v1"

// Goroutines is the judgement of goroutine dumps without other evidence of the node. Its JSON has the schema "nodeforensics.goroutines/v1".
type Goroutines struct {
	Schema    string                `json:"schema"`
	Findings  []forensics.Finding   `json:"findings"`
	Diagnoses []forensics.Diagnosis `json:"diagnoses"`
	Groups    []goroutines.Group    `json:"groups"`
	// Grouped is how many goroutines of a large dump were only counted: the verdicts then rest on examples and numbers.
	Grouped int `json:"grouped,omitempty"`
	// Compared says that there was an earlier dump of the process. Changes are the groups that have grown or shrunk since.
	Compared bool                `json:"-"`
	Changes  []goroutines.Change `json:"changes,omitempty"`
	// Problems are the parts of the input that were dropped or are doubtful.
	Problems []DumpProblem `json:"problems"`
}

// A DumpProblem is a part of a dump that was dropped or is doubtful.
type DumpProblem struct {
	File string `json:"file"`
	goroutines.Problem
}

// NewGoroutines groups the goroutines of dumps, all together.
func NewGoroutines(dumps []forensics.Dump, a forensics.Analysis) Goroutines {
	return Goroutines{
		Schema: goroutinesSchema, Findings: a.Findings, Diagnoses: a.Diagnoses,
		Groups: groupsOf(dumps), Grouped: summed(dumps), Problems: problemsOf(dumps),
	}
}

// Compare says what has changed since an earlier dump of the same process.
func (g *Goroutines) Compare(earlier []forensics.Dump) {
	g.Compared, g.Changes = true, goroutines.Diff(groupsOf(earlier), g.Groups)
}

// WriteGoroutines writes the groups for a terminal, blocked ones with their stacks, or all with stacks. [Text] writes the findings.
func WriteGoroutines(w io.Writer, g Goroutines, stacks bool) error {
	var b bytes.Buffer
	if g.Compared {
		writeChanges(&b, g.Changes)
	}
	writeGroups(&b, g.Groups, g.Grouped, stacks)
	writeProblems(&b, g.Problems)
	_, err := w.Write(b.Bytes())
	return err
}

// groupsOf groups the goroutines of all dumps together.
func groupsOf(dumps []forensics.Dump) []goroutines.Group {
	var all goroutines.Dump
	for _, d := range dumps {
		all.Goroutines = append(all.Goroutines, d.Goroutines...)
	}
	return goroutines.GroupBy(all)
}

// summed is how many goroutines are only counted.
func summed(dumps []forensics.Dump) int {
	n := 0
	for _, d := range dumps {
		n += d.Summed
	}
	return n
}

func problemsOf(dumps []forensics.Dump) []DumpProblem {
	problems := []DumpProblem{}
	for _, d := range dumps {
		for _, p := range d.Problems {
			problems = append(problems, DumpProblem{d.Source, p})
		}
	}
	return problems
}
