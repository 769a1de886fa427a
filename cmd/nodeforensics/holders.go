package main

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) holdersCommand() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "holders PATH…",
		Short: "Show who keeps a mount busy, without touching it",
		Long: `holders shows what keeps a mount in use: processes (working and root directory, program, open and mapped files), the
kernel (mounts, loop devices, images, swap, overlays, exports, sockets, interpreters, uprobes), the process behind a FUSE
mount, and the mount namespaces from which it is held or that alone still have it. It asks no file system, so it answers
also where fuser and lsof hang.

PATH is a mount point or another path: then what is mounted below it is shown, and the mount that it lies on. Symbolic links
are followed as far as that needs no server. Or it is the UID of a pod (in any spelling, or its beginning), the name of a
volume, or the last part of a mount point.`,
		Example: `  nodeforensics holders /mnt/nfs
  nodeforensics holders 5c948341-c030-4996-b888-f032577d97b0 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if slices.Contains(args, "") {
				return usagef("an empty path: want a path, the UID of a pod or the name of a volume")
			}
			return a.holders(args, asJSON, timeout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return a.bounded(cmd, &timeout, 20*time.Second)
}

func (a *app) holders(args []string, asJSON bool, timeout time.Duration) error {
	if !supported {
		return errors.New("holders needs Linux")
	}
	queries := make([]string, len(args))
	for i, arg := range args {
		queries[i] = query(arg)
	}
	evidence, err := a.collectHolders(queries, timeout)
	if err != nil {
		a.complain("%v", err)
	}
	answers := holdersOf(&evidence, queries)
	write := report.WriteHolders
	if asJSON {
		write = report.WriteHoldersJSON
	}
	var b bytes.Buffer
	if err := write(&b, &evidence, answers); err != nil {
		return err
	}
	a.out.printf("%s", b.String())
	if p, ok := forensics.NewModel(&evidence).Process(1); ok && p.MountNS != 0 && evidence.Mounts.Namespace != 0 && p.MountNS != evidence.Mounts.Namespace {
		a.err.printf("nodeforensics: this is another mount namespace than that of process 1 (%s): for its mounts, nsenter -t 1 -m\n", printable(p.Comm))
	}
	for _, answer := range answers {
		if len(answer.Mounts)+len(answer.Leaked) == 0 && len(evidence.Mounts.Mounts) > 0 {
			a.complain("%s: no mount is found by that path, pod UID or volume name", printable(answer.Query))
		}
	}
	for _, s := range evidence.Coverage {
		switch {
		case s.Status == forensics.SourceRead || s.Source == forensics.SourceThreads:
		case s.Status.Usable():
			a.err.printf("nodeforensics: not all could be read: %s\n", printable(s.Detail))
		default:
			a.complain("%s: %s %s", s.Source, s.Status, printable(s.Detail))
		}
	}
	return nil
}

// query makes a path absolute, and leaves alone what is the UID of a pod or the name of a volume.
func query(arg string) string {
	if !strings.Contains(arg, "/") && !strings.HasPrefix(arg, ".") {
		return arg
	}
	return path.Clean(absolute(strings.TrimSuffix(arg, "//deleted"))) // so the kernel marks directories that are gone
}

// collectHolders has the child look.
func (a *app) collectHolders(queries []string, timeout time.Duration) (forensics.Evidence, error) {
	evidence := forensics.NewEvidence()
	key, err := newRedactKey()
	if err != nil {
		return evidence, err
	}
	c, err := startChild(childArg)
	if err != nil {
		return evidence, err
	}
	defer c.close()
	names := make([][]byte, len(queries)) // which need not be UTF-8
	for i, q := range queries {
		names[i] = []byte(q)
	}
	options := collect.Options{Version: programVersion(), RedactKey: key}
	if err := c.order(order{Options: options, Timeout: timeout * 9 / 10, Holders: names}); err != nil {
		return evidence, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err = a.receive(ctx, c, &evidence, timeout/20)
	return evidence, err
}

func holdersOf(e *forensics.Evidence, queries []string) []report.MountHolders {
	model := forensics.NewModel(e)
	answers := []report.MountHolders{}
	for _, q := range queries {
		q = text.ToValidUTF8(q) // as the child's answers are
		answer := report.MountHolders{Query: q, Mounts: []forensics.MountUsers{}, Leaked: []report.LeakedHolders{}}
		name := e.MountUse.ResolvedPath(q)
		if name != q {
			answer.Path = name
		}
		for _, m := range collect.FindMounts(&e.Mounts, name) {
			answer.Mounts = append(answer.Mounts, model.Uses().Of(m))
		}
		if e.MountUse != nil {
			for _, l := range model.Uses().Leaked() {
				if leakedAt(l.Mount, name) {
					answer.Leaked = append(answer.Leaked, report.LeakedHolders{ForeignMount: l, KeptBy: model.Uses().Namespace(l.Namespace), Holders: model.Uses().Of(l.Mount).Holders})
				}
			}
		}
		answers = append(answers, answer)
	}
	return answers
}

// leakedAt says whether somebody who asks for a path or name means a mount that only another namespace has. A container may
// have it below another directory, as in /host/var/lib/kubelet.
func leakedAt(m mounts.Mount, query string) bool {
	if strings.HasPrefix(query, "/") {
		return strings.Count(query, "/") > 2 && strings.Contains(m.MountPoint+"/", query+"/") || m.MountPoint == query && query != "/"
	}
	return len(collect.FindMounts(&mounts.Table{Mounts: []mounts.Mount{m}}, query)) > 0
}
