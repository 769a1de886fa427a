// Package collect examines a node: the live machine, or the disk of a dead one. It only reads. It returns when its
// context ends, whatever hangs. The coverage of the evidence says for each source whether it could be read.
//
// [Collect] reads everything that the checks need, [Holders] only which processes use some mounts. Neither runs checks:
// see package forensics. Paths that may be on a dead mount are accessed only by calls that can be left behind; see
// [Collect] for what that means for the calling process.
package collect
