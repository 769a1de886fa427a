package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Severity says how bad a finding is.
type Severity string

// The severities. Critical is reserved for what stops the node or a pod and is proven; a guess is never critical.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Rank orders severities, critical highest; an unknown one is below info.
func (s Severity) Rank() int {
	return slices.Index([]Severity{Info, Warning, Critical}, s) + 1
}

// Kind is the kind of an [Entity].
type Kind string

// The kinds of entities and what their ids look like.
const (
	KindSuperblock Kind = "superblock" // "0:46"
	KindMount      Kind = "mount"      // "59"
	KindProcess    Kind = "process"    // "9825"
	KindThread     Kind = "thread"     // "9825/9839"
	KindGoroutine  Kind = "goroutine"  // "142"; of another program than the kubelet "812/142"
	KindSubsystem  Kind = "subsystem"  // "housekeeping", "syncloop", "pleg", ...
	KindKubelet    Kind = "kubelet"    // its pid, or "kubelet" where that is unknown
	KindRuntime    Kind = "runtime"    // "containerd"
	KindPod        Kind = "pod"        // the UID
	KindVolume     Kind = "volume"     // "<pod uid>/<plugin>/<name>"
	KindContainer  Kind = "container"  // the container's id
	KindPath       Kind = "path"       // "/var/lib/kubelet/pods"
	KindDisk       Kind = "disk"       // "259:1"
	KindCSIDriver  Kind = "csi-driver" // "nfs.csi.k8s.io"
	KindClaim      Kind = "claim"      // "namespace/name" of a PersistentVolumeClaim, or a PersistentVolume's name
	KindController Kind = "controller" // of the control plane: "pod-garbage-collector"

	// Of things that only a log names.
	kindServer      Kind = "server"         // "10.0.0.5", "osd3", "kube-apiserver"
	kindLimit       Kind = "limit"          // "inotify", "cgroups", "conntrack", "addresses"
	kindKernel      Kind = "kernel"         // a part of it: "cpu", "memory"
	kindNode        Kind = "node"           // a condition of it: "Ready"
	kindCertificate Kind = "certificate"    // its file, or "certificate"
	kindNetDevice   Kind = "network-device" // "eth0"
)

// Entity names one thing on the node.
type Entity struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

func (e Entity) String() string { return string(e.Kind) + " " + e.ID }

func compareEntities(a, b Entity) int {
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.ID, b.ID))
}

// Ref is a piece of evidence that a finding rests on.
type Ref struct {
	// Source says where it is: a coverage source, with a colon and the place in it ("goroutines:goroutine 142").
	Source  string `json:"source"`
	Excerpt string `json:"excerpt"`
}

// A Finding says that Subject is bad because of other entities.
type Finding struct {
	// ID is the id of the check that found it.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Title is the headline: what is broken and by which cause, in at most 120 characters. Longer names are cut in the middle; Detail has
	// them in full.
	Title   string `json:"title"`
	Subject Entity `json:"subject"`
	// Subjects are all things for which the same was found, Subject first; absent where that is the only one.
	Subjects []Entity `json:"subjects,omitempty"`
	// Because are the entities whose trouble explains this one; empty when nothing that was seen explains it.
	Because []Entity `json:"because"`
	Detail  string   `json:"detail"`
	// Effect is what the trouble of Subject means, for the headline of a diagnosis whose cause is something else: "kubelet is hung
	// (housekeeping blocked)". Absent where the title of the cause says enough.
	Effect string `json:"effect,omitempty"`
	// Since is the latest moment at which the trouble can have begun; absent when unknown.
	Since *time.Time `json:"since,omitempty"`
	// Confidence is Possible where a check does not set it; ConfidenceWhy is the evidence for it.
	Confidence    Confidence `json:"confidence"`
	ConfidenceWhy string     `json:"confidence_why,omitempty"`
	Refs          []Ref      `json:"refs"`
	Remedies      []Remedy   `json:"remedies"`
	// Pods are the UIDs of affected pods.
	Pods []string `json:"pods"`
	// Lone says that it would be a warning if it were told more often, and that the only evidence is a text that somebody has pasted. If nothing
	// worse is found in that, it is what they show, and becomes a possible warning. It is not stored.
	Lone bool `json:"-"`
}

// About lists all things that a finding is about, Subject first.
func (f Finding) About() []Entity {
	if len(f.Subjects) > 0 {
		return f.Subjects
	}
	return []Entity{f.Subject}
}

// Confidence is the confidence in a finding.
type Confidence string

// The degrees of confidence.
const (
	// Certain: measured or read from the kernel; nothing is inferred.
	Certain Confidence = "certain"
	// Likely: the evidence fits no other known cause, but one link is inferred.
	Likely Confidence = "likely"
	// Possible: worth a look.
	Possible Confidence = "possible"
)

