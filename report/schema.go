package report

import (
	"compress/gzip"
	_ "embed" // of the schema
	"io"
	"strings"
)

// The test generates the schema from the Go types and their comments, and compares them.
//
//go:generate go test -run TestSchemaIsCurrent . -update

// packedSchema is schema.json, a fifth as large.
//
//go:embed schema.json.gz
var packedSchema string

// JSONSchema is the JSON Schema (draft 2020-12) of what [JSON] writes; the evidence alone is its "#/$defs/Evidence".
// Unknown properties are allowed, since a version can get new fields. A property is required if it is always present.
func JSONSchema() []byte {
	r, err := gzip.NewReader(strings.NewReader(packedSchema))
	if err != nil { // never: the file is a part of the program, and a test reads it
		return nil
	}
	schema, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return schema
}
