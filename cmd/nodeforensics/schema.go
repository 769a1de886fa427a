package main

import (
	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the report", Args: cobra.NoArgs,
		Long: `schema prints the JSON Schema (draft 2020-12) of the report's JSON. "#/$defs/Evidence" in it is the evidence alone.

Within v1 fields and words are added; a change of meaning makes v2. Ignore what you do not know.`,
		Run: func(*cobra.Command, []string) { a.out.printf("%s", report.JSONSchema()) },
	}
}
