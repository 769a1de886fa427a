package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

func (a *app) analyzeCommand() *cobra.Command {
	var out outputFlags
	var podGC podGCFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "analyze FILE…",
		Short: "Examine saved files: reports, goroutine dumps, mount tables, logs, API objects",
		Long: `analyze reads files that were saved on a node, examines them together, and
writes a report. It recognizes files by their content. - is standard input.

It reads:

  - report and evidence JSON of nodeforensics
  - goroutine dumps of a kubelet, in every form
  - mount tables (/proc/PID/mountinfo)
  - the kubelet's list of pods (/pods)
  - API objects (kubectl get pods,nodes,pvc,pv -A -o json)
  - logs of the kubelet, the kernel and the controller manager, in every form

A file may be compressed (gzip, zstd, bzip2, xz). Of archives (tar, zip) and
directories, analyze reads all files: must-gather, kubectl cluster-info dump,
sos. It follows no links in them and writes nothing to disk.

If a file cannot be read, analyze says so and examines the others. It exits with
1 if no file can be read.`,
		Example: `  # Examine a goroutine dump.
  nodeforensics analyze goroutines.txt

  # Examine several files of one node together.
  nodeforensics analyze goroutines.txt mountinfo pods.json kubelet.log.gz

  # Examine what a support tool has collected.
  nodeforensics analyze must-gather.tar.gz
  nodeforensics analyze sosreport-node-1.tar.xz /tmp/cluster-dump/

  # Examine a saved report again, with this version.
  nodeforensics analyze nodeforensics-node-1-20261122T100000Z.json --output-dir /tmp/ticket

  # Print text for a ticket, and write no file.
  kubectl get pods,nodes,pvc,pv,jobs -A -o json | nodeforensics analyze - -o markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			evidence := forensics.NewEvidence()
			evidence.Root = "saved files"
			evidence.Schema = forensics.EvidenceSchema
			out.deadline = time.Now().Add(timeout)
			if a.readFiles(&evidence, args, share(out.deadline, 1, 2)) == 0 {
				return errors.New("no file could be read")
			}
			key, err := newRedactKey()
			if err != nil {
				return err
			}
			podGC.apply(&evidence)
			return a.redactAndDeliver(out, evidence, key, append([]string{"nodeforensics", "analyze"}, args...))
		},
	}
	out.register(cmd)
	out.registerRedact(cmd)
	podGC.register(cmd)
	return a.bounded(cmd, &timeout, usualTimeout)
}

// readFiles adds what files say to the evidence, and returns how many could be read, at least in part. When the time is up it
// goes on with what was added until then.
func (a *app) readFiles(e *forensics.Evidence, names []string, deadline time.Time) (used int) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	results := read.Files(ctx, e, a.inputs(names), read.Options{Now: time.Now(), Zone: localZone})
	a.tellSkipped(names, results)
	for _, got := range results {
		if got.Used {
			used++
		}
	}
	if ctx.Err() != nil {
		a.complain("--timeout: not all files were read completely; the report has what was read")
	}
	return used
}
