package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/report/plan"
)

func (a *app) planCommand() *cobra.Command {
	var timeout time.Duration
	return a.bounded(&cobra.Command{
		Use:   "plan REPORT.json",
		Short: "Print a shell script that cleans up what pods have left",
		Long: `plan reads a report's JSON and prints a POSIX shell script that cleans up what pods that are gone have left on the node:
mounts, empty volume directories, vol_data.json of CSI volumes, files of subpaths. - is standard input.

The script is to be read, and then run on the node, within an hour of the report. Without --apply it changes nothing. It works
below /var/lib/kubelet only, unless you give it another --kubelet-root, and uses no network. Before each step it looks again
whether the pod is still gone, whether anything uses its directory, and whether something is mounted there in any mount
namespace. It never deletes data: what a volume holds is at most moved aside (--move-data DIR), and refused otherwise.`,
		Example: `  nodeforensics plan nodeforensics-node-1-….json > plan.sh
  sh plan.sh                                    say what would be done
  sh plan.sh --apply                            do it
  kubectl get pods -A -o json > pods.json       on any machine
  sh plan.sh --apply --pods pods.json --move-data /var/lib/left
                                                and move left data there, if the pods are not in that list`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, _, err := loadReport(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			var script bytes.Buffer
			if err := plan.Script(&script, &r.Evidence); err != nil {
				return err
			}
			return writeStdout(a.out.file, script.Bytes(), time.Time{})
		},
	}, &timeout, usualTimeout)
}
