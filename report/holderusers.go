package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// writeUsers writes the users of a mount. all says that every process could be read.
func writeUsers(b *bytes.Buffer, model *forensics.Model, u forensics.MountUsers, all bool) {
	m := u.Mount
	fmt.Fprintf(b, "%s: %s from %s, mount %d, superblock %s\n", lineText(m.MountPoint), cellText(m.FSType), cellText(m.Source), m.ID, m.Device)
	for _, s := range u.Servers {
		fmt.Fprintf(b, "  %s\n", serverText(model, s))
	}
	if m.Class == mounts.ClassFUSE && len(u.Servers) == 0 {
		fmt.Fprintln(b, "  server process: unknown")
	}
	if len(u.Holders) == 0 {
		fmt.Fprintf(b, "  no open files%s%s\n", map[bool]string{false: " in the processes that could be read"}[all],
			map[bool]string{true: "; " + text.Plural(len(u.Calls), "system call") + " in flight"}[len(u.Calls) > 0])
	}
	writeProcesses(b, model, u.Holders)
	for _, c := range u.Copies {
		fmt.Fprintf(b, "  %s also keeps it busy (mount propagation)\n", cellText(model.Uses().DescribeCopy(c)))
	}
	if stack := len(model.Host().At(m.MountPoint)); stack > 1 && slices.ContainsFunc(u.Holders, func(h forensics.HolderProcess) bool { return h.ByPath }) {
		fmt.Fprintf(b, "  working and root directories are known by path only: each is on one of the %d mounts stacked here\n", stack)
	}
	if len(u.Calls) > 0 {
		fmt.Fprintln(b, "  system calls in flight, which keep it busy until they return:")
		writeCalls(b, model, u.Calls)
	}
	for _, k := range u.Kernel {
		usedBy := map[bool]string{true: "(itself used by " + cellText(strings.Join(k.UsedBy, ", ")) + ")"}[len(k.UsedBy) > 0]
		words := []string{"  kernel:", string(k.Use), cellText(k.What), cellText(k.Detail), usedBy, map[bool]string{true: "(busy)"}[k.Blocks]}
		fmt.Fprintln(b, strings.Join(sorting.Delete(words, func(w string) bool { return w == "" }), " "))
	}
	if len(u.Elsewhere)+len(u.CallsElsewhere) > 0 {
		fmt.Fprintln(b, "  in use through other mounts of the same file system, which do not keep this mount busy:")
		writeProcesses(b, model, u.Elsewhere)
		writeCalls(b, model, u.CallsElsewhere)
	}
	for _, n := range u.Namespace {
		fmt.Fprintf(b, "  also in mount namespace %d%s: %s\n", n.Namespace, unreachedText(n.Private), namespaceText(model, n))
	}
}

// serverText says which process serves a FUSE mount, its state, and how many requests wait for it.
func serverText(model *forensics.Model, s forensics.FUSEServer) string {
	words := "no server process: " + s.Why
	if p, ok := model.Process(s.PID); s.PID != 0 {
		words = fmt.Sprintf("served by process %d", s.PID)
		if ok {
			words += " (" + cellText(p.Comm) + ")"
		}
		if trouble, bad := model.Uses().ServerTrouble(s.PID); bad {
			words += ", which " + cellText(trouble.String())
		}
		if s.Guess {
			words = "probably " + words + ": " + cellText(s.Why)
		}
	}
	if s.Waiting != nil && *s.Waiting > 0 {
		words += fmt.Sprintf("; %s without an answer", text.Plural(*s.Waiting, "request"))
	}
	return words
}

// unreachedText says which copy in another namespace an unmount here does not remove.
func unreachedText(points []string) string {
	if len(points) == 0 {
		return ""
	}
	return " (an unmount here does not remove its copy at " + cellText(strings.Join(points, ", ")) + ")"
}

func namespaceText(model *forensics.Model, n forensics.NamespaceProcesses) string {
	text := fmt.Sprintf("%s (%s)", text.Plural(n.Processes, "process"), cellText(strings.Join(n.Commands, ", ")))
	if n.Processes == 0 {
		text = "no process"
	} else {
		text += ", pid " + strings.Trim(fmt.Sprint(n.PIDs), "[]")
	}
	for i, uid := range n.Pods {
		text += map[bool]string{true: ", pod ", false: ", "}[i == 0] + podText(model, uid)
	}
	if len(n.OpenedBy) > 0 {
		text += ", open in pid " + strings.Trim(fmt.Sprint(n.OpenedBy), "[]")
	}
	if len(n.MountedAt) > 0 {
		text += ", mounted at " + cellText(strings.Join(n.MountedAt, ", "))
	}
	switch {
	case n.Unread:
		text += ", its mounts could not be read"
	case n.Processes+len(n.OpenedBy)+len(n.MountedAt) == 0:
		text += ", and what keeps it is not visible (possibly a descriptor in the queue of a socket)"
	}
	return text
}
