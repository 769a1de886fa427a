package kubectl

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

var (
	// certificateRow is one of "kubeadm certs check-expiration": CERTIFICATE EXPIRES RESIDUAL TIME [CERTIFICATE AUTHORITY] EXTERNALLY MANAGED.
	certificateRow = pattern.New(`^\s*([a-z][\w.-]*)\s+([A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d [A-Z]{3,4})\s+(<invalid>|\d+[a-z]\w*)\s`)
	// notAfter is the end of a certificate as openssl(1) prints it, nodeCertificate tells that it is one of a node or of its API server, and
	// certificateOf is its file or address; dateOf is what date(1) prints.
	notAfter        = pattern.New(`^\s*(?:notAfter=|Not After ?: )([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} GMT)\s*$`)
	nodeCertificate = pattern.New(`\bopenssl\b.*(?:/kubelet[\w.-]*/|/kubernetes/|/etcd/|/k3s/|/rke2/|/microk8s/|:(?:10250|6443|2379)\b|kubelet[\w.-]*\.(?:pem|crt))|[Ss]ubject.*CN ?= ?(?:system:node:|kube-|etcd)`)
	dateOf          = pattern.New(`^\s*(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: UTC| GMT| Z) \d{4})\s*$`)
	certificateOf   = pattern.New(`\s-(?:in|connect)[ =](\S+)`)
	dateCommand     = pattern.New(`(?:[#$>;&] ?|^)date(?: -u)?\s*$`)
	// lowOn is the message of the status of a pod that was evicted, in a description or in YAML.
	lowOn = pattern.New(`^\s*[Mm]essage:\s+['"]?(?:Pod )?(The node (?:was low on resource|had condition): [^'"]*)`)
	// evictedRow is a row of a table of pods that has the message, too.
	evictedRow = pattern.New(`^[^"]*\sEvicted(?:\s{2,}|\t)[^"]*?(The node (?:was low on resource|had condition): [^"]*)$`)
	// notAdmitted is the message of a pod that the kubelet has refused for an error of its own.
	notAdmitted = pattern.New(`^\s*[Mm]essage:\s+['"]?(?:Pod )?((?:Update plugin resources|Allocate) failed due to .*?),? which is unexpected`)
	// evicted is the reason beside lowOn.
	evicted = pattern.New(`^\s*[Rr]eason:\s+(?:Evicted|TerminationByKubelet)\s*$`)
	// noNodeFor is the message of the condition PodScheduled, in YAML or alone.
	noNodeFor = pattern.New(`^\s*(?:- )?(?:"?[a-z_]{3,12}"?:\s+)?['"]?(\d+/\d+ nodes are available: .*)$`)
	// withoutPressure is a condition of a node that is well.
	withoutPressure = pattern.New(`^\s*(Disk|Memory|PID)Pressure\s+False\s`)
)

// certificate takes a row of kubeadm's table of certificates: one that has expired is an event. A later row of the same certificate tells more.
func (p *page) certificate(i int) int {
	m := certificateRow.FindStringSubmatch(p.lines[i])
	if m == nil {
		return p.endOfCertificate(i)
	}
	p.events = sorting.Delete(p.events, func(f found) bool { return f.Reason == certificateExpired && f.Name == m[1] })
	if m[3] != "<invalid>" {
		return 0
	}
	e := Event{Type: "Warning", Reason: certificateExpired, Message: m[1] + " expired on " + m[2], Kind: "Certificate", Name: m[1], Component: "kubeadm", Count: 1}
	p.events = append(p.events, found{e, i, -1, ""})
	p.lines[i] = ""
	return 1
}

const certificateExpired = "CertificateExpired"

// nearCertificate is how many lines stand between the command that prints a certificate, or its subject, and its end.
const nearCertificate = 5

