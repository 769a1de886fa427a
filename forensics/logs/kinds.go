package logs

import (
	"slices"
	"strings"
)

// Kind names a kind of message by a stable ID: "orphan", "syncloop-delete", "unmount-started". Later versions add more.
type Kind string

// A message is all that is known of one kind of message: one row of the table, in the files kinds_*.go, by subject. Examples
// of its lines, and what is read from them, are in testdata/golden/examples.txt.
//
// The constants' comments name the message in its newest wording (older ones in brackets where they differ much), then the
// fields of Subject that it fills where the line has them, and what Number is.
//
// A line has one kind, that of its cause: a failed unmount of a busy mount is [KindUnmountBusy], a failed unmount without a
// registered driver is [KindCSIDriverMissing]. A failed unmount that no other kind explains is [KindUnmountFailed].
type message struct {
	kind Kind
	// rules match the message's lines; none where the rule of another kind sets this kind, by the cause.
	rules []rule
	// words say what it means; empty where the kind's name, without dashes, says it.
	words    string
	lane     Lane
	severity Severity
	// harmless says why noise is noise.
	harmless string
	// summed messages are counted whatever they are about: there are thousands, and none is trouble. Noise is, too.
	summed bool
	// deep says that it is also the cause of a failed step of a pod that names it in its error.
	deep bool
	// byReason says that Reason is of few values, so that each is an event of its own.
	byReason bool
}

// A Severity is what a message means by itself.
type Severity string

const (
	// severityNotice is worth reading; the checks judge it.
	severityNotice Severity = ""
	// SeverityRoutine is normal work: only its count matters.
	SeverityRoutine Severity = "routine"
	// SeverityNoise is known to be harmless; [NoiseReason] says why.
	SeverityNoise Severity = "noise"
)

// A Lane is the part of the node that a message is about. It is empty for messages without trouble, and for the steps of deletions and
// operations: [Story] has these separately.
type Lane string

// The lanes.
const (
	LaneSyncLoop  Lane = "syncloop"  // the kubelet, its sync loop, and what it needs: API server, certificates, limits
	LaneDeletions Lane = "deletions" // pods that are being deleted
	LaneVolumes   Lane = "volumes"
	LaneDisk      Lane = "disk" // disks, images, evictions
	LaneRuntime   Lane = "runtime"
	LaneKernel    Lane = "kernel"
)

// messages is the table. Of the rules that begin with the same word, and of those that match anywhere, the first one that matches a line
// counts: more specific rules come first.
func messages() []message {
	return slices.Concat(
		orphanMessages, loopMessages, deletionMessages, volumeMessages, diskMessages, ofRuntimes(runtimeMessages),
		podGCMessages, lifeMessages, noiseMessages, ofRuntimes(limitMessages), ofKernel(kernelMessages))
}

// ofRuntimes marks messages that container runtimes write, too.
func ofRuntimes(list []message) []message { return marked(list, func(r *rule) { r.runtime = true }) }

// ofKernel marks messages that only the kernel writes.
func ofKernel(list []message) []message { return marked(list, func(r *rule) { r.kernel = true }) }

func marked(list []message, mark func(*rule)) []message {
	list = slices.Clone(list)
	for n := range list {
		m := &list[n]
		m.rules = slices.Clone(m.rules)
		for i := range m.rules {
			mark(&m.rules[i])
		}
	}
	return list
}

// Words is the meaning of a kind of message.
func Words(k Kind) string {
	if m := book.messages[k]; m.words != "" {
		return m.words
	}
	name := strings.TrimPrefix(strings.TrimPrefix(string(k), "kernel-"), noisePrefix)
	return strings.ReplaceAll(name, "-", " ")
}

// noisePrefix begins the names of noise, so that it is known in the evidence of another version, too.
const noisePrefix = "noise-"

// NoiseReason says why lines of a kind are harmless; "" for kinds that are not noise.
func NoiseReason(k Kind) string { return book.messages[k].harmless }

// Severity is what messages of a kind mean by themselves.
func (k Kind) Severity() Severity {
	if strings.HasPrefix(string(k), noisePrefix) {
		return SeverityNoise
	}
	return book.messages[k].severity
}

// Lane is what messages of a kind are about.
func (k Kind) Lane() Lane { return book.messages[k].lane }
