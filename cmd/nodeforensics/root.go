package main

import (
	"fmt"
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
	keyName string // of the key that placeholders have in common with other runs
	podGC   podGCFlags
}

func (a *app) rootCommand() *cobra.Command {
	var f flags
	var showVersion bool
	cmd := &cobra.Command{
		Use:   "nodeforensics",
		Short: "Examine a sick Kubernetes node and name the cause",
		Long: `nodeforensics examines this node and writes a report. The report names the
cause: the dead mount, the blocked thread and goroutine, the affected pods, and
the steps to fix it. Run it once, as root. It only reads. It ends on time, also
on nodes where df, ls and lsof hang.

It writes nodeforensics-NODE-TIME.html and .json to --output-dir, and prints a
summary. With --output it prints that format, and writes files only if
--output-dir is given, too.

Exit status: 0 success; 1 something failed, and the report has what could be
read; 2 wrong usage; 3 see --fail-on.`,
		Example: `  # Examine this node.
  sudo nodeforensics

  # Write the files to a directory.
  sudo nodeforensics --output-dir /tmp/ticket

  # Print JSON, and write no file.
  sudo nodeforensics -o json | jq .diagnoses

  # Examine the mounted disk of a dead node.
  sudo nodeforensics --root /mnt/disk

  # Examine files that were saved on a node.
  nodeforensics analyze goroutines.txt kubelet.log`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			if showVersion {
				return a.printVersion(f.output.format)
			}
			return a.examine(f)
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.verbose && a.quiet {
				return usagef("--verbose and --quiet exclude each other")
			}
			return nil
		},
	}
	all := cmd.PersistentFlags()
	all.BoolVarP(&a.verbose, "verbose", "v", false, "print all steps, details and checks that were not made; print progress also if standard error is no terminal")
	all.BoolVarP(&a.quiet, "quiet", "q", false, "print only headlines, files and errors: no progress, no notes")
	all.BoolVar(&a.noColor, "no-color", false, "print no colors, as with NO_COLOR=1 in the environment")
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetOut(a.out.file)
	cmd.SetErr(a.err.file)
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", a.out.width())))
	fs := cmd.Flags()
	fs.BoolVar(&showVersion, "version", false, "print the version")
	fs.StringVar(&f.Root, "root", "/", "root `DIR` of the host; another directory is the disk of another node, and no live data is collected")
	fs.StringVar(&f.KubeletRoot, "kubelet-root", "", "root `DIR` of the kubelet (default: from the kubelet's flags)")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "end the whole run within this time and report what was collected")
	fs.DurationVar(&f.HungAfter, "hung-after", forensics.DefaultHungAfter, "a mount that does not respond within this time is hung")
	fs.DurationVar(&f.SlowAfter, "slow-after", collect.DefaultSlowAfter, "a mount that responds later than this is slow")
	fs.BoolVar(&f.NoProbe, "no-probe", false, "access no mount: report only mounts on which threads wait")
	fs.BoolVar(&f.probe, "probe", false, "probe mounts also as PID 1 of a container; a blocked thread can then keep the container from ending")
	fs.StringSliceVar(&f.Goroutines, "goroutines", nil, "read the kubelet's goroutine dump from `FILE` (default: request it from the kubelet)")
	fs.StringSliceVar(&f.Logs, "log", nil, "read the log `FILE`; may be repeated, oldest first (default: find the logs of the node)")
	fs.DurationVar(&f.LogsSince, "since", 0, "read log lines that are not older than this; files of --log are read completely by default")
	fs.Lookup("since").DefValue = collect.DefaultLogsSince.String()
	fs.BoolVar(&f.NoLogs, "no-logs", false, "read no logs")
	fs.StringSliceVar(&f.APIDumps, "api-dump", nil, "read API objects from `FILE`: kubectl get pods,nodes,pvc,pv -A -o json (default: none)")
	fs.BoolVar(&f.API, "api", false, "ask the API server, with the kubelet's own certificate, for the pods of this node and its Node, nothing else")
	f.podGC.register(cmd)
	fs.DurationVar(&f.Interval, "interval", collect.DefaultInterval, "if the kubelet's goroutine dump shows a suspect, take a second dump after this time; 0 takes none")
	fs.DurationVar(&f.CPUProfile, "cpu-profile", 0, "take a CPU profile of the kubelet for this time (10s); it costs the kubelet a few percent of a CPU (default: none)")
	fs.DurationVar(&f.DiskUsage, "disk-usage", 0, "count disk usage for this time (30s) (default: 2s, and only on a disk near a threshold)")
	fs.StringVar(&f.KubeletURL, "kubelet-url", "", "`URL` of the kubelet's API (default: where the kubelet process listens)")
	fs.StringVar(&f.Token, "token", "", "bearer `TOKEN` that may access nodes/proxy; prefer --token-file, because other users can see command lines")
	fs.StringVar(&f.TokenFile, "token-file", "", "`FILE` with the bearer token (default: none)")
	fs.StringVar(&f.ClientCert, "client-cert", "", "`FILE` with a client certificate for the kubelet's API (default: none)")
	fs.StringVar(&f.ClientKey, "client-key", "", "`FILE` with the key of the client certificate")
	for _, dir := range []string{"root", "kubelet-root"} {
		_ = cmd.MarkFlagDirname(dir)
	}
	f.output.register(cmd)
	f.output.registerRedact(cmd)
	fs.BoolVar(&f.output.gzip, "gzip", false, "compress what --output prints")
	_ = fs.MarkHidden("gzip") // for the command "node"
	cmd.AddCommand(
		a.analyzeCommand(), a.fleetCommand(), a.goroutinesCommand(), a.holdersCommand(), a.logsCommand(), a.renderCommand(), a.planCommand(),
		a.nodeCommand(),
		a.checksCommand(), a.schemaCommand(), a.versionCommand(), a.manCommand(),
		a.installCommand(), a.waitCommand(),
	)
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	exampleOfCompletion(cmd)
	wrapArgs(cmd)
	return cmd
}

