package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

func holdWords(h forensics.HolderProcess) string {
	words := string(h.Kind)
	if h.FD >= 0 {
		words += " " + strconv.Itoa(h.FD)
	}
	if h.TID != 0 {
		words += " of thread " + strconv.Itoa(h.TID)
	}
	if h.Deleted {
		words += ", deleted"
	}
	if h.ByPath {
		words += ", mount known by path only"
	}
	return words
}

func userWords(h forensics.HolderProcess) string {
	switch {
	case h.User != "":
		return h.User
	case h.UID >= 0:
		return strconv.Itoa(h.UID)
	}
	return "unknown"
}

func namespaceWords(n forensics.NamespaceProcesses) string {
	words := []string{}
	if n.Processes == 0 {
		words = append(words, "no process")
	} else {
		words = append(words, fmt.Sprintf("%s (%s)", count(n.Processes, "process"), joinComma(n.Commands)))
	}
	if len(n.OpenedBy) > 0 {
		words = append(words, "open in process "+joinInts(n.OpenedBy, ", "))
	}
	if len(n.MountedAt) > 0 {
		words = append(words, "mounted at "+joinComma(n.MountedAt))
	}
	switch {
	case n.Unread:
		words = append(words, "its mounts could not be read")
	case n.Processes+len(n.OpenedBy)+len(n.MountedAt) == 0:
		words = append(words, "what keeps it is not visible")
	}
	return strings.Join(words, "; ")
}
