package report

import (
	"bytes"
	"compress/gzip"
	_ "embed" // of the schema
	"io"
)

// The schema is made of the Go types and their comments by the test that holds it to them.
//
//go:generate go test -run TestSchemaIsCurrent . -update

// schema is schema.json, compressed: it would be a hundredth of the program otherwise.
//
//go:embed schema.json.gz
var schema []byte

// JSONSchema is the JSON Schema (draft 2020-12) of what [JSON] writes; the evidence alone is its "#/$defs/Evidence".
// Properties that it does not know are allowed, since fields are added within a version; required is what is never
// left out.
func JSONSchema() []byte {
	r, err := gzip.NewReader(bytes.NewReader(schema))
	if err != nil {
		return nil // it is part of the program, and a test reads it
	}
	text, _ := io.ReadAll(r)
	return text
}
