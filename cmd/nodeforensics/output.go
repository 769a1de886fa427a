package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/yamlstream"
	"github.com/nodeforensics/nodeforensics/report"
)

// The values of --output.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatYAML     = "yaml"
	formatHTML     = "html"
	formatMarkdown = "markdown"
	formatDump     = "debug2"
)

// What commands can print, and the files that are written without --output.
var (
	fileFormats      = []string{formatHTML, formatJSON}
	reportFormats    = []string{formatText, formatJSON, formatYAML, formatHTML, formatMarkdown}
	goroutineFormats = []string{formatText, formatJSON, formatYAML, formatHTML, formatDump}
	dataFormats      = []string{formatText, formatJSON, formatYAML}
)

// printFlags say what is printed to standard output.
type printFlags struct {
	format  string // one of formats; "" where none was given
	formats []string
	json    bool // the hidden --json
}

// register adds --output with the formats that a command has.
func (p *printFlags) register(cmd *cobra.Command, formats []string, otherwise string) {
	p.formats = formats
	cmd.Flags().StringVarP(&p.format, "output", "o", "", fmt.Sprintf("print `FORMAT` to standard output: %s (default: %s)", oneOf(formats), otherwise))
	complete(cmd, "output", formats...)
}

// registerJSON adds --json, which was the only other format before --output.
func (p *printFlags) registerJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "the same as --output json")
	_ = cmd.Flags().MarkHidden("json")
}

// validate checks the format.
func (p *printFlags) validate() error {
	p.format = strings.TrimSpace(p.format)
	switch {
	case p.json && p.format != "" && p.format != formatJSON:
		return usagef("--json and --output %s exclude each other", p.format)
	case p.json:
		p.format = formatJSON
	case p.format != "" && !slices.Contains(p.formats, p.format):
		return usagef("--output %s: want %s", p.format, oneOf(p.formats))
	}
	return nil
}

// oneOf is "a, b or c".
func oneOf(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// complete gives a flag the values that a shell offers.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// outputFlags say where a report goes.
type outputFlags struct {
	printFlags
	dir    string
	toDir  func() bool // the directory was given
	old    []string    // the former --format
	failOn []string
	redact string
	// redactKey is a file with the key of the placeholders.
	redactKey string
	live      bool // this machine was examined
	gzip      bool // what is printed is compressed
	// deadline is when the files must be written; zero is no limit but the writer's own.
	deadline time.Time
}

func (o *outputFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	o.printFlags.register(cmd, reportFormats, "text, and write the files")
	fs.StringVar(&o.dir, "output-dir", ".", "write the files to `DIR`, which is created if it does not exist; with --output, files are written only if this flag is given")
	fs.StringVar(&o.dir, "out", ".", "the same as --output-dir")
	fs.StringSliceVar(&o.old, "format", nil, "replaced by --output")
	_ = fs.MarkHidden("out")
	_ = fs.MarkHidden("format")
	_ = cmd.MarkFlagDirname("output-dir")
	o.toDir = func() bool { return fs.Changed("output-dir") || fs.Changed("out") }
	fs.StringSliceVar(&o.failOn, "fail-on", nil, "exit with 3 if a finding has at least this `SEVERITY` (critical, warning, info), or if the run is cut or a check is not made (incomplete) (default: never)")
	complete(cmd, "fail-on", "critical", "warning", "info", failIncomplete)
}

// failIncomplete is the value of --fail-on that is no severity.
const failIncomplete = "incomplete"

// fail sets the exit status that --fail-on asks for. A result that is incomplete because the time ran out is no failure then.
func (a *app) fail(out outputFlags, r report.Report) {
	for _, on := range out.failOn {
		switch {
		case on == failIncomplete:
			if isIncomplete(r) && !a.lost {
				a.status.Store(exitFinding)
			}
		case a.status.Load() == exitDone && slices.ContainsFunc(r.Findings, func(f forensics.Finding) bool { return f.Severity.Rank() >= forensics.Severity(on).Rank() }):
			a.status.Store(exitFinding)
		}
	}
}

// isIncomplete says whether a check was not made or failed, or the run was cut.
func isIncomplete(r report.Report) bool {
	return r.Evidence.Collector.Interrupted != "" ||
		slices.ContainsFunc(r.Outcomes, func(o forensics.Outcome) bool {
			return o.Status == forensics.OutcomeNotChecked || o.Status == forensics.OutcomeFailed
		}) ||
		slices.ContainsFunc(r.Coverage, func(s forensics.Source) bool {
			return s.Source == forensics.SourceAnalysis && s.Status != forensics.SourceRead
		})
}

// The values of --redact.
const (
	redactSecrets = "secrets"
	redactStrict  = "strict"
)

func (o *outputFlags) registerRedact(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.redact, "redact", redactSecrets, "mask secrets; strict also masks IP addresses, host names, namespaces and pod names")
	complete(cmd, "redact", redactSecrets, redactStrict)
	cmd.Flags().StringVar(&o.redactKey, "redact-key", "", "key the placeholders with the text of `FILE` (16 bytes or more), so that fleet can join those of several nodes (default: a new key for each run)")
}

