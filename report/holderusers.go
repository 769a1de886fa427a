package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// writeUsers writes who uses a mount. all says that every process could be looked at.
func writeUsers(b *bytes.Buffer, model *forensics.Model, u forensics.MountUsers, all bool) {
	m := u.Mount
	fmt.Fprintf(b, "%s: %s from %s, mount %d, superblock %s\n", lineText(m.MountPoint), cellText(m.FSType), cellText(m.Source), m.ID, m.Device)
	for _, s := range u.Servers {
		fmt.Fprintf(b, "  %s\n", serverText(model, s))
	}
	if m.Class == mounts.ClassFUSE && len(u.Servers) == 0 {
		fmt.Fprintln(b, "  who serves it could not be told")
	}
	if len(u.Holders) == 0 {
		fmt.Fprintf(b, "  no process%s holds this mount%s\n", map[bool]string{false: " that could be looked at"}[all],
			map[bool]string{true: " but by a call under way"}[len(u.Calls) > 0])
	}
	writeProcesses(b, model, u.Holders)
	for _, c := range u.Copies {
		fmt.Fprintf(b, "  %s keeps it busy as well: propagation ties it to this mount\n", cellText(model.Uses().DescribeCopy(c)))
	}
	if stack := len(model.Host().At(m.MountPoint)); stack > 1 && slices.ContainsFunc(u.Holders, func(h forensics.HolderProcess) bool { return h.ByPath }) {
		fmt.Fprintf(b, "  of working and root directories only the path is known: each is on one of the %d mounts stacked here\n", stack)
	}
	if len(u.Calls) > 0 {
		fmt.Fprintln(b, "  calls under way, which hold it until they return:")
		writeCalls(b, u.Calls)
	}
	for _, k := range u.Kernel {
		usedBy := map[bool]string{true: "(itself used by " + cellText(strings.Join(k.UsedBy, ", ")) + ")"}[len(k.UsedBy) > 0]
		words := []string{"  kernel:", string(k.Use), cellText(k.What), cellText(k.Detail), usedBy, map[bool]string{true: "(busy)"}[k.Blocks]}
		fmt.Fprintln(b, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	if len(u.Elsewhere)+len(u.CallsElsewhere) > 0 {
		fmt.Fprintln(b, "  the same file system is held through other mounts; they do not keep this one busy:")
		writeProcesses(b, model, u.Elsewhere)
		writeCalls(b, u.CallsElsewhere)
	}
	for _, n := range u.Namespace {
		fmt.Fprintf(b, "  also in mount namespace %d%s: %s\n", n.Namespace, unreachedText(n.Private), namespaceText(n))
	}
}

// serverText says who serves a FUSE mount, how that process is, and how many callers wait for it.
func serverText(model *forensics.Model, s forensics.FUSEServer) string {
	words := "served by nobody: " + s.Why
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
		words += fmt.Sprintf("; %s not answered", text.Plural(*s.Waiting, "request"))
	}
	return words
}

// unreachedText says what an unmount here leaves in another namespace.
func unreachedText(points []string) string {
	if len(points) == 0 {
		return ""
	}
	return ", which has a copy at " + cellText(strings.Join(points, ", ")) + " that an unmount here does not reach"
}

func namespaceText(n forensics.NamespaceProcesses) string {
	text := fmt.Sprintf("%s (%s)", text.Plural(n.Processes, "process"), cellText(strings.Join(n.Commands, ", ")))
	if n.Processes == 0 {
		text = "no process is in it"
	} else {
		text += ", pid " + strings.Trim(fmt.Sprint(n.PIDs), "[]")
	}
	if len(n.Pods) > 0 {
		text += ", pod " + strings.Join(n.Pods, ", ")
	}
	if len(n.OpenedBy) > 0 {
		text += ", held open by pid " + strings.Trim(fmt.Sprint(n.OpenedBy), "[]")
	}
	if len(n.MountedAt) > 0 {
		text += ", mounted at " + cellText(strings.Join(n.MountedAt, ", "))
	}
	switch {
	case n.Unread:
		text += ", its mounts could not be read"
	case n.Processes+len(n.OpenedBy)+len(n.MountedAt) == 0:
		text += ", and what keeps it is not visible (perhaps a descriptor in the queue of a socket)"
	}
	return text
}
