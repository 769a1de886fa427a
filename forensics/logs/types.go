// Package logs reads the logs of a node and extracts what happened: when the kubelet's sync loop stalled, at which stage the deletion of
// a pod is stuck, why images were removed, what the kernel reported about disks and servers.
//
// A log of gigabytes becomes a [Story] of bounded size. Lines without a literal of a known message are rejected before anything is
// parsed. The other lines are parsed, and a known message is counted in an [Event] together with others of its kind about the same
// subject.
//
// The formats are those of klog, text and JSON (k8s.io/klog/v2, k8s.io/component-base/logs), of syslog (RFC 3164, RFC 5424), the
// journal (systemd.journal-fields(7), journalctl(1)), the kernel's ring (Documentation/ABI/testing/dev-kmsg, dmesg(1)), the
// container runtime interface and Docker's json-file, and logfmt as containerd writes it. The messages are those of the
// kubelet, the controller manager, container runtimes and the kernel, as several releases word them; the files kinds_*.go
// have a row for each.
//
// Nothing is masked here: quotes are the original lines, made valid UTF-8 and cut. No file is opened here: package live finds the logs of
// a node.
package logs

import (
	"time"

	"github.com/nodeforensics/nodeforensics/internal/kubectl"
)

// A Story is what was extracted from logs. Its size is bounded; what exceeds the bounds is counted in Dropped.
type Story struct {
	// Node is the node that wrote it, as far as that was told; see [Reader].
	Node string `json:"node,omitempty"`
	// Names are all names that were seen of it; they are not stored.
	Names []string `json:"-"`
	// Files are what was read, oldest first for each log.
	Files []File `json:"files"`
	// First and Last are the times of the first and last line that was read of any file; absent where no line had one.
	First *time.Time `json:"first,omitempty"`
	Last  *time.Time `json:"last,omitempty"`
	// Lives are the runs of the kubelet that the log shows, oldest first.
	Lives []Life `json:"lives"`
	// Loop is what is known of the sync loop; absent where no kubelet log was read.
	Loop *Loop `json:"sync_loop,omitempty"`
	// Deletions are the pods whose deletion the log shows, those that did not end first.
	Deletions []Deletion `json:"deletions"`
	// Operations are volume operations that were started and have not ended, or that failed last, one for each volume
	// and pod.
	Operations []Operation `json:"operations"`
	// Events are counted occurrences, in the order of their first one.
	Events []Event `json:"events"`
	// Orphans is the sum of the messages about orphaned pods; absent where there is none.
	Orphans *Orphans `json:"orphans,omitempty"`
	// UnrecognizedErrors are the errors of the kubelet and the container runtime of which nothing is known but that they were logged, the most
	// frequent first, at most 16.
	UnrecognizedErrors []UnrecognizedError `json:"unrecognized_errors,omitempty"`
	// Dropped counts the occurrences that exceed the bounds, by kind; "pod-teardown" also counts whole deletions, "kubelet-version" whole
	// runs.
	Dropped map[Kind]int64 `json:"dropped,omitempty"`
}

// A File is one log, or one file of a rotated log.
type File struct {
	// Path is the file, "journal" with a colon and the unit, "/dev/kmsg", or "-" for standard input.
	Path string `json:"path"`
	// Origin is who wrote it: "kubelet", "kernel", "kube-controller-manager", "mixed" (syslog), "unknown",
	// "container", or another program's name ("containerd").
	Origin string `json:"origin"`
	// AnyWriter says that every local process can write to it under any name, as with syslog.
	AnyWriter bool `json:"any_writer,omitempty"`
	// Format is how its lines look, from the outside in, joined by "+": "journal+klog", "cri+klog-json", "syslog+klog",
	// "kmsg", "zstd+klog".
	Format string `json:"format,omitempty"`
	// Status is "read", "absent", "denied", "timeout", "truncated" or "malformed", as for any source.
	Status string `json:"status"`
	// Detail says what was wrong, cut or inferred ("the year is inferred from the file's time").
	Detail string `json:"detail,omitempty"`
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	// Prose is how many of them do not begin as programs begin a line: words, tables, what commands print. It is counted in texts of at most
	// 256 KiB, and 0 in others.
	Prose int64 `json:"prose,omitempty"`
	// Shown is how many of them a text shows between fences, where those are all that it shows, three at most.
	Shown int64 `json:"shown,omitempty"`
	// Selected are the lines that held a literal of a known message.
	Selected int64      `json:"selected"`
	First    *time.Time `json:"first,omitempty"`
	Last     *time.Time `json:"last,omitempty"`
	// Uptime is the time of the last line by the kernel's own clock, where nothing says when that began to run.
	Uptime float64 `json:"uptime_seconds,omitempty"`
}