// endOfCertificate takes the end of a certificate of the node, if the text has a date and that is later. A later end of the same certificate tells
// more: it was renewed.
func (p *page) endOfCertificate(i int) int {
	m := notAfter.FindStringSubmatch(p.lines[i])
	if m == nil {
		return 0
	}
	near := p.lines[max(i-nearCertificate, 0):min(i+nearCertificate, len(p.lines))]
	end, err := time.Parse("Jan _2 15:04:05 2006 MST", m[1])
	now := p.today()
	if !slices.ContainsFunc(near, nodeCertificate.MatchString) || err != nil || now.IsZero() {
		return 0
	}
	name := ""
	for _, line := range p.lines[max(i-nearCertificate, 0):i] {
		if of := certificateOf.FindStringSubmatch(line); of != nil {
			name = of[1]
		}
	}
	p.events = sorting.Delete(p.events, func(f found) bool { return f.Component == "openssl" && f.Name == name })
	if !now.After(end) {
		return 0
	}
	e := Event{Type: "Warning", Reason: certificateExpired, Message: "the certificate expired on " + m[1], Kind: "Certificate", Name: name, Component: "openssl", Count: 1}
	p.events = append(p.events, found{e, i, -1, ""})
	p.lines[i] = ""
	return 1
}

// today is what date(1) printed, zero if nobody has asked it.
func (p *page) today() time.Time {
	if p.date != nil {
		return *p.date
	}
	p.date = new(time.Time)
	for i, line := range p.lines[:len(p.lines)-1] {
		if m := dateOf.FindStringSubmatch(p.lines[i+1]); m != nil && dateCommand.MatchString(line) {
			*p.date, _ = time.Parse("Jan _2 15:04:05 MST 2006", m[1])
			break
		}
	}
	return *p.date
}

// nearReason is how many lines stand between the message and the reason of a status, of which long ones are folded.
const nearReason = 4

// record takes the message of the status of a pod that was evicted since the node was low on a resource. It has no time: what says that the
// node is well takes it back.
func (p *page) record(i int) int {
	if m := withoutPressure.FindStringSubmatch(p.lines[i]); m != nil {
		p.well = append(p.well, m[1])
	}
	if n := max(p.unschedulable(i), p.waiting(i), p.startFailed(i)); n > 0 {
		return n
	}
	if len(p.lines[i]) > maxRow {
		return 0
	}
	if m := notAdmitted.FindStringSubmatch(p.lines[i]); m != nil {
		e := Event{Type: "Warning", Reason: "UnexpectedAdmissionError", Message: m[1], Kind: "Pod", Component: "kubelet", Count: 1}
		p.events = append(p.events, found{e, i, len(p.sections) - 1, ""})
		p.lines[i] = ""
		return 1
	}
	m := lowOn.FindStringSubmatch(p.lines[i])
	if m != nil && !slices.ContainsFunc(p.lines[max(i-nearReason, 0):min(i+nearReason+1, len(p.lines))], evicted.MatchString) {
		return 0
	}
	if m == nil && !strings.Contains(p.lines[i], "Warning") {
		m = evictedRow.FindStringSubmatch(p.lines[i])
	}
	if m == nil {
		return 0
	}
	e := Event{Type: "Warning", Reason: "Evicted", Message: strings.TrimSpace(m[1]), Component: "kubelet", Count: 1}
	p.events = append(p.events, found{e, i, len(p.sections) - 1, ""})
	p.lines[i] = ""
	return 1
}

