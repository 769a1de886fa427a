package kubelet

import "strings"

// A health is what a health endpoint said.
type health struct {
	// OK says that the text is a health answer and no check failed.
	OK bool
	// Known says that the text is a health answer at all: an authorizer that cannot reach the API server also
	// answers 500, and that says nothing about the kubelet.
	Known bool
	// Failed are the names of the failed checks, in their order. It may be empty although the answer is a failure.
	Failed []string
	// Passed are the names of the checks that passed; none where the answer is a plain "ok".
	Passed []string
}

// ParseHealth understands the text of /healthz, with ?verbose or without (k8s.io/apiserver/pkg/server/healthz, unchanged
// from Kubernetes 1.10 to 1.36):
//
//	[+]ping ok
//	[-]syncloop failed: reason withheld
//	healthz check failed
//
// The word before "check" is the path that was asked. Single checks (/healthz/syncloop) say "internal server error:".
func ParseHealth(text string) health {
	var h health
	failed := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "ok", strings.HasSuffix(line, " check passed"):
			h.Known = true
		case strings.HasPrefix(line, "[+]"):
			h.Known = true
			name, _, _ := strings.Cut(line[len("[+]"):], " ")
			h.Passed = append(h.Passed, name)
		case strings.HasSuffix(line, " check failed"), strings.HasPrefix(line, "internal server error: "):
			h.Known, failed = true, true
		case strings.HasPrefix(line, "[-]"):
			h.Known, failed = true, true
			name, _, _ := strings.Cut(line[len("[-]"):], " ")
			h.Failed = append(h.Failed, name)
		}
	}
	h.OK = h.Known && !failed
	return h
}
