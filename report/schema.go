package report

import _ "embed" // of the schema

// The schema is made of the Go types and their comments by the test that holds it to them.
//
//go:generate go test -run TestSchemaIsCurrent . -update

//go:embed schema.json
var schema string

// JSONSchema is the JSON Schema (draft 2020-12) of what [JSON] writes; the evidence alone is its "#/$defs/Evidence".
// Properties that it does not know are allowed, since fields are added within a version; required is what is never
// left out.
func JSONSchema() []byte { return []byte(schema) }