// A Quote is one line of a log.
type Quote struct {
	File string `json:"file"`
	// Line counts from 1 in its file; 0 where lines cannot be counted (the journal).
	Line int64      `json:"line,omitempty"`
	Time *time.Time `json:"time,omitempty"`
	// Uptime is the time by the kernel's own clock, where nothing says when that began to run.
	Uptime float64 `json:"uptime_seconds,omitempty"`
	Text   string  `json:"text"`
}

// An entry is one parsed line. The strings share memory with the line: what is kept must be cloned.
type entry struct {
	Time time.Time // zero when unknown
	// Uptime is by the kernel's own clock, where Time does not follow from that.
	Uptime time.Duration
	// Origin is "kubelet", "kernel", "kube-controller-manager", another program's name, or "".
	Origin   string
	Severity byte // 'I', 'W', 'E', 'F'; 0 when unknown
	PID      int  // of the writer; 0 when unknown
	// Host is the name of the machine in a prefix (syslog, journal); "" where no prefix has one.
	Host string
	// HostSure says that the prefix is of syslog or the journal beyond doubt: it has the process, too.
	HostSure bool
	// Source and SourceLine are klog's "kubelet_volumes.go" and 263.
	Source     string
	SourceLine int
	// Message is the text without prefixes; of structured klog the message alone, unquoted.
	Message string
	// Fields are the keys and values of structured klog or of JSON, values unquoted, multi-line values whole.
	Fields []field
	// Line is the number of the line in its file.
	Line int64
	// Raw is the whole line with its prefixes, cut to a bound that is far beyond any message.
	Raw string
	// Bare says that there was no prefix: the line may be anything.
	Bare bool
	// Brief says that little else was in the text, so that a message may begin with anything.
	Brief bool
	// Lenient says that nothing is known in the text, so that a message may stand in a sentence.
	Lenient bool
	// API is the event of the API that the line is; nil for lines of logs.
	API *kubectl.Event
}

// A field is one key and value of a structured message.
type field struct{ Key, Value string }

