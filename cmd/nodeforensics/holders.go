package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/podname"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
)

func (a *app) holdersCommand() *cobra.Command {
	var out printFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "holders PATH|POD…",
		Short: "Show which processes use a mount, without accessing it",
		Long: `holders shows what keeps a mount in use. It accesses no file system, so it also
answers where fuser and lsof hang. It finds:

  - processes, by working and root directory, program, open files and mapped
    files
  - users in the kernel: mounts, loop devices, images, swap, overlays, exports,
    sockets, interpreters, uprobes
  - the process that serves a FUSE mount
  - the mount namespaces that have the mount, also if they alone still have it

PATH is a mount point or another path. For another path, the mounts below it and
the mount that it is on are shown. Symbolic links are followed as far as no
server is needed for that. PATH can also be the name of a volume, or the last
part of a mount point.

POD is namespace/name, or the UID of a pod in any spelling, or the beginning of
a UID. Names are looked up in /var/log/pods and in the files of the container
runtimes. No server is contacted.`,
		Example: `  # Show what keeps an NFS mount in use.
  nodeforensics holders /mnt/nfs

  # Show what keeps the volumes of a pod in use.
  nodeforensics holders shop/cart-0

  # Print JSON for the volumes of a pod that was deleted.
  nodeforensics holders 5c948341-c030-4996-b888-f032577d97b0 -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if slices.Contains(args, "") {
				return usagef("an empty path: want a path, a pod or the name of a volume")
			}
			if err := out.validate(); err != nil {
				return err
			}
			return a.holders(args, out.format, timeout)
		},
	}
	out.register(cmd, dataFormats, formatText)
	out.registerJSON(cmd)
	return a.bounded(cmd, &timeout, 20*time.Second)
}

func (a *app) holders(args []string, format string, timeout time.Duration) error {
	if !supported {
		return errors.New("holders works on Linux only")
	}
	if err := enterHost(); err != nil {
		a.note("this container cannot enter the host: %v", err)
	}
	queries := make([]string, len(args))
	for i, arg := range args {
		queries[i] = query(arg)
	}
	a.working("reading mounts and processes")
	evidence, err := a.collectHolders(queries, timeout)
	if err != nil {
		a.complain("%v", err)
	}
	answers := holdersOf(&evidence, queries)
	var b bytes.Buffer
	if format == "" || format == formatText {
		err = report.WriteHolders(&b, &evidence, answers)
	} else {
		err = data(&b, format, func(w io.Writer) error { return report.WriteHoldersJSON(w, &evidence, answers) })
	}
	if err != nil {
		return err
	}
	a.out.printf("%s", b.String())
	if init := firstProcess(&evidence); init.MountNS != 0 && evidence.Mounts.Namespace != 0 && init.MountNS != evidence.Mounts.Namespace {
		a.note("this is not the mount namespace of process 1 (%s); to see its mounts: nsenter -t 1 -m", printable(init.Comm))
	}
	for _, answer := range answers {
		uids := podname.UIDs(evidence.Pods, answer.Query)
		if len(uids) > 1 {
			a.note("%s is the name of %d pods; the answer is about all of them: %s", printable(answer.Query), len(uids), strings.Join(uids, ", "))
		}
		if len(answer.Mounts)+len(answer.Leaked) == 0 && len(evidence.Mounts.Mounts) > 0 {
			a.complain("%s", notFound(answer.Query, uids))
		}
	}
	for _, s := range evidence.Coverage {
		switch {
		case s.Status == forensics.SourceRead || s.Source == forensics.SourceThreads:
		case s.Status.Usable():
			a.note("incomplete: %s", printable(s.Detail))
		default:
			a.complain("%s: %s %s", s.Source, s.Status, printable(s.Detail))
		}
	}
	return nil
}

// firstProcess is process 1, or none.
func firstProcess(e *forensics.Evidence) procs.Process {
	for _, p := range e.Processes {
		if p.PID == 1 {
			return p
		}
	}
	return procs.Process{}
}

// notFound says why there is no answer to a query.
func notFound(query string, uids []string) string {
	switch {
	case !podname.Is(query):
		return query + ": no mount has that path, pod UID or volume name"
	case len(uids) > 0:
		return fmt.Sprintf("%s: the pod (UID %s) has no mounts", query, strings.Join(uids, ", "))
	}
	return query + ": no pod has that name in /var/log/pods or in the files of the container runtimes, and no mount is there; " +
		"give the pod's UID, or a path as ./" + query
}

// query makes a path absolute, and leaves alone what is the UID or the name of a pod or the name of a volume. What could be both a path and
// the name of a pod is the path if something is mounted there.
func query(arg string) string {
	if !strings.Contains(arg, "/") && !strings.HasPrefix(arg, ".") || podname.Is(arg) && !isMounted(absolute(arg)) {
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
		names := []string{name}
		if podname.Is(q) {
			names = podname.UIDs(e.Pods, q)
		}
		for _, name := range names {
			for _, m := range collect.FindMounts(&e.Mounts, name) {
				answer.Mounts = append(answer.Mounts, model.Uses().Of(m))
			}
			if e.MountUse == nil {
				continue
			}
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

// isMounted says whether something is mounted at a path or below it, for this process.
func isMounted(name string) bool {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	list, _ := mounts.Parse(file)
	return slices.ContainsFunc(list, func(m mounts.Mount) bool { return strings.HasPrefix(m.MountPoint+"/", name+"/") })
}
