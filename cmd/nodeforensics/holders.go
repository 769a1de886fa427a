package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// holdersSchema names the layout of holders --json.
const holdersSchema = "nodeforensics.holders/v1"

func (a *app) holdersCommand() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "holders PATH…",
		Short: "Show who keeps a mount busy, without touching it",
		Long: `holders shows what keeps a mount in use: processes (working and root directory, program, open and mapped files), the
kernel (mounts, loop devices, swap, overlays, exports, sockets), the process behind a FUSE mount, and mount namespaces
that have a copy. It asks no file system, so it answers also where fuser and lsof hang.

PATH is a mount point, a path below one, the UID of a pod or the name of a volume.`,
		Example: `  nodeforensics holders /mnt/nfs
  nodeforensics holders 5c948341-c030-4996-b888-f032577d97b0 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if timeout < time.Second {
				return usagef("--timeout %v: want at least 1s", timeout)
			}
			return a.holders(args, asJSON, timeout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&timeout, "timeout", 20*time.Second, "end within this time, with what there is")
	return cmd
}

// heldMounts is the answer to one argument.
type heldMounts struct {
	Query  string                  `json:"query"`
	Mounts []forensics.MountUsers  `json:"mounts"`
	Leaked []forensics.LeakedMount `json:"leaked"`
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
	if asJSON {
		text, err := json.MarshalIndent(struct {
			Schema   string             `json:"schema"`
			Answers  []heldMounts       `json:"answers"`
			Blind    string             `json:"not_visible"`
			Coverage []forensics.Source `json:"coverage"`
		}{holdersSchema, answers, mounts.KernelBlind, evidence.Coverage}, "", "  ")
		if err != nil {
			return err
		}
		a.out.printf("%s\n", text)
	} else {
		a.out.printf("%s", holdersText(&evidence, answers))
	}
	for _, answer := range answers {
		if len(answer.Mounts)+len(answer.Leaked) == 0 {
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
	if strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") {
		return path.Clean(absolute(arg))
	}
	return strings.TrimSuffix(arg, "/")
}

// collectHolders has the child look.
func (a *app) collectHolders(queries []string, timeout time.Duration) (forensics.Evidence, error) {
	evidence := forensics.NewEvidence()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return evidence, err
	}
	c, err := startChild(childArg)
	if err != nil {
		return evidence, err
	}
	defer c.close()
	options := forensics.Options{Version: programVersion(), RedactKey: key}
	if err := c.order(order{Options: options, Timeout: timeout * 9 / 10, Holders: queries}); err != nil {
		return evidence, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err = a.receive(ctx, c, &evidence, timeout/20)
	return evidence, err
}

func holdersOf(e *forensics.Evidence, queries []string) []heldMounts {
	model := forensics.NewModel(e)
	answers := []heldMounts{}
	for _, q := range queries {
		answer := heldMounts{Query: q, Mounts: []forensics.MountUsers{}, Leaked: []forensics.LeakedMount{}}
		for _, m := range forensics.FindMounts(&e.Mounts, q) {
			answer.Mounts = append(answer.Mounts, model.UsersOf(m))
		}
		if e.Held != nil {
			for _, l := range e.Held.Leaked {
				if len(forensics.FindMounts(&mounts.Table{Mounts: []mounts.Mount{l.Mount}}, q)) > 0 && path.Dir(l.Mount.MountPoint) != "/" {
					answer.Leaked = append(answer.Leaked, l)
				}
			}
		}
		answers = append(answers, answer)
	}
	return answers
}

// holdersText writes the answers for a terminal.
func holdersText(e *forensics.Evidence, answers []heldMounts) string {
	var b bytes.Buffer
	model := forensics.NewModel(e)
	for _, answer := range answers {
		for _, u := range answer.Mounts {
			writeUsers(&b, model, u)
		}
		for _, l := range answer.Leaked {
			n := model.Namespace(l.Namespace)
			fmt.Fprintf(&b, "%s: only in mount namespace %d: %s\n", printable(l.Mount.MountPoint), l.Namespace, namespaceText(n))
		}
	}
	fmt.Fprintf(&b, "%s.\n", strings.ToUpper(mounts.KernelBlind[:1])+mounts.KernelBlind[1:])
	if e.Held != nil && e.Held.LeftOut > 0 {
		fmt.Fprintf(&b, "%d further holders are left out.\n", e.Held.LeftOut)
	}
	return b.String()
}

func writeUsers(b *bytes.Buffer, model *forensics.Model, u forensics.MountUsers) {
	m := u.Mount
	fmt.Fprintf(b, "%s: %s from %s, mount %d, superblock %s\n", printable(m.MountPoint), printable(m.FSType), printable(m.Source), m.ID, m.Device)
	for _, s := range u.Servers {
		trouble, _ := model.ServerTrouble(s.PID)
		switch {
		case s.PID == 0:
			fmt.Fprintf(b, "  served by nobody: %s\n", s.Why)
		case s.Guess:
			fmt.Fprintf(b, "  probably served by process %d %s: %s\n", s.PID, trouble, s.Why)
		default:
			fmt.Fprintf(b, "  served by process %d %s\n", s.PID, trouble)
		}
	}
	if len(u.Holders) == 0 {
		fmt.Fprintln(b, "  no process holds this mount")
	}
	writeProcesses(b, u.Holders)
	for _, k := range u.Kernel {
		fmt.Fprintf(b, "  kernel: %s %s %s%s\n", k.Use, printable(k.What), printable(k.Detail), map[bool]string{true: " (busy)"}[k.Blocks])
	}
	if len(u.Elsewhere) > 0 {
		fmt.Fprintln(b, "  the same file system is held through other mounts; they do not keep this one busy:")
		writeProcesses(b, u.Elsewhere)
	}
	for _, n := range u.Namespace {
		fmt.Fprintf(b, "  mount namespace %d: %s\n", n.Namespace, namespaceText(n))
	}
}

func namespaceText(n forensics.NamespaceProcesses) string {
	text := fmt.Sprintf("%s (%s)", forensics.Plural(n.Processes, "process"), printable(strings.Join(n.Commands, ", ")))
	if n.Processes == 0 {
		text = "no process is in it"
	} else {
		text += ", pid " + strings.Trim(fmt.Sprint(n.PIDs), "[]")
	}
	if len(n.Pods) > 0 {
		text += ", pod " + strings.Join(n.Pods, ", ")
	}
	if len(n.HeldBy) > 0 {
		text += ", held open by pid " + strings.Trim(fmt.Sprint(n.HeldBy), "[]")
	}
	if len(n.MountedAt) > 0 {
		text += ", mounted at " + printable(strings.Join(n.MountedAt, ", "))
	}
	switch {
	case n.Unread:
		text += ", its mounts could not be read"
	case n.Processes+len(n.HeldBy)+len(n.MountedAt) == 0:
		text += ", and what keeps it is not visible (perhaps a descriptor in the queue of a socket)"
	}
	return text
}

// writeProcesses writes the table of holders. What a process holds several times by one kind is one line.
func writeProcesses(b *bytes.Buffer, list []forensics.HolderProcess) {
	if len(list) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  PID\tKIND\tUSER\tCOMMAND\tCONTAINER\tPOD\tPATH")
	for i, h := range list {
		same := func(o forensics.HolderProcess) bool { return o.PID == h.PID && o.TID == h.TID && o.Kind == h.Kind }
		if slices.ContainsFunc(list[:i], same) {
			continue
		}
		count, name := 0, h.Path
		for _, o := range list {
			if same(o) {
				count++
			}
		}
		kind := string(h.Kind)
		if h.FD >= 0 {
			kind += " " + strconv.Itoa(h.FD)
		}
		if count > 1 {
			kind += fmt.Sprintf(" (+%d)", count-1)
		}
		if h.TID != 0 {
			kind += fmt.Sprintf(" thread %d", h.TID)
		}
		if h.Deleted {
			name += " (deleted)"
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\t%s\t%s\n", h.PID, kind, printable(user(h)), printable(h.Comm), short(h.ContainerID), short(h.PodUID), printable(name))
	}
	_ = w.Flush()
}

func user(h forensics.HolderProcess) string {
	switch {
	case h.User != "":
		return h.User
	case h.UID < 0:
		return "?"
	}
	return strconv.Itoa(h.UID)
}

func short(id string) string {
	if len(id) == 64 {
		id = id[:12]
	}
	if id == "" {
		return "-"
	}
	return id
}

// printable makes control characters and what is no UTF-8 visible.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
