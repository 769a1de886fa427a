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
  - API objects (kubectl get pods,nodes,pvc,pv -A -o json), and what kubectl
    describe, tables and events show of them
  - the kubelet's config.yaml, /configz and /stats/summary
  - logs of the kubelet, the kernel and the controller manager, in every form;
    binary journals, where journalctl is installed
  - what tools print, also between other lines: mount, findmnt, df, ps, errors
    of df or ls; kernel stacks (/proc/PID/stack, sysrq-w, hung tasks)

A file may be compressed (gzip, zstd, bzip2, xz). Of archives (tar, zip) and
directories, analyze reads all files: must-gather, kubectl cluster-info dump,
sos. It follows no links in them and writes nothing to disk.

Files of several nodes, or with lines of several nodes, are examined node by
node: analyze prints one verdict and writes one report for each, the worst
first. It knows a node by the host name in logs, by what its kubelet calls
itself, by paths (nodes/NAME), and by objects of the API.

If a file cannot be read, analyze says so and examines the others. It exits with
1 if no file can be read.`,
		Example: `  # Examine a goroutine dump.
  nodeforensics analyze goroutines.txt

  # Examine several files of one node together.
  nodeforensics analyze goroutines.txt mountinfo pods.json kubelet.log.gz

  # Examine what a support tool has collected.
  nodeforensics analyze must-gather.tar.gz
  nodeforensics analyze sosreport-node-1.tar.xz /tmp/cluster-dump/

  # Examine the logs of two nodes, each apart.
  nodeforensics analyze node-1.log node-2.log

  # Examine a saved report again, with this version.
  nodeforensics analyze nodeforensics-node-1-20261122T100000Z.json --output-dir /tmp/ticket

  # Print text for a ticket, and write no file.
  kubectl get pods,nodes,pvc,pv,jobs -A -o json | nodeforensics analyze - -o markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			out.deadline = time.Now().Add(timeout)
			nodes, used := a.readFiles(args, share(out.deadline, 1, 2))
			if used == 0 {
				return errors.New("no file could be read")
			}
			key, name, err := out.sharedKey()
			if err != nil {
				return err
			}
			command := append([]string{"nodeforensics", "analyze"}, args...)
			for i := range nodes {
				podGC.apply(&nodes[i])
				nameKey(&nodes[i], name)
			}
			if len(nodes) == 1 {
				return a.redactAndDeliver(out, nodes[0], key, command)
			}
			return a.eachNode(out, nodes, key, command)
		},
	}
	out.register(cmd)
	out.registerRedact(cmd)
	podGC.register(cmd)
	return a.bounded(cmd, &timeout, usualTimeout)
}

// readFiles reads what files say of each node, and returns how many could be read, at least in part. When the time is up it
// goes on with what was read until then.
func (a *app) readFiles(names []string, deadline time.Time) (nodes []forensics.Evidence, used int) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	nodes, results := read.Files(ctx, read.Options{Now: time.Now(), Zone: localZone}, a.inputs(names)...)
	a.tellSkipped(names, results)
	for _, got := range results {
		if got.Used {
			used++
		}
	}
	if ctx.Err() != nil {
		a.complain("--timeout: not all files were read completely; the report has what was read")
	}
	return nodes, used
}
