package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// holdersSchema names the layout of what [WriteHoldersJSON] writes.
const holdersSchema = "nodeforensics.holders/v1"

// MountHolders is which processes use the mounts of one query: a path, a pod or the name of a volume.
type MountHolders struct {
	Query string `json:"query"`
	// Path is the query with symbolic links resolved, if that is another path.
	Path   string                 `json:"path,omitempty"`
	Mounts []forensics.MountUsers `json:"mounts"`
	Leaked []LeakedHolders        `json:"leaked"`
}

// LeakedHolders are a mount that only another namespace has, the processes of that namespace, and those that use the mount there.
type LeakedHolders struct {
	forensics.ForeignMount
	KeptBy  forensics.NamespaceProcesses `json:"kept_by"`
	Holders []forensics.HolderProcess    `json:"holders"`
}

// WriteHoldersJSON writes the answers as JSON, of the schema "nodeforensics.holders/v1".
func WriteHoldersJSON(w io.Writer, e *forensics.Evidence, answers []MountHolders) error {
	return WriteJSON(w, struct {
		Schema   string             `json:"schema"`
		Answers  []MountHolders     `json:"answers"`
		Blind    string             `json:"not_visible"`
		Unseen   []string           `json:"unseen"`
		Coverage []forensics.Source `json:"coverage"`
	}{holdersSchema, answers, holders.KernelBlind, unseen(e), e.Coverage})
}

// WriteHolders writes the answers for a terminal; nothing where nothing was found.
func WriteHolders(w io.Writer, e *forensics.Evidence, answers []MountHolders) error {
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
		return nil
	}
	fmt.Fprintf(&b, "%s.\n", strings.ToUpper(holders.KernelBlind[:1])+holders.KernelBlind[1:])
	if list := unseen(e); len(list) > 0 {
		fmt.Fprintf(&b, "Not collected: the files of some processes: %s.\n", cellText(strings.Join(list, "; ")))
	}
	if e.MountUse != nil && e.MountUse.LeftOut > 0 {
		fmt.Fprintf(&b, "%d more uses are not listed.\n", e.MountUse.LeftOut)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// unseen says which processes could not be read.
func unseen(e *forensics.Evidence) []string {
	if e.MountUse == nil {
		return []string{"all processes: their open files could not be read"}
	}
	return e.MountUse.Unseen
}

// writeDetached writes the users of mounts that are in no mount table: no path leads to them, and a query for a lazily unmounted
// mount can mean them. Runtimes prepare mounts with a descriptor of the root alone, which is left out.
func writeDetached(b *bytes.Buffer, model *forensics.Model, use *forensics.MountUse) {
	if use == nil {
		return
	}
	const most = 16
	var list []forensics.HolderProcess
	for _, h := range use.Holders {
		if model.Uses().Detached(h) && h.Path != "/" && len(list) < most {
			list = append(list, model.Uses().Process(h))
		}
	}
	if len(list) > 0 {
		fmt.Fprintln(b, "Detached mounts are in use. They are in no mount table, most likely after a lazy unmount. Paths start at the root of the mount:")
		writeProcesses(b, model, list)
		fmt.Fprintln(b)
	}
}

func writeAnswer(b *bytes.Buffer, model *forensics.Model, answer MountHolders, all bool) {
	name := cmp.Or(answer.Path, answer.Query)
	if answer.Path != "" {
		fmt.Fprintf(b, "%s resolves to %s\n", cellText(answer.Query), cellText(answer.Path))
	}
	for _, l := range answer.Leaked {
		fmt.Fprintf(b, "%s: only in mount namespace %d: %s\n", lineText(l.Mount.MountPoint), l.Namespace, namespaceText(model, l.KeptBy))
		writeProcesses(b, model, l.Holders)
	}
	for _, u := range answer.Mounts {
		if on := u.Mount.MountPoint; strings.HasPrefix(name, "/") && on != name && !strings.HasPrefix(on, strings.TrimSuffix(name, "/")+"/") {
			fmt.Fprintf(b, "%s is not a mount point. It is on the mount at %s\n", cellText(name), cellText(on))
			if on == "/" { // hundreds of unrelated processes
				fmt.Fprintln(b, "  For the processes that use it: nodeforensics holders /")
				continue
			}
		}
		writeUsers(b, model, u, all)
	}
}