// rank orders degrees; none, or one that is not known, is below all.
func (c Confidence) rank() int { return slices.Index([]Confidence{Possible, Likely, Certain}, c) + 1 }

// OutcomeStatus is the result of a check.
type OutcomeStatus string

// The outcomes. NotChecked is never "clean": a source that the check needs was missing.
const (
	OutcomeFound      OutcomeStatus = "found"
	OutcomeClean      OutcomeStatus = "clean"
	OutcomeNotChecked OutcomeStatus = "not-checked"
	OutcomeFailed     OutcomeStatus = "failed"
)

// Outcome is the result of one check.
type Outcome struct {
	Check  string        `json:"check"`
	Status OutcomeStatus `json:"status"`
	// Reason says what was missing, what went wrong, or which part could not be judged.
	Reason string `json:"reason,omitempty"`
}

// Link is one step of a chain of causes.
type Link struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Text describes the entity and what is wrong with it.
	Text string `json:"text"`
	// Confidence is that of what was found about the entity; absent where nothing was.
	Confidence Confidence `json:"confidence,omitempty"`
}

// AffectedPod is an affected pod.
type AffectedPod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// State is "live", "terminating", "orphaned", "likely-orphaned", "possibly-orphaned" or "unknown".
	State PodState `json:"state"`
}

// String is "namespace/name (UID)", or the UID alone where no name is known.
func (p AffectedPod) String() string {
	switch {
	case p.UID == p.Namespace+"/"+p.Name: // of which no UID is known
		return p.UID
	case p.Namespace != "" && p.Name != "":
		return fmt.Sprintf("%s/%s (%s)", p.Namespace, p.Name, p.UID)
	case p.Name != "":
		return fmt.Sprintf("%s (%s)", p.Name, p.UID)
	}
	return p.UID
}

// label is "namespace/name" of a pod, or its UID where that is not known.
func (p AffectedPod) label() string {
	if p.Namespace == "" || p.Name == "" {
		return p.UID
	}
	return p.Namespace + "/" + p.Name
}

// A Diagnosis is one root cause with its consequences.
type Diagnosis struct {
	Severity      Severity   `json:"severity"`
	Confidence    Confidence `json:"confidence"`
	ConfidenceWhy string     `json:"confidence_why,omitempty"`
	// Title is the headline: the cause and its effect on the node, in at most 120 characters.
	Title string     `json:"title"`
	Since *time.Time `json:"since,omitempty"`
	Root  Entity     `json:"root"`
	// Identity is what Root is called on other nodes, too; absent in reports of versions before 0.3.
	Identity *Identity `json:"identity,omitempty"`
	// Chain leads from the root to the farthest symptom.
	Chain []Link        `json:"chain"`
	Pods  []AffectedPod `json:"pods"`
	// Paragraph is the whole diagnosis as plain text: headline, affected pods, first step, chain, confidence, details.
	Paragraph string `json:"paragraph"`
	// Findings are the indexes in Analysis.Findings of the findings that belong to it, the root's own first.
	Findings []int `json:"findings"`
	// Remedies are the steps to take, in order.
	Remedies []Remedy `json:"remedies"`
}

// Analysis is the judgement of [Analyze].
type Analysis struct {
	// Diagnoses are the root causes, worst first.
	Diagnoses []Diagnosis `json:"diagnoses"`
	// Findings are ordered by severity, id and subject.
	Findings []Finding `json:"findings"`
	// Outcomes has one entry for each check, in the order of the checks.
	Outcomes []Outcome `json:"outcomes"`
	// MountHealth is how each probed mount responds: see [Model.MountHealth].
	MountHealth []mounts.Health `json:"mount_health"`
	// Model is the joined evidence, for rendering; nil where there was no time to join it.
	Model *Model `json:"-"`
}

// LogPlace is the place of a line, as findings refer to it: "logs:FILE:LINE", without the line where lines are not counted.
func LogPlace(q logs.Quote) string {
	if q.Line == 0 {
		return SourceLogs + ":" + q.File
	}
	return fmt.Sprintf("%s:%s:%d", SourceLogs, q.File, q.Line)
}

// LogRef quotes a line.
func LogRef(q logs.Quote) Ref { return Ref{Source: LogPlace(q), Excerpt: q.Text} }

// ThreadEntity is a thread as an entity.
func ThreadEntity(t procs.Thread) Entity {
	return Entity{KindThread, fmt.Sprintf("%d/%d", t.PID, t.TID)}
}

// MountEntity is a mount as an entity.
func MountEntity(id int) Entity { return Entity{KindMount, strconv.Itoa(id)} }
