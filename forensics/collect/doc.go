// Package collect examines a node: the live machine, or the disk of a dead one. It reads only, returns when its context ends
// whatever hangs, and says in the coverage of the evidence how reading each source went.
//
// [Collect] reads everything that the checks know, [Holders] only who uses some mounts. Neither judges: see package forensics.
// Paths that may be on a dead mount are not touched but by calls that can be left behind; see [Collect] for what that means to
// the process that called it.
package collect
