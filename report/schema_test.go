package report_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nodeforensics/nodeforensics/internal/testschema"
	"github.com/nodeforensics/nodeforensics/report"
)

func TestSchemaIsCurrent(t *testing.T) {
	testschema.Check(t, reflect.TypeFor[report.Report](), "report/schema.json", "Report of nodeforensics", report.Schema, string(report.JSONSchema()))
}

func schemaOfReports(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(report.JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func toJSON(t testing.TB, r report.Report) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(b.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestReportsFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := schemaOfReports(t)
	for name, r := range map[string]report.Report{
		"hung-mount": load(t, "hung-mount"), "healthy": load(t, "healthy"), "nothing-checked": load(t, "nothing-checked"),
		"monster": monster(""), "empty": {Schema: report.Schema},
	} {
		t.Run(name, func(t *testing.T) {
			if err := schema.Validate(toJSON(t, r)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A schema that admits everything would pass the test above.
func TestSchemaRefuses(t *testing.T) {
	schema := schemaOfReports(t)
	for name, spoil := range map[string]func(map[string]any){
		"another schema":      func(d map[string]any) { d["schema"] = "nodeforensics.report/v9" },
		"null for an array":   func(d map[string]any) { d["findings"] = nil },
		"no evidence":         func(d map[string]any) { delete(d, "evidence") },
		"an unknown severity": func(d map[string]any) { d["findings"].([]any)[0].(map[string]any)["severity"] = "bad" },
		"an unknown kind": func(d map[string]any) {
			d["findings"].([]any)[0].(map[string]any)["subject"].(map[string]any)["kind"] = "thing"
		},
		"an unknown status": func(d map[string]any) { d["coverage"].([]any)[0].(map[string]any)["status"] = "fine" },
		"text for a number": func(d map[string]any) { d["coverage"].([]any)[0].(map[string]any)["bytes"] = "1" },
		"a mount without an id": func(d map[string]any) {
			m := d["evidence"].(map[string]any)["mounts"].(map[string]any)["mounts"].([]any)[0]
			delete(m.(map[string]any), "id")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := toJSON(t, load(t, "hung-mount"))
			spoil(d)
			if schema.Validate(d) == nil {
				t.Error("it fits the schema")
			}
		})
	}
	d := toJSON(t, load(t, "hung-mount"))
	d["added_later"] = 1
	if err := schema.Validate(d); err != nil {
		t.Errorf("a field that was added within the version: %v", err)
	}
}

func TestSchemaDescribes(t *testing.T) {
	text := string(report.JSONSchema())
	for _, want := range []string{
		`"$id": "` + testschema.ID("report/schema.json") + `"`, `"format": "date-time"`, `"description": "Severity says how bad a finding is."`,
		`"description": "Since is the latest moment at which the trouble can have begun; absent when unknown."`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the schema has no %s", want)
		}
	}
}