// validate reports the first mistake.
func (o *outputFlags) validate() error {
	if o.redact != "" && o.redact != redactSecrets && o.redact != redactStrict {
		return usagef("--redact %s: want secrets or strict", o.redact)
	}
	if len(o.old) > 0 {
		return usagef("--format no longer exists: to print one format to standard output, use --output FORMAT; for files, use --output-dir DIR")
	}
	if o.dir == "-" {
		return usagef("--output-dir -: want a directory; to print to standard output, use --output json (or another format)")
	}
	if o.format != "" && !slices.Contains(o.formats, strings.TrimSpace(o.format)) {
		return usagef("--output %s: want %s; for files in a directory, use --output-dir %[1]s", o.format, oneOf(o.formats))
	}
	for _, severity := range o.failOn {
		if severity != failIncomplete && forensics.Severity(severity).Rank() == 0 {
			return usagef("--fail-on %s: want critical, warning, info or incomplete", severity)
		}
	}
	return o.printFlags.validate()
}

// wantsFiles says whether files are written.
func (o *outputFlags) wantsFiles() bool { return o.format == "" || o.toDir() }

// write has the report's files written, and prints the summary or the format that was asked for.
func (a *app) write(out outputFlags, r report.Report) error {
	interrupted := a.interrupts()
	var written []string
	if out.wantsFiles() {
		var err error
		if written, err = a.writeReport(interrupted, out, r); err != nil {
			return err
		}
	}
	if out.format == "" || out.format == formatText {
		var text bytes.Buffer
		if err := report.Text(&text, r, a.textOptions(written)); err != nil {
			return err
		}
		if out.live && !a.quiet && isNoNode(&r.Evidence) {
			text.WriteString("\n" + noNodeNote)
		}
		if out.format == formatText {
			return writeStdout(a.out.file, text.Bytes(), out.deadline)
		}
		a.out.printf("%s", text.String())
		return nil
	}
	if out.live && isNoNode(&r.Evidence) {
		a.note("%s", strings.TrimSuffix(noNodeNote, "\n"))
	}
	for _, name := range written {
		a.note("wrote %s", printable(name))
	}
	a.working("writing the %s", strings.ToUpper(out.format))
	return streamStdout(a.out.file, func(w io.Writer) error {
		if !out.gzip {
			return render(w, r, out.format)
		}
		packed := gzip.NewWriter(w)
		return errors.Join(render(packed, r, out.format), packed.Close())
	}, out.deadline)
}

// textOptions are those of the terminal.
func (a *app) textOptions(files []string) report.TextOptions {
	return report.TextOptions{Width: a.out.width(), Color: a.out.color() && !a.noColor, Files: files, Verbose: a.verbose, Quiet: a.quiet}
}

// render writes a report in a format other than text.
func render(w io.Writer, r report.Report, format string) error {
	switch format {
	case formatHTML:
		return report.HTML(w, r)
	case formatMarkdown:
		return report.Markdown(w, r)
	}
	return data(w, format, func(w io.Writer) error { return report.JSON(w, r) })
}

// data writes JSON, or the same as YAML.
func data(w io.Writer, format string, writeJSON func(io.Writer) error) error {
	if format == formatYAML {
		return yamlstream.Write(w, writeJSON)
	}
	return writeJSON(w)
}
