package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report"
)

// holdersText writes the answers for a terminal.
func holdersText(e *forensics.Evidence, answers []heldMounts) string {
	var b bytes.Buffer
	model := forensics.NewModel(e)
	for _, answer := range answers {
		if len(answer.Mounts)+len(answer.Leaked) > 0 {
			writeAnswer(&b, model, answer, len(unseen(e)) == 0)
			fmt.Fprintln(&b)
		}
	}
	writeDetached(&b, model, e.MountUse)
	if b.Len() == 0 {
		return ""
	}
	fmt.Fprintf(&b, "%s.\n", strings.ToUpper(holders.KernelBlind[:1])+holders.KernelBlind[1:])
	if list := unseen(e); len(list) > 0 {
		fmt.Fprintf(&b, "Of some processes it is not known what they hold: %s.\n", cell(strings.Join(list, "; ")))
	}
	if e.MountUse != nil && e.MountUse.LeftOut > 0 {
		fmt.Fprintf(&b, "%d further holders are left out.\n", e.MountUse.LeftOut)
	}
	return b.String()
}

// writeDetached writes who holds mounts that are in no table any more: none can be found by its path, and whoever asks for a
// mount that was unmounted lazily may look for them. A descriptor of the root alone is how runtimes prepare mounts.
func writeDetached(b *bytes.Buffer, model *forensics.Model, held *forensics.MountUse) {
	if held == nil {
		return
	}
	const most = 16
	var list []forensics.HolderProcess
	for _, h := range held.Holders {
		if h.Detached && h.Path != "/" && len(list) < most {
			list = append(list, model.Uses().Process(h))
		}
	}
	if len(list) > 0 {
		fmt.Fprintln(b, "Mounts that are in no table any more, most likely unmounted lazily, are still held; paths begin at their root:")
		writeProcesses(b, list)
		fmt.Fprintln(b)
	}
}

func writeAnswer(b *bytes.Buffer, model *forensics.Model, answer heldMounts, all bool) {
	name := cmp.Or(answer.Path, answer.Query)
	if answer.Path != "" {
		fmt.Fprintf(b, "%s leads to %s\n", cell(answer.Query), cell(answer.Path))
	}
	for _, l := range answer.Leaked {
		fmt.Fprintf(b, "%s: only in mount namespace %d: %s\n", printable(l.Mount.MountPoint), l.Namespace, namespaceText(l.KeptBy))
		writeProcesses(b, l.Holders)
	}
	for _, u := range answer.Mounts {
		if on := u.Mount.MountPoint; strings.HasPrefix(name, "/") && on != name && !strings.HasPrefix(on, strings.TrimSuffix(name, "/")+"/") {
			fmt.Fprintf(b, "%s is no mount point; it lies on the mount at %s\n", cell(name), cell(on))
			if on == "/" { // hundreds of processes, which have nothing to do with it
				fmt.Fprintln(b, "  nodeforensics holders / shows who holds that")
				continue
			}
		}
		writeUsers(b, model, u, all)
	}
}

// writeUsers writes who uses a mount. all says that every process could be looked at.
func writeUsers(b *bytes.Buffer, model *forensics.Model, u forensics.MountUsers, all bool) {
	m := u.Mount
	fmt.Fprintf(b, "%s: %s from %s, mount %d, superblock %s\n", printable(m.MountPoint), cell(m.FSType), cell(m.Source), m.ID, m.Device)
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
	writeProcesses(b, u.Holders)
	for _, c := range u.Copies {
		fmt.Fprintf(b, "  %s keeps it busy as well: propagation ties it to this mount\n", cell(model.Uses().DescribeCopy(c)))
	}
	if stack := len(model.Host().At(m.MountPoint)); stack > 1 && slices.ContainsFunc(u.Holders, func(h forensics.HolderProcess) bool { return h.ByPath }) {
		fmt.Fprintf(b, "  of working and root directories only the path is known: each is on one of the %d mounts stacked here\n", stack)
	}
	if len(u.Calls) > 0 {
		fmt.Fprintln(b, "  calls under way, which hold it until they return:")
		writeCalls(b, u.Calls)
	}
	for _, k := range u.Kernel {
		usedBy := map[bool]string{true: "(itself used by " + cell(strings.Join(k.UsedBy, ", ")) + ")"}[len(k.UsedBy) > 0]
		words := []string{"  kernel:", string(k.Use), cell(k.What), cell(k.Detail), usedBy, map[bool]string{true: "(busy)"}[k.Blocks]}
		fmt.Fprintln(b, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	}
	if len(u.Elsewhere)+len(u.CallsElsewhere) > 0 {
		fmt.Fprintln(b, "  the same file system is held through other mounts; they do not keep this one busy:")
		writeProcesses(b, u.Elsewhere)
		writeCalls(b, u.CallsElsewhere)
	}
	for _, n := range u.Namespace {
		fmt.Fprintf(b, "  also in mount namespace %d%s: %s\n", n.Namespace, apartText(n.Private), namespaceText(n))
	}
}

// serverText says who serves a FUSE mount, how that process is, and how many callers wait for it.
func serverText(model *forensics.Model, s forensics.FUSEServer) string {
	words := "served by nobody: " + s.Why
	if p, ok := model.Process(s.PID); s.PID != 0 {
		words = fmt.Sprintf("served by process %d", s.PID)
		if ok {
			words += " (" + cell(p.Comm) + ")"
		}
		if trouble, _ := model.Uses().ServerTrouble(s.PID); trouble != "" {
			words += ", which " + cell(trouble)
		}
		if s.Guess {
			words = "probably " + words + ": " + cell(s.Why)
		}
	}
	if s.Waiting != nil && *s.Waiting > 0 {
		words += fmt.Sprintf("; %s not answered", text.Plural(*s.Waiting, "request"))
	}
	return words
}

// apartText says what an unmount here leaves in another namespace.
func apartText(points []string) string {
	if len(points) == 0 {
		return ""
	}
	return ", which has a copy at " + cell(strings.Join(points, ", ")) + " that an unmount here does not reach"
}

func namespaceText(n forensics.NamespaceProcesses) string {
	text := fmt.Sprintf("%s (%s)", text.Plural(n.Processes, "process"), cell(strings.Join(n.Commands, ", ")))
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
		text += ", mounted at " + cell(strings.Join(n.MountedAt, ", "))
	}
	switch {
	case n.Unread:
		text += ", its mounts could not be read"
	case n.Processes+len(n.OpenedBy)+len(n.MountedAt) == 0:
		text += ", and what keeps it is not visible (perhaps a descriptor in the queue of a socket)"
	}
	return text
}

