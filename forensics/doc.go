// Package forensics judges the evidence of a Kubernetes node whose pods are stuck in Terminating, whose mounts hang, or whose kubelet is
// blocked.
//
// [Evidence] is plain data that survives a round trip through JSON. Package collect makes it from a live node or the disk of a dead one,
// package read from saved files. A [Model] joins it: mounts with their superblocks, goroutines with threads, processes with pods. [Uses]
// shows which processes use a mount.
//
// A [Check] judges one kind of trouble. In a [Pass] over evidence and model it reports findings: what is broken, why, the evidence for
// it, and which steps help. Package checks has the list of all checks, and a program can add its own. [Analyze] runs checks and groups
// their findings by root cause.
//
// The package is pure: it uses no clock, no file system and no network. The same evidence gives the same analysis.
package forensics
