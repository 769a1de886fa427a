package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/report"
)

// usualTimeout is the --timeout of the commands that work on files. It is for files that somebody has made to take long:
// those of real nodes take seconds.
const usualTimeout = 5 * time.Minute

// lastResort is how long after its --timeout a command is given up, whatever it does.
const lastResort = time.Second

// bounded gives a command a --timeout. What it does by itself when the time is up is its own affair; it ends soon after.
func (a *app) bounded(cmd *cobra.Command, timeout *time.Duration, usual time.Duration) *cobra.Command {
	cmd.Flags().DurationVar(timeout, "timeout", usual, "end within this time and report what was read")
	run := cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if *timeout < time.Second {
			return usagef("--timeout %v: want at least 1s", *timeout)
		}
		return giveUp(*timeout, time.Now().Add(*timeout), func() error { return run(c, args) })
	}
	return cmd
}

// giveUp runs f, and waits for it no longer than the last resort after a deadline.
func giveUp(timeout time.Duration, deadline time.Time, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Until(deadline) + lastResort):
		return fmt.Errorf("--timeout %v: timed out; there is no result", timeout)
	}
}

// share is the moment when a part of the time that is left has passed.
func share(deadline time.Time, parts, of time.Duration) time.Time {
	now := time.Now()
	return now.Add(deadline.Sub(now) * parts / of)
}

// judge analyzes evidence and makes the report; without a deadline it takes the time that it takes.
func (a *app) judge(tool report.Tool, evidence forensics.Evidence, deadline time.Time) report.Report {
	a.working("running the checks")
	if deadline.IsZero() {
		return report.New(tool, evidence, forensics.Analyze(&evidence, checks.All()))
	}
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	judged := evidence // what has not come back by then still reads it
	analysis, err := forensics.AnalyzeUntil(ctx, &judged, checks.All())
	r := report.New(tool, evidence, analysis)
	if err != nil {
		a.complain("--timeout: %v", err)
		r.Coverage = append(r.Coverage, forensics.Source{Source: forensics.SourceAnalysis, Status: forensics.SourceTruncated, Detail: err.Error()})
		r.Evidence.Coverage = r.Coverage
	}
	return r
}

// renderAll renders one format after the other. One that does not get done in time, and those after it, are made of the
// findings alone.
func (a *app) renderAll(out outputFlags, r report.Report) ([]rendering, error) {
	var late <-chan time.Time
	if !out.deadline.IsZero() {
		timer := time.NewTimer(time.Until(share(out.deadline, 2, 3)))
		defer timer.Stop()
		late = timer.C
	}
	type rendered struct {
		file rendering
		err  error
	}
	var files []rendering
	struck := false
	for _, format := range fileFormats {
		a.working("writing the %s", strings.ToUpper(format))
		one := func(r report.Report) (got rendered) {
			name := fileName(r) + "." + format
			got.file, got.err = newRendering(name, func(w io.Writer) error { return render(w, r, format) })
			return got
		}
		var got rendered
		if !struck {
			result := make(chan rendered, 1)
			go func() { result <- one(r) }()
			select {
			case got = <-result:
			case <-late:
				struck = true
			}
		}
		if struck {
			a.complain("--timeout: the %s could not be written in time; it has the findings without the evidence", format)
			got = one(report.WithoutEvidence(r))
		}
		if got.err != nil {
			return nil, fmt.Errorf("%s: %w", format, got.err)
		}
		files = append(files, got.file)
	}
	return files, nil
}