// exampleOfCompletion gives the commands that cobra makes an example, too.
func exampleOfCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  nodeforensics help logs"
		case "completion":
			cmd.Short = "Generate the completion script of a shell"
			cmd.Example = "  source <(nodeforensics completion bash)"
			for _, shell := range cmd.Commands() {
				shell.Example = map[string]string{
					"bash":       "  nodeforensics completion bash > /etc/bash_completion.d/nodeforensics",
					"zsh":        `  nodeforensics completion zsh > "${fpath[1]}/_nodeforensics"`,
					"fish":       "  nodeforensics completion fish > ~/.config/fish/completions/nodeforensics.fish",
					"powershell": "  nodeforensics completion powershell | Out-String | Invoke-Expression",
				}[shell.Name()]
			}
		}
	}
}

// wrapArgs makes wrong arguments of a command, and of those below it, usage errors.
func wrapArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if check(c, args) != nil {
			return argsError(c, args)
		}
		return nil
	}
}

func (f *flags) validate() error {
	if f.timeout < time.Second {
		return usagef("--timeout %v: want at least 1s", f.timeout)
	}
	if f.HungAfter <= 0 || f.SlowAfter <= 0 {
		return usagef("--hung-after and --slow-after: want more than 0")
	}
	if f.LogsSince < 0 {
		return usagef("--since %v: want more than 0; to read no logs, use --no-logs", f.LogsSince)
	}
	if f.NoLogs && len(f.Logs) > 0 {
		return usagef("--log and --no-logs exclude each other")
	}
	if slices.ContainsFunc(f.Logs, isStream) {
		return usagef("--log: want a file; for standard input, use nodeforensics logs -")
	}
	for _, name := range slices.Concat(f.Goroutines, f.APIDumps, []string{f.TokenFile, f.ClientCert, f.ClientKey}) {
		if isStream(name) { // it is opened by another process, which has none of our descriptors
			return usagef("%s: want a file; a pipe or standard input cannot be read here", name)
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
