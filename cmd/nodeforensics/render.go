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
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) renderCommand() *cobra.Command {
	var out outputFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "render REPORT.json",
		Short: "Write a saved report in other formats, without examining it again",
		Long: `render reads a report's JSON and writes it in other formats. The same report
gives the same bytes. - is standard input.

To run the checks of this version on the evidence of the report, use analyze.`,
		Example: `  # Write HTML and JSON.
  nodeforensics render nodeforensics-node-1-20261122T100000Z.json --output-dir /tmp/ticket

  # Print text for a ticket.
  nodeforensics render report.json -o markdown

  # Print everything as text.
  nodeforensics render report.json -o text --verbose`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneJSON,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			out.deadline = time.Now().Add(timeout)
			r, sum, err := a.loadReport(args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := a.redactReport(&r, sum, out.deadline); err != nil {
				return err
			}
			if err := a.write(out, r); err != nil {
				return err
			}
			a.fail(out, r)
			return nil
		},
	}
	out.register(cmd)
	return a.bounded(cmd, &timeout, usualTimeout)
}

// oneJSON offers a shell the JSON files of a directory for the only argument.
func oneJSON(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}

// loadReport reads a saved report. sum is that of the whole file.
func (a *app) loadReport(name string) (r report.Report, sum [sha256.Size]byte, err error) {
	a.working("reading %s", name)
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

// redactReport masks what an earlier version of this program left in a report, or somebody wrote into it. The key is made of
// the report itself, so that the same report gives the same bytes; who has not seen it cannot try guesses.
func (a *app) redactReport(r *report.Report, key [sha256.Size]byte, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	a.working("masking secrets")
	evidence := r.Evidence
	text, cut := mask.Until(ctx, &evidence, key[:], false)
	if cut != nil {
		a.complain("--timeout: %v", cut)
	}
	r.Evidence = forensics.Evidence{}
	last, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	if !mask.StringsUntil(last, r, "report", text) {
		return errors.New("--timeout: the timeout expired before secrets were masked in the findings; no report is written")
	}
	r.Evidence = evidence
	if cut != nil {
		r.Coverage = evidence.Coverage
	}
	return nil
}
