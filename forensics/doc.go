// Package forensics judges what was seen of a Kubernetes node on which pods do not go away, mounts hang, or the kubelet stands
// still.
//
// [Evidence] is what was seen, as plain data that survives a round trip through JSON. Package collect makes it of a live node or of
// the disk of a dead one, package read of files that somebody saved. A [Model] joins it: mounts with their superblocks, goroutines
// with threads, processes with pods. [Uses] answers who uses a mount.
//
// A [Check] judges one kind of trouble. In a [Pass] over evidence and model it reports findings: what is bad, because of what, on
// which lines of the evidence that rests, and which steps help. Package checks has the list of all; anybody can write one of their
// own. [Analyze] runs checks and groups their findings by root cause.
//
// The package is pure: it knows no clock, no file system and no network, and the same evidence gives the same analysis.
package forensics
