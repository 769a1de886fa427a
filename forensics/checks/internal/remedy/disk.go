package remedy

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

// CountUsage says where disk space went: du asks each mount point that it comes across for its attributes, also with -x, and never
// returns from one that does not answer (seen with coreutils 9.1).
func CountUsage() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionLook, Command: []string{"nodeforensics", "--disk-usage", "30s"},
		Why:  "counts where the space of this file system went, and enters no mount, where du hangs at a dead one",
		Risk: "none: it reads",
	}
}