// unschedulable takes why a pod fits on no node, without the pod.
func (p *page) unschedulable(i int) int {
	m := noNodeFor.FindStringSubmatch(p.lines[i])
	if m == nil || len(p.lines[i]) > maxRow {
		return 0
	}
	message, n := strings.TrimSpace(m[1]), 1
	for ; i+n < len(p.lines) && n < nearReason && strings.HasPrefix(p.lines[i+n], "  ") && !yamlKey.MatchString(strings.TrimSpace(p.lines[i+n])); n++ {
		message += " " + strings.TrimSpace(p.lines[i+n])
	}
	e := Event{Type: "Warning", Reason: "FailedScheduling", Message: strings.ReplaceAll(strings.TrimRight(message, `'"`), "''", "'"), Kind: "Pod", Component: "default-scheduler", Count: 1}
	if !inTroubledNode(e) {
		return 0
	}
	p.events = append(p.events, found{e, i, len(p.sections) - 1, ""})
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

var (
	// waits begins why a container waits, in the status of a pod; notCreated is the reason below.
	waits      = pattern.New(`^(\s+)message: ['"]?((?:failed to|failed|error while creating mount source path) .*)$`)
	notCreated = pattern.New(`^\s+reason: (?:CreateContainerError|RunContainerError|ContainerCannotRun|StartError)\s*$`)
	neverRan   = pattern.New(`^\s+exitCode: 128\s*$`)
)

// endedState is the reason of a state in a description of a pod; itsMessage follows it.
var (
	endedState = pattern.New(`^\s+Reason:\s+(?:ContainerCannotRun|StartError|CreateContainerError|RunContainerError)\s*$`)
	itsMessage = pattern.New(`^\s+Message:\s+((?:OCI runtime create failed|failed to|error while creating mount source path) ?.*)$`)
	itRuns     = pattern.New(`^\s+State:\s+Running\b`)
)

// startFailed takes why the container of a description of a pod was not started, unless it runs by now.
func (p *page) startFailed(i int) int {
	if i == 0 || !endedState.MatchString(p.lines[i-1]) {
		return 0
	}
	m := itsMessage.FindStringSubmatch(p.lines[i])
	if m == nil || slices.ContainsFunc(p.lines[max(i-2*nearReason, 0):i], itRuns.MatchString) {
		return 0
	}
	e := Event{Type: "Warning", Reason: "Failed", Message: "Error: " + strings.TrimSpace(m[1]), Kind: "Pod", Component: "kubelet", Count: 1}
	p.events = append(p.events, found{e, i, len(p.sections) - 1, ""})
	p.lines[i] = ""
	return 1
}

// waiting takes why a container of a pod cannot be created or started, which has no time.
func (p *page) waiting(i int) int {
	m := waits.FindStringSubmatch(p.lines[i])
	if m == nil {
		return 0
	}
	message, n := strings.TrimSpace(m[2]), 1
	for ; i+n < len(p.lines) && n < 2*nearReason && len(message) < maxRow && strings.HasPrefix(p.lines[i+n], m[1]+" "); n++ {
		message += " " + strings.TrimSpace(p.lines[i+n])
	}
	cut := (i+n >= len(p.lines) || i+n == len(p.lines)-1 && p.lines[i+n] == "") && slices.ContainsFunc(p.lines[max(i-3, 0):i], neverRan.MatchString) // the reason comes below
	if !cut && (i+n >= len(p.lines) || !notCreated.MatchString(p.lines[i+n])) {
		return 0
	}
	e := Event{Type: "Warning", Reason: "Failed", Message: "Error: " + strings.ReplaceAll(strings.TrimRight(message, `'"`), "''", "'"), Kind: "Pod", Component: "kubelet", Count: 1}
	p.events = append(p.events, found{e, i, len(p.sections) - 1, ""})
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

// overRecords takes back records of evictions for a resource that the node is no longer short of.
func (p *page) overRecords() {
	p.events = sorting.Delete(p.events, func(f found) bool {
		if f.Reason != "Evicted" || !f.First.IsZero() {
			return false
		}
		kind := "Disk"
		switch {
		case strings.Contains(f.Message, "resource: memory"), strings.Contains(f.Message, ": [Memory"):
			kind = "Memory"
		case strings.Contains(f.Message, "resource: pids"), strings.Contains(f.Message, ": [PID"):
			kind = "PID"
		}
		return slices.Contains(p.well, kind)
	})
}
