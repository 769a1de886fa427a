package fleet

import (
	_ "embed" // of the schema

	"github.com/nodeforensics/nodeforensics/internal/packed"
)

// The test generates the schema from the Go types and their comments, and compares them.
//
//go:generate go test -run TestSchemaIsCurrent . -update

// packedSchema is schema.json.
//
//go:embed schema.json.gz
var packedSchema string

// JSONSchema is the JSON Schema (draft 2020-12) of what [JSON] writes. Unknown properties are allowed, since a version can get new fields. A
// property is required if it is always present.
func JSONSchema() []byte { return packed.Text(packedSchema) }
