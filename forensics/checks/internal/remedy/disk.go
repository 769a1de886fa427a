package remedy

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

// CountUsage is the command that counts disk usage. du calls stat on each mount point below its directory, also with -x, and hangs on a
// dead one (seen with coreutils 9.1).
func CountUsage() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionLook, Command: []string{"nodeforensics", "--disk-usage", "30s"},
		Why:  "counts what uses the space of this file system. It enters no mount; du hangs on a dead one",
		Risk: "none: read-only",
	}
}
