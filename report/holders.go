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

// MountHolders is who uses the mounts that somebody asked for by one path, pod UID or name of a volume.
type MountHolders struct {
	Query string `json:"query"`
	// Path is what the query leads to over symbolic links, if that is another path.
	Path   string                 `json:"path,omitempty"`
	Mounts []forensics.MountUsers `json:"mounts"`
	Leaked []LeakedHolders        `json:"leaked"`
}

// LeakedHolders are a mount that only another namespace has, what keeps that, and who holds the mount there.
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

// WriteHolders writes the answers for a terminal, and nothing where nothing was found.
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
		fmt.Fprintf(&b, "Of some processes it is not known what they hold: %s.\n", cellText(strings.Join(list, "; ")))
	}
	if e.MountUse != nil && e.MountUse.LeftOut > 0 {
		fmt.Fprintf(&b, "%d further holders are left out.\n", e.MountUse.LeftOut)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// unseen says which processes could not be looked at.
func unseen(e *forensics.Evidence) []string {
	if e.MountUse == nil {
		return []string{"all: their files could not be read"}
	}
	return e.MountUse.Unseen
}

// writeDetached writes who holds mounts that are in no table any more: none can be found by its path, and whoever asks for a
// mount that was unmounted lazily may look for them. A descriptor of the root alone is how runtimes prepare mounts.
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
		fmt.Fprintln(b, "Mounts that are in no table any more, most likely unmounted lazily, are still held; paths begin at their root:")
		writeProcesses(b, model, list)
		fmt.Fprintln(b)
	}
}

func writeAnswer(b *bytes.Buffer, model *forensics.Model, answer MountHolders, all bool) {
	name := cmp.Or(answer.Path, answer.Query)
	if answer.Path != "" {
		fmt.Fprintf(b, "%s leads to %s\n", cellText(answer.Query), cellText(answer.Path))
	}
	for _, l := range answer.Leaked {
		fmt.Fprintf(b, "%s: only in mount namespace %d: %s\n", lineText(l.Mount.MountPoint), l.Namespace, namespaceText(l.KeptBy))
		writeProcesses(b, model, l.Holders)
	}
	for _, u := range answer.Mounts {
		if on := u.Mount.MountPoint; strings.HasPrefix(name, "/") && on != name && !strings.HasPrefix(on, strings.TrimSuffix(name, "/")+"/") {
			fmt.Fprintf(b, "%s is no mount point; it lies on the mount at %s\n", cellText(name), cellText(on))
			if on == "/" { // hundreds of processes, which have nothing to do with it
				fmt.Fprintln(b, "  nodeforensics holders / shows who holds that")
				continue
			}
		}
		writeUsers(b, model, u, all)
	}
}