// Get returns the value of a key, "" if there is none.
func (e *entry) Get(key string) string {
	for _, f := range e.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// An occurrence is one message that is known.
type occurrence struct {
	Kind Kind
	Time time.Time
	Subject
	// Number is what the message counts or measures, in the unit that its kind says (errors, seconds, bytes); 0 if none.
	Number float64
	// Entry is the line.
	Entry *entry
	// level is the -v that the line proves; 0 for lines that are always written.
	level int
}

// A Subject is what a message is about, as far as the line tells. All are cloned from the line.
type Subject struct {
	PodUID string `json:"pod_uid,omitempty"`
	// PodName is "namespace/name".
	PodName   string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Node is the node that the message names; "" where it is the one whose log it is.
	Node string `json:"node,omitempty"`
	// Volume is the volume's name in the pod or of its PV, UniqueName the kubelet's ("kubernetes.io/csi/driver^handle").
	Volume     string `json:"volume,omitempty"`
	UniqueName string `json:"unique_name,omitempty"`
	Driver     string `json:"csi_driver,omitempty"`
	Image      string `json:"image,omitempty"`
	Path       string `json:"path,omitempty"`
	// Device is a block device ("sda1"), server a file server ("10.0.0.5").
	Device string `json:"device,omitempty"`
	Server string `json:"server,omitempty"`
	// Process is "name (pid)" of a kernel message.
	Process string `json:"process,omitempty"`
	// Reason is the inner error or cause, in the words of the message, cut; Code is a gRPC code or an exit status, or
	// the name of an errno ("EBUSY") told from the text in any language.
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
}

// An Event counts occurrences of one kind about one subject.
type Event struct {
	Kind Kind `json:"kind"`
	// Origin is the program that wrote it.
	Origin string `json:"origin,omitempty"`
	Subject
	Count int64      `json:"count"`
	First *time.Time `json:"first,omitempty"`
	Last  *time.Time `json:"last,omitempty"`
	// Number is that of the last occurrence, Max the largest.
	Number float64 `json:"number,omitempty"`
	Max    float64 `json:"max,omitempty"`
	// Quotes are the first and the last occurrence, and the one with the largest number if that is another.
	Quotes []Quote `json:"quotes"`
}

// A Life is one run of a kubelet.
type Life struct {
	// PID is the writer's; 0 when unknown.
	PID     int        `json:"pid,omitempty"`
	Started *time.Time `json:"started,omitempty"` // absent when it began before the log
	Last    *time.Time `json:"last,omitempty"`    // of its last line
	Version string     `json:"version,omitempty"`
	// Verbosity is the lowest -v that its lines prove.
	Verbosity int `json:"verbosity"`
	// Stage is the last step of the start that was seen; "" when the start is not in the log.
	Stage StartStage `json:"stage,omitempty"`
	// End says why it ended, EndQuote is the line that says so.
	End      End    `json:"end"`
	EndQuote *Quote `json:"end_quote,omitempty"`
}

// A Loop is what the log shows of the sync loop of the last life of the kubelet.
type Loop struct {
	// LastSeen is the last line of the sync loop of each kind ("housekeeping", "ADD", "PLEG", "SYNC", "DELETE", …).
	LastSeen map[string]time.Time `json:"last_seen"`
	// Last is the latest of them, Quote its line.
	Last  *time.Time `json:"last,omitempty"`
	Quote *Quote     `json:"quote,omitempty"`
	// OthersLast is the last line of any other part of the kubelet. OthersCount counts those after Last among the examined lines; there are
	// more.
	OthersLast  *time.Time `json:"others_last,omitempty"`
	OthersCount int64      `json:"others_after"`
	// Cadence is the usual distance of housekeeping lines, where the verbosity shows them; 0 when unknown.
	Cadence float64 `json:"cadence_seconds,omitempty"`
	// Gaps are periods of more than a minute without a message, after which the loop continued; longest first, ten at most.
	Gaps []Gap `json:"gaps"`
}

// A Gap is a period without a message.
type Gap struct {
	From    time.Time `json:"from"`
	Seconds float64   `json:"duration_seconds"`
}

// A Deletion is the deletion of one pod, stage by stage.
type Deletion struct {
	PodUID  string `json:"pod_uid,omitempty"`
	PodName string `json:"pod,omitempty"`
	// Steps are the stages that were seen, in order.
	Steps []Step `json:"steps"`
	// Stage is the current stage.
	Stage Stage `json:"stage"`
	Done  bool  `json:"done"`
	// Waits is what it waits for, in words; empty when it is done or the log does not show it.
	Waits string `json:"waits_for,omitempty"`
	// Since is when the last stage was reached.
	Since *time.Time `json:"since,omitempty"`
	// Complaints are the messages that repeat while it is stuck.
	Complaints []Quote `json:"complaints"`
	// GraceSeconds is the grace period that a line names; absent when none does.
	GraceSeconds *int64 `json:"grace_seconds,omitempty"`
	// Proven says that this kubelet's verbosity would show a later stage. Without it, a deletion that seems stuck may have ended.
	Proven bool `json:"proven"`
	// Inferred says that unmounts alone show the deletion, which began or failed: the pod may also have ended by itself, or be an orphan.
	Inferred bool `json:"inferred,omitempty"`
}

// A Step is one stage of a deletion.
type Step struct {
	Stage Stage     `json:"stage"`
	Time  time.Time `json:"time"`
	Quote Quote     `json:"quote"`
}

// An Operation is a volume operation of the kubelet that failed or has not returned.
type Operation struct {
	Subject
	// Name is "MountVolume", "UnmountVolume", "UnmountDevice", "MountDevice", "AttachVolume", "VerifyControllerAttachedVolume".
	Name    string     `json:"name"`
	Started *time.Time `json:"started,omitempty"`
	// Failed is when it failed last, Failures how often; absent and 0 when it has not returned at all.
	Failed   *time.Time `json:"failed,omitempty"`
	Failures int64      `json:"failures,omitempty"`
	// RetrySeconds is the last durationBeforeRetry.
	RetrySeconds float64 `json:"retry_seconds,omitempty"`
	Quotes       []Quote `json:"quotes"`
}
