package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
)

// flags are what the command line says.
type flags struct {
	collect.Options
	probe   bool
	timeout time.Duration
	output  outputFlags
	podGC   podGCFlags
}

// outputFlags say where a report goes.
type outputFlags struct {
	dir     string
	formats []string
	failOn  string
	redact  string
	// deadline is when the files must be written; zero is no limit but the writer's own.
	deadline time.Time
}

func (a *app) rootCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "nodeforensics",
		Short: "Examine a sick Kubernetes node and name the culprit",
		Long: `nodeforensics examines this node and writes a report that names the culprit: which dead mount, which blocked
thread and goroutine, which pod, and what to do safely. Run it as root, once. It only reads, and it ends on time
also where df, ls and lsof hang.

It writes nodeforensics-<host>-<time>.html and .json to --out.

Exit status: 0 done, 1 something failed (what could be read is still reported), 2 wrong usage, 3 with --fail-on if a
finding is at least that severe.`,
		Example: `  nodeforensics                             examine this node
  nodeforensics --out /tmp/ticket           write the report there
  nodeforensics --format json --out - | jq .diagnoses
  nodeforensics --root /mnt/disk            examine the disk of a dead node
  nodeforensics analyze goroutines.txt      judge a goroutine dump, and write a report
  nodeforensics logs kubelet.log            tell the story of a log on the terminal
  nodeforensics goroutines dump.txt         explain a goroutine dump on the terminal`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return a.examine(f) },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.SetOut(a.out.file)
	cmd.SetErr(a.err.file)
	fs := cmd.Flags()
	fs.StringVar(&f.Root, "root", "/", "the host's root; another directory is the disk of another node, and nothing live is read")
	fs.StringVar(&f.KubeletRoot, "kubelet-root", "", "the kubelet's root directory (default: found from the kubelet's flags)")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "the whole run ends within this time, with what it has")
	fs.DurationVar(&f.HungAfter, "hung-after", forensics.DefaultHungAfter, "a mount that does not answer for so long is hung")
	fs.DurationVar(&f.SlowAfter, "slow-after", collect.DefaultSlowAfter, "a mount that answers after so long is slow")
	fs.BoolVar(&f.NoProbe, "no-probe", false, "touch no mount: report only what others are seen waiting for")
	fs.BoolVar(&f.probe, "probe", false, "probe mounts even as PID 1 of a container, which then may not end")
	fs.StringSliceVar(&f.Goroutines, "goroutines", nil, "read the kubelet's goroutine dump from `FILE` instead of asking the kubelet")
	fs.StringSliceVar(&f.Logs, "log", nil, "read `FILE` instead of looking for logs; may be given several times, the oldest first")
	fs.DurationVar(&f.LogsSince, "since", 0, "how far back logs are read; all of those that are given with --log")
	fs.Lookup("since").DefValue = collect.DefaultLogsSince.String()
	fs.BoolVar(&f.NoLogs, "no-logs", false, "read no logs")
	fs.StringSliceVar(&f.APIDumps, "api-dump", nil, "read objects of the API from `FILE`: kubectl get pods,nodes,pvc,pv -A -o json")
	f.podGC.register(cmd)
	fs.DurationVar(&f.Interval, "interval", collect.DefaultInterval, "where the kubelet's goroutine dump shows a suspect, take a second one so much later; 0 takes none")
	fs.DurationVar(&f.CPUProfile, "cpu-profile", 0, "take the kubelet's CPU profile for so long (10s); it costs the kubelet a few percent of a processor")
	fs.DurationVar(&f.DiskUsage, "disk-usage", 0, "count for so long (30s) where the disk space went (default: 2s, and only on a disk near a threshold)")
	fs.StringVar(&f.KubeletURL, "kubelet-url", "", "the kubelet's API (default: where its process listens)")
	fs.StringVar(&f.Token, "token", "", "bearer token that may read nodes/proxy; prefer --token-file, others can see a command line")
	fs.StringVar(&f.TokenFile, "token-file", "", "`FILE` with the bearer token")
	fs.StringVar(&f.ClientCert, "client-cert", "", "`FILE` with a client certificate for the kubelet's API")
	fs.StringVar(&f.ClientKey, "client-key", "", "`FILE` with its key")
	f.output.register(cmd)
	f.output.registerRedact(cmd)
	cmd.AddCommand(
		a.analyzeCommand(), a.goroutinesCommand(), a.holdersCommand(), a.logsCommand(), a.renderCommand(), a.planCommand(),
		a.checksCommand(), a.schemaCommand(), a.versionCommand(),
	)
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
	wrapArgs(cmd)
	return cmd
}

// wrapArgs makes wrong arguments usage errors.
func wrapArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func (o *outputFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&o.dir, "out", "o", ".", "directory for the report files, made if it is missing; - writes one --format to stdout")
	fs.StringSliceVar(&o.formats, "format", []string{"html", "json"}, "what to write: html, json, text")
	fs.StringVar(&o.failOn, "fail-on", "", "exit with 3 if a finding is at least so severe: critical, warning, info")
}

// The values of --redact.
const (
	redactSecrets = "secrets"
	redactStrict  = "strict"
)

func (o *outputFlags) registerRedact(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.redact, "redact", redactSecrets, "what is masked: secrets; strict also masks IP addresses, host names, namespaces and names of pods")
}

// validate reports the first mistake.
func (o *outputFlags) validate() error {
	if o.redact != "" && o.redact != redactSecrets && o.redact != redactStrict {
		return usagef("--redact %s: want secrets or strict", o.redact)
	}
	for i, format := range o.formats {
		o.formats[i] = strings.TrimSpace(format)
		if !slices.Contains([]string{"html", "json", "text"}, o.formats[i]) {
			return usagef("--format %s: want html, json or text", format)
		}
	}
	if o.dir == "-" && len(o.formats) != 1 {
		return usagef("--out - needs a single --format")
	}
	if o.failOn != "" && forensics.Severity(o.failOn).Rank() == 0 {
		return usagef("--fail-on %s: want critical, warning or info", o.failOn)
	}
	return nil
}

func (f *flags) validate() error {
	if f.timeout < time.Second {
		return usagef("--timeout %v: want at least 1s", f.timeout)
	}
	if f.HungAfter <= 0 || f.SlowAfter <= 0 {
		return usagef("--hung-after and --slow-after: want more than 0")
	}
	if f.LogsSince < 0 {
		return usagef("--since %v: want more than 0; --no-logs reads none", f.LogsSince)
	}
	if f.NoLogs && len(f.Logs) > 0 {
		return usagef("--log and --no-logs exclude each other")
	}
	if slices.ContainsFunc(f.Logs, isStream) {
		return usagef("--log: want a file; nodeforensics logs - reads standard input")
	}
	for _, name := range slices.Concat(f.Goroutines, f.APIDumps, []string{f.TokenFile, f.ClientCert, f.ClientKey}) {
		if isStream(name) { // it is opened by another process, which has none of our descriptors
			return usagef("%s: want a file: a pipe or standard input cannot be read here", name)
		}
	}
	if f.Interval < 0 || f.CPUProfile < 0 || f.DiskUsage < 0 {
		return usagef("--interval, --cpu-profile and --disk-usage: want 0 or more")
	}
	if f.Interval == 0 {
		f.Interval = -1 // none: the zero value of the option is its default
	}
	if f.NoProbe && f.probe {
		return usagef("--probe and --no-probe exclude each other")
	}
	return f.output.validate()
}