// writeProcesses writes the table of holders. What a process holds several times by one kind is one line.
func writeProcesses(b *bytes.Buffer, list []forensics.HolderProcess) {
	rows := [][]string{{"PID", "KIND", "USER", "COMMAND", "CONTAINER", "POD", "PATH"}}
	for i, h := range list {
		same := func(o forensics.HolderProcess) bool { return o.PID == h.PID && o.TID == h.TID && o.Kind == h.Kind }
		if slices.ContainsFunc(list[:i], same) {
			continue
		}
		count, name := 0, cell(h.Path)
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
			kind += " (+" + strconv.Itoa(count-1) + ")"
		}
		if h.TID != 0 {
			kind += " thread " + strconv.Itoa(h.TID)
		}
		if h.Deleted {
			name += " (deleted)"
		}
		rows = append(rows, []string{strconv.Itoa(h.PID), kind, user(h.User, h.UID), cell(h.Comm), short(h.ContainerID), short(h.PodUID), name})
	}
	writeTable(b, rows)
}

// writeCalls writes the table of threads that are in a system call.
func writeCalls(b *bytes.Buffer, list []forensics.MountCall) {
	rows := [][]string{{"PID", "THREAD", "USER", "COMMAND", "CONTAINER", "POD", "STATE", "CALL", "WAITS IN", "AT LEAST", "PATH"}}
	for i := range list {
		c := &list[i]
		call, since, comm := "-", "-", c.Comm
		if c.Syscall != nil {
			call = cmp.Or(c.Syscall.Name, strconv.Itoa(c.Syscall.Number))
		}
		if c.WaitSeconds != nil {
			since = text.Duration(*c.WaitSeconds)
		}
		if c.Command != comm && c.Command != "" {
			comm = c.Command + "/" + comm
		}
		rows = append(rows, []string{
			strconv.Itoa(c.PID), strconv.Itoa(c.TID), user(c.User, c.UID), cell(comm), short(c.ContainerID), short(c.PodUID),
			cell(c.State), call, cell(cmp.Or(c.Wait.Function, c.WChan, "-")), since, cell(cmp.Or(c.Path, "-")),
		})
	}
	writeTable(b, rows)
}

// writeTable writes rows below their heads, and nothing where there are no rows.
func writeTable(b *bytes.Buffer, rows [][]string) {
	if len(rows) == 1 {
		return
	}
	w := tabwriter.NewWriter(b, 2, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(w, "  "+strings.Join(row, "\t")+"\n")
	}
	_ = w.Flush()
}

func user(name string, uid int) string {
	switch {
	case name != "":
		return cell(name)
	case uid < 0:
		return "?"
	}
	return strconv.Itoa(uid)
}

func short(id string) string {
	if len(id) == 64 {
		id = id[:12]
	}
	return cell(cmp.Or(id, "-"))
}

// Limits of names on the terminal, in bytes: of a cell, so that the longest path the kernel allows does not hide the table
// (head and tail stay; --json has it all), and of what has a line for itself and is there to be copied.
const (
	maxCell = 240
	maxName = 8 << 10
)

// cell is text of the node for a table.
func cell(s string) string { return report.Visible(s, maxCell) }

// printable is text of the node for a line.
func printable(s string) string { return report.Visible(s, maxName) }
