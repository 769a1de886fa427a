package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/report"
)

// logFlags are what the command line of logs says.
type logFlags struct {
	printFlags
	since string
	zone  string
	pod   string

	timeout time.Duration
}

func (a *app) logsCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "logs FILE…",
		Short: "Summarize logs: kubelet runs, sync loop, pod deletions, volumes, kernel messages",
		Long: `logs reads logs of the kubelet, the kernel and the controller manager, and
prints a summary. - is standard input. The summary has:

  - the runs of the kubelet
  - the last lines of the sync loop
  - pod deletions, by stage
  - volume operations that have not finished
  - events, with counts
  - known harmless lines

It reads every form: klog text and JSON, syslog, journalctl (short,
short-precise, short-iso, json), container logs and dmesg. Files may be
compressed (gzip, zstd, bzip2, xz), and in archives (tar, zip) or directories.
They are read in the order of their first lines. A log of several gigabytes
takes seconds, and little memory. logs exits with 1 if no log can be read.`,
		Example: `  # Summarize the kubelet's journal.
  journalctl -u kubelet -o short-precise | nodeforensics logs -

  # Summarize all files of a rotated log.
  nodeforensics logs /var/log/syslog*

  # Show what the last two hours say of one pod.
  nodeforensics logs --since 2h --pod shop/cart-0 kubelet.log

  # Print JSON.
  nodeforensics logs kubelet.log -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.logs(f, args) },
	}
	fs := cmd.Flags()
	f.register(cmd, dataFormats, formatText)
	f.registerJSON(cmd)
	fs.StringVar(&f.since, "since", "", "leave out older lines: a duration before now (2h) or a time (2026-11-21 or 2026-11-21T10:00:00Z) (default: all lines)")
	fs.StringVar(&f.pod, "pod", "", "show only one `POD`: namespace/name, or a UID (default: all pods)")
	fs.StringVar(&f.zone, "zone", "Local", "time zone of the node (Europe/Berlin, UTC), for lines without a zone; Local is the zone of this machine")
	return a.bounded(cmd, &f.timeout, usualTimeout)
}

func (a *app) logs(f logFlags, names []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	opt, err := f.options()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(f.timeout)
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 3, 4)) // what was read until then is told
	defer cancel()
	nodes, results := read.Files(ctx, opt, a.inputs(names)...)
	a.tellSkipped(names, results)
	var stories []*logs.Story
	for _, e := range nodes {
		if e.Logs == nil {
			continue
		}
		for _, file := range e.Logs.Files {
			if status := forensics.SourceStatus(file.Status); status.Usable() && file.Lines == 0 {
				a.warn("%s: the file is empty", printable(file.Path))
			}
		}
		if slices.ContainsFunc(e.Logs.Files, func(f logs.File) bool { return f.Lines > 0 && forensics.SourceStatus(f.Status).Usable() }) {
			stories = append(stories, e.Logs)
		}
	}
	if len(stories) == 0 {
		return errors.New("no log could be read")
	}
	var b bytes.Buffer
	for _, story := range stories {
		masked := a.maskedLogs(*story, share(deadline, 3, 4))
		if f.pod != "" && masked.Events != nil {
			var of *logs.Story
			if of, err = a.storyOfPod(masked, f.pod); err != nil { // one of several nodes knows it
				continue
			}
			masked = of
		}
		if err := a.writeStory(&b, f, len(stories) > 1, masked); err != nil {
			return err
		}
	}
	if b.Len() == 0 {
		return err
	}
	return writeStdout(a.out.file, b.Bytes(), time.Time{})
}

// writeStory writes the story of one node, or of one of several.
func (a *app) writeStory(b *bytes.Buffer, f logFlags, several bool, story *logs.Story) error {
	if f.format == "" || f.format == formatText {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if several {
			fmt.Fprintf(b, "Node %s\n", printable(cmp.Or(story.Node, "not known: lines that name no node")))
		}
		return report.WriteLogs(b, story, a.storyWidth())
	}
	if f.format == formatYAML && b.Len() > 0 {
		b.WriteString("---\n")
	}
	return data(b, f.format, func(w io.Writer) error { return report.WriteLogsJSON(w, story) })
}

// storyWidth is that of the terminal; what goes elsewhere has room for whole lines.
func (a *app) storyWidth() int {
	if a.out.tty {
		return a.out.width()
	}
	return 240
}

// maskedLogs masks the secrets in a story; what could not be masked until a deadline is left out.
func (a *app) maskedLogs(story logs.Story, deadline time.Time) *logs.Story {
	a.working("masking secrets")
	key, _ := newRedactKey() // it never fails
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	e := forensics.Evidence{Logs: &story}
	if _, err := mask.Until(ctx, &e, key, false); err != nil {
		a.complain("--timeout: %v", err)
	}
	if e.Logs == nil {
		e.Logs = &logs.Story{}
	}
	return e.Logs
}

// options are those of the package.
func (f logFlags) options() (read.Options, error) {
	opt := read.Options{Now: time.Now(), Only: forensics.SourceLogs}
	zone, err := localZone(), error(nil)
	if f.zone != "Local" {
		if zone, err = time.LoadLocation(f.zone); err != nil {
			return opt, usagef("--zone %s: %v", f.zone, err)
		}
	}
	opt.Zone = func() *time.Location { return zone }
	if f.since != "" {
		if opt.Since, err = sinceTime(f.since, opt.Now, zone); err != nil {
			return opt, usagef("--since %s: want a duration (2h) or a time (2026-11-21 or 2026-11-21T10:00:00Z)", f.since)
		}
	}
	return opt, nil
}

func sinceTime(s string, now time.Time, zone *time.Location) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	var t time.Time
	err := errors.New("no format fits")
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err = time.ParseInLocation(layout, s, zone); err == nil {
			break
		}
	}
	return t, err
}
