package logs

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// trouble takes the message as the cause, with the path in it. Information and echoes as events are no trouble.
func trouble(e *entry, o *occurrence) bool {
	if e.Severity == 'I' && !strings.Contains(e.Message, "server is not ready: ") || strings.HasPrefix(e.Message, "Event") { // so says an agent of k3s of what stops it
		return false
	}
	text := errorOf(e)
	if field := fieldOfJSON.FindString(text); e.Bare && field != "" {
		text = text[len(field):]
	}
	o.Reason, o.Code = cut(text, maxReason), osCode(text)
	if o.Path == "" {
		o.Path = pathIn(text)
	}
	return true
}

// noSpace is the same of a full disk. A line that begins with it is the end of one that was wrapped, and what is full stands above.
func noSpace(e *entry, o *occurrence) bool {
	return (!e.Bare || !strings.HasPrefix(e.Message, "no space left on device")) && trouble(e, o)
}

// fieldOfJSON is what stands before an error that somebody has cut out of a record.
var fieldOfJSON = pattern.New(`^"?\w+": ?"`)

// statsWords are what /stats/summary of the kubelet cannot get (pkg/kubelet/server/stats/summary.go, 1.9 to 1.36).
var statsWords = []string{"failed to get root cgroup stats", "failed to get rootFs stats", "failed to get rootFs info", "failed to get imageFs stats", "failed to list pod stats", "failed to get node info", "failed to get summary stats", "unable to find data for container /"}

// statsRefused reads an answer of the kubelet that has no statistics.
func statsRefused(e *entry, o *occurrence) bool {
	if !slices.ContainsFunc(statsWords, func(words string) bool { return strings.Contains(e.Message, words) }) {
		return false
	}
	_, text, _ := strings.Cut(e.Message, "Internal Error: ")
	text, _, _ = strings.Cut(text, `") has prevented`)
	o.Reason, o.Code = cut(text, maxReason), "InternalError"
	return true
}

// apiTrouble says whether the API server cannot be reached, refuses, or has a certificate that is no longer valid.
func apiTrouble(e *entry, o *occurrence) bool {
	if !trouble(e, o) {
		return false
	}
	o.Path = ""
	switch text := errorOf(e); {
	case strings.Contains(text, "nauthorized"), strings.Contains(text, "is forbidden"):
		o.Kind = KindAPIUnauthorized
	case strings.Contains(text, "certificate has expired or is not yet valid"):
		o.Kind = KindCertExpired
	case strings.Contains(text, "the object has been modified"):
		return false
	case strings.Contains(text, "certificate has expired or is not yet valid") && certTrouble(e, o): // it is reached
		o.Kind, o.Path = KindCertExpired, ""
	}
	return true
}

// apiInfo is apiTrouble of a line that the kubelet writes as information.
func apiInfo(e *entry, o *occurrence) bool {
	e.Severity = 'W'
	return apiTrouble(e, o)
}

func subPath(e *entry, o *occurrence) bool {
	o.Container = cut(strings.Trim(word(errorOf(e), "of container ", ",: "), `"\`), maxName)
	return trouble(e, o)
}

// pathOfPython reads `OSError: [Errno 107] Transport endpoint is not connected: '/data/x'`: the path is one in a container.
func pathOfPython(e *entry, o *occurrence) bool {
	o.Path = cut(between(e.Message, "'", "'"), maxName)
	return trouble(e, o)
}

// pathOfGo wants the path of a call that failed, as programs in Go print it: "open /data/x: stale NFS file handle". It is one in a container.
func pathOfGo(e *entry, o *occurrence) bool {
	text := errorOf(e)
	before := text[:max(strings.LastIndex(text, ": "), 0)]
	at := strings.LastIndex(before, " /")
	return at > 0 && !strings.Contains(before[at:], ":") && trouble(e, o)
}

// failedPath is the same of EIO, with which a kubelet may end.
func failedPath(e *entry, o *occurrence) bool {
	if e.Severity == 'F' && kubeletOrigin(e.Origin) {
		o.Kind = kindKubeletFatal
		return trouble(e, o)
	}
	return pathOfGo(e, o)
}

// ofNanny takes what the program around dnsmasq repeats of it: in a kubelet's log, a probe can print the same words.
func ofNanny(e *entry, o *occurrence) bool { return e.Source == "nanny.go" && wholeMessage(e, o) }

// openFiles passes over what applications print, which have limits of their own.
func openFiles(e *entry, o *occurrence) bool {
	return (e.Origin != "" || e.Source == "kubelet.go") && trouble(e, o)
}

// certTrouble leaves out what is no certificate of the cluster: of a registry, of a webhook, of a service that an application calls. Who
// prints no name prints the address of what refused.
func certTrouble(e *entry, o *occurrence) bool {
	holds := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.Message, w) || strings.Contains(errorOf(e), w) })
	}
	switch {
	case holds("failed calling webhook", "ull image", "PullImage", "/manifests/", "Scrape failed", "egistry"), holds("/v2/") && !strings.HasPrefix(e.Source, "openstack"):
		return false
	case !kubeletOrigin(e.Origin) && !holds(":6443", ":443/api", ":10250", ":2379", "/api/v1", "/apis/", "/healthz", "/cacerts", "connect to the server", "/etc/kubernetes", "/var/lib/kubelet", "etcd", "kube", "Kubernetes cluster"):
		return false
	}
	return trouble(e, o)
}
