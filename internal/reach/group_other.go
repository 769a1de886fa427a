//go:build !unix

package reach

import "os/exec"

// ownGroup: this system has no process groups; the command alone is killed.
func ownGroup(*exec.Cmd) {}
