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
		Short: "Print a shell script that removes leftovers of deleted pods",
		Long: `plan reads a report's JSON and prints a POSIX shell script. The script removes
what deleted pods have left on the node: mounts, empty volume directories,
vol_data.json of CSI volumes, and files of subpaths. - is standard input.

Read the script, then run it on the node within an hour of the report. Without
--apply it changes nothing. It works below /var/lib/kubelet only, unless you
give it another --kubelet-root. It uses no network.

Before each step the script checks again that the pod does not exist, that no
process uses the directory, and that nothing is mounted there in any mount
namespace. It never deletes data. With --move-data DIR it moves the data of a
volume; without it, it refuses.`,
		Example: `  # Write the script.
  nodeforensics plan nodeforensics-node-1-20261122T100000Z.json > plan.sh

  # Print what it would do, and change nothing.
  sh plan.sh

  # Remove the leftovers.
  sh plan.sh --apply

  # Also move data that is left, if its pods are not in this list.
  kubectl get pods -A -o json > pods.json
  sh plan.sh --apply --pods pods.json --move-data /var/lib/left`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneJSON,
		RunE: func(_ *cobra.Command, args []string) error {
			r, _, err := a.loadReport(args[0])
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
