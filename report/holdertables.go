package report

import (
	"bytes"
	"cmp"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// writeCalls writes the table of system calls in flight.
func writeCalls(b *bytes.Buffer, model *forensics.Model, list []forensics.MountCall) {
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
			strconv.Itoa(c.PID), strconv.Itoa(c.TID), userText(c.User, c.UID), cellText(comm), shortID(c.ContainerID), podText(model, c.PodUID),
			cellText(c.State), call, cellText(cmp.Or(c.Wait.Function, c.WChan, "-")), since, cellText(cmp.Or(c.Path, "-")),
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

func userText(name string, uid int) string {
	switch {
	case name != "":
		return cellText(name)
	case uid < 0:
		return "?"
	}
	return strconv.Itoa(uid)
}

// podText is a pod as "namespace/name (UID)" where the name is known.
func podText(model *forensics.Model, uid string) string {
	if uid == "" {
		return "-"
	}
	return cellText(model.Pod(uid).String())
}

func shortID(id string) string {
	if len(id) == 64 {
		id = id[:12]
	}
	return cellText(cmp.Or(id, "-"))
}
