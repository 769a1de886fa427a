package fleet_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nodeforensics/nodeforensics/internal/testschema"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

func TestSchemaIsCurrent(t *testing.T) {
	testschema.Check(t, reflect.TypeFor[fleet.Summary](), "report/fleet/schema.json", "Summary of many reports of nodeforensics", someFleet(t).Schema, string(fleet.JSONSchema()))
}

// document is a summary as JSON.
func document(t *testing.T, s fleet.Summary) (d map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := fleet.JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSummariesFitTheSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(fleet.JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var empty fleet.Reader
	for name, s := range map[string]fleet.Summary{"some": someFleet(t), "empty": empty.Summary(), "of identities": read(t, sickWith("a", ""), sickWith("b", ""))} {
		if err := schema.Validate(document(t, s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	first := func(d map[string]any, list string) map[string]any { return d[list].([]any)[0].(map[string]any) }
	for name, spoil := range map[string]func(map[string]any){ // a schema that admits everything would pass
		"another schema":          func(d map[string]any) { d["schema"] = "nodeforensics.fleet/v9" },
		"null for an array":       func(d map[string]any) { d["causes"] = nil },
		"no count of the nodes":   func(d map[string]any) { delete(d, "nodes_known") },
		"an unknown severity":     func(d map[string]any) { first(d, "causes")["severity"] = "bad" },
		"a cause without a title": func(d map[string]any) { delete(first(d, "causes"), "title") },
		"text for a number":       func(d map[string]any) { first(d, "nodes")["checks_made"] = "1" },
	} {
		d := document(t, someFleet(t))
		if spoil(d); schema.Validate(d) == nil {
			t.Errorf("%s fits the schema", name)
		}
	}
}
