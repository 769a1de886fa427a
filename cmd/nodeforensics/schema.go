package main

import (
	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the report", Args: cobra.NoArgs,
		Long: `schema prints the JSON Schema (draft 2020-12) of the report's JSON. The evidence
alone is "#/$defs/Evidence" in it.

Within one version of the schema, fields and enum values are added. A change of
meaning makes a new version. Ignore fields and values that you do not know.`,
		Example: `  # Write the schema to a file.
  nodeforensics schema > report.schema.json

  # List the fields of the evidence.
  nodeforensics schema | jq '."$defs".Evidence.properties | keys'`,
		Run: func(*cobra.Command, []string) { a.out.printf("%s", report.JSONSchema()) },
	}
}
