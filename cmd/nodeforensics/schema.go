package main

import (
	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema [fleet]", Short: "Print the JSON Schema of the report, or of a summary of many reports",
		Long: `schema prints the JSON Schema (draft 2020-12) of the report's JSON. The evidence
alone is "#/$defs/Evidence" in it. schema fleet prints that of the summary that
nodeforensics fleet makes.

Within one version of the schema, fields and enum values are added. A change of
meaning makes a new version. Ignore fields and values that you do not know.`,
		Example: `  # Write the schema to a file.
  nodeforensics schema > report.schema.json

  # List the fields of the evidence.
  nodeforensics schema | jq '."$defs".Evidence.properties | keys'

  # Write the schema of a summary of many reports.
  nodeforensics schema fleet > fleet.schema.json`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"fleet"},
		Run: func(_ *cobra.Command, args []string) {
			if len(args) > 0 {
				a.out.printf("%s", fleet.JSONSchema())
				return
			}
			a.out.printf("%s", report.JSONSchema())
		},
	}
}
