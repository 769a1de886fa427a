package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

func (a *app) analyzeCommand() *cobra.Command {
	var out outputFlags
	var podGC podGCFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "analyze FILE…",
		Short: "Judge saved evidence, goroutine dumps, mount tables, logs and API objects",
		Long: `analyze reads files that were collected elsewhere, tells by their content what they are, judges them together and
writes a report. It knows: evidence and report JSON of nodeforensics, goroutine dumps of a kubelet (every form), a
mount table (/proc/PID/mountinfo), the kubelet's list of pods (/pods), objects of the API (kubectl get
pods,nodes,pvc,pv -A -o json), and logs of a kubelet, the kernel or the controller manager in any form, compressed or
not. - is standard input.

A file that cannot be read is named, the others are judged, and the exit status is 1.`,
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
				return errors.New("nothing could be read")
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
	results := read.Files(ctx, e, inputs(names), read.Options{Now: time.Now(), Zone: localZone})
	for _, got := range results {
		if got.Err != nil {
			a.complain("%s: %v", got.Name, got.Err)
		}
		if got.Used {
			used++
		}
	}
	if left := len(names) - len(results); left > 0 {
		a.complain("--timeout: %s not read to the end; what was read before is judged", text.Plural(left, "file"))
	}
	return used
}
