// Package nodename tells whether two names mean the same node: lines, files and objects of the API name a node in different ways.
package nodename

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// Same says whether two names mean one node: one of them may lack the domain.
func Same(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b {
		return true
	}
	shortA, domainA, _ := strings.Cut(a, ".")
	shortB, domainB, _ := strings.Cut(b, ".")
	return shortA == shortB && (domainA == "" || domainB == "") && strings.Trim(shortA, "0123456789") != ""
}

// placeholders stand where nobody has set a name, or where somebody has taken it out.
var placeholders = []string{
	"localhost", "localhost.localdomain", "localhost6", "hostname", "host", "node", "nodename", "redacted", "masked", "kernel", "unknown", "none", "null",
	"trace", "debug", "info", "notice", "warn", "warning", "error", "err", "fatal", // of a log that has no host there
}

var shape = pattern.New(`^[a-z0-9][a-z0-9_.:-]*$`)

// Is says whether a name can be that of a node.
func Is(name string) bool {
	name = strings.ToLower(name)
	return len(name) <= 253 && strings.Trim(name, "x-_.") != "" && shape.MatchString(name) && !slices.Contains(placeholders, name)
}

// InFile says whether a file or directory bears the name of a node: it is the name, or begins with it ("node-1.log",
// "node-1_logs_kubelet").
func InFile(file, name string) bool {
	if Same(file, name) {
		return true
	}
	short, _, _ := strings.Cut(name, ".")
	for _, n := range []string{name, short} {
		if rest, ok := strings.CutPrefix(strings.ToLower(file), strings.ToLower(n)); ok && len(n) > 3 && rest != "" && strings.ContainsAny(rest[:1], "._") {
			return true
		}
	}
	return false
}
