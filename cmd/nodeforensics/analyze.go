package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
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

// redactReport masks what an earlier version of this program left in a report, or somebody wrote into it. The key is made of
// the report itself, so that the same report gives the same bytes; who has not seen it cannot try guesses.
func (a *app) redactReport(r *report.Report, key [sha256.Size]byte, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	evidence := r.Evidence
	text, cut := mask.Until(ctx, &evidence, key[:], false)
	if cut != "" {
		a.complain("--timeout: %s", cut)
	}
	r.Evidence = forensics.Evidence{}
	last, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	if !mask.StringsUntil(last, r, "report", text) {
		return errors.New("--timeout: the time was up before secrets were masked in the findings: nothing is written")
	}
	r.Evidence = evidence
	if cut != "" {
		r.Coverage = evidence.Coverage
	}
	return nil
}

// loadReport reads a saved report. sum is that of the whole file.
func loadReport(name string) (r report.Report, sum [sha256.Size]byte, err error) {
	file, err := openInput(name)
	if err != nil {
		return report.Report{}, sum, err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	text := io.TeeReader(file, hash)
	if r, err = report.Read(text); err == nil {
		_, err = io.Copy(io.Discard, text) // what follows, which is nothing but blanks
	}
	if size := file.Size(); errors.Is(err, jsonlimit.ErrTooLarge) && size > 0 {
		err = fmt.Errorf("%.1f MB: %w", float64(size)/1e6, err)
	}
	return r, [sha256.Size]byte(hash.Sum(nil)), err
}

func (a *app) renderCommand() *cobra.Command {
	var out outputFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "render REPORT.json",
		Short: "Write a saved report again, without judging it anew",
		Long:  "render reads a report's JSON and writes it in other formats. The same report gives the same bytes. - is standard input.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			out.deadline = time.Now().Add(timeout)
			r, sum, err := loadReport(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := a.redactReport(&r, sum, out.deadline); err != nil {
				return err
			}
			return a.write(out, r)
		},
	}
	out.register(cmd)
	cmd.Flags().Lookup("format").DefValue = "html"
	out.formats = []string{"html"}
	return a.bounded(cmd, &timeout, usualTimeout)
}
