package main

import (
	"cmp"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) versionCommand() *cobra.Command {
	var out printFlags
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Long: `version prints the version of nodeforensics, the version of Go that built it,
and the platform. JSON and YAML also have the schema of the evidence.`,
		Example: `  # Print the version.
  nodeforensics version

  # Print the number alone.
  nodeforensics version -o json | jq -r .version`,
		RunE: func(*cobra.Command, []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			return a.printVersion(out.format)
		},
	}
	out.register(cmd, dataFormats, formatText)
	return cmd
}

func (a *app) printVersion(format string) error {
	if format == "" || format == formatText {
		a.out.printf("nodeforensics %s %s %s/%s\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	}
	answer := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
		Evidence string `json:"evidence_schema"`
	}{programVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, forensics.EvidenceSchema}
	return a.printData(format, answer)
}

// printData prints a small value as JSON or YAML.
func (a *app) printData(format string, v any) error {
	return streamStdout(a.out.file, func(w io.Writer) error {
		return data(w, format, func(w io.Writer) error { return report.WriteJSON(w, v) })
	}, time.Time{})
}

// programVersion is what the linker was told, or the module's version.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(version, info.Main.Version, "devel")
	}
	return cmp.Or(version, "devel")
}
