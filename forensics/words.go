package forensics

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// DescribeWait says what a thread waits in, for how long and on what: "in newfstatat("/x"), waiting in
// request_wait_answer for at least 12 min". How long is said as [Model.Waited] has it, and not at all where w is zero.
// How long is left out where w is zero; else it is what [Model.Waited] says.
func DescribeWait(t procs.Thread, w WaitAtLeast) string {
	var b strings.Builder
	if t.Syscall != nil && t.Syscall.Name != "" {
		b.WriteString("is in " + t.Syscall.Name)
		if t.Path != "" {
			fmt.Fprintf(&b, "(%q)", t.Path)
		}
	} else {
		b.WriteString("is in the kernel")
		if t.Path != "" {
			fmt.Fprintf(&b, " for %q", t.Path)
		}
	}
	function := t.Wait.Function
	if function == "" {
		function = t.WChan
	}
	if function != "" {
		b.WriteString(", waiting in " + function)
	}
	if w.Known {
		b.WriteString(" for at least " + text.Duration(w.Seconds))
	}
	return b.String()
}

// String is "is stopped (state T)".
func (t ServerTrouble) String() string {
	switch {
	case t.Waits != nil:
		return "is itself blocked: it " + DescribeWait(*t.Waits, t.Waited)
	case t.Frozen:
		return "is frozen by its cgroup"
	case t.Stopped():
		return "is stopped (state " + t.State + ")"
	}
	return "has ended, or its first thread has (state " + t.State + ")"
}

// DescribeStatus says how a mount answers.
func DescribeStatus(h mounts.Health) string {
	switch h.Status {
	case mounts.StatusHung:
		return "has not answered for " + text.Duration(h.Seconds)
	case mounts.StatusSlow:
		return "answered after " + text.Duration(h.Seconds)
	case mounts.StatusUnanswered:
		return "had not answered after " + text.Duration(h.Seconds)
	case mounts.StatusFrozen:
		return "is frozen: writers wait"
	case mounts.StatusRecovered:
		return "did not answer at first, then did"
	case mounts.StatusDenied: // by the kernel; what the server would say is not known
		return "refuses this program (" + h.Error + ")"
	case mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError:
		return "answers with " + strconv.Quote(h.Error)
	case mounts.StatusOK:
		return "answers"
	}
	return "was not probed"
}

// SubsystemName is the plain name of a subsystem of the kubelet.
func SubsystemName(id string) string {
	switch id {
	case "housekeeping":
		return "housekeeping"
	case "syncloop":
		return "sync loop"
	case "pleg":
		return "pod lifecycle event generator (PLEG)"
	case "volume-manager":
		return "volume manager"
	case "status-manager":
		return "status manager"
	case "pod-worker":
		return "pod worker"
	case "eviction":
		return "eviction manager"
	case "image-gc":
		return "garbage collection of images"
	case "start":
		return "start-up"
	case goroutines.RoleCadvisorStatfs:
		return "cAdvisor, which asks file systems for their size,"
	case goroutines.RoleCadvisorDisk:
		return "cAdvisor, which measures containers' disk usage,"
	case goroutines.RoleVolumeStats:
		return "volume statistics"
	case goroutines.RoleCgroupRemoval:
		return "removal of pods' cgroups"
	}
	return id
}
