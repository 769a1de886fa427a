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

// DescribeWait says which call a thread is in, where it waits, and for how long: "is in newfstatat("/x"), waiting in request_wait_answer
// for at least 12 min". w is what [Model.Waited] returns; the age is left out where w is zero.
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
			fmt.Fprintf(&b, " on %q", t.Path)
		}
	}
	function := t.Wait.Function
	if function == "" {
		function = t.WChan
	}
	if function != "" {
		b.WriteString(", waiting in " + function)
	}
	return b.String() + w.words()
}

// words is " for 12 min", " for at least 10 min", or nothing where no age is known.
func (w WaitAtLeast) words() string {
	switch {
	case !w.Known:
		return ""
	case w.Measured:
		return " for " + text.Duration(w.Seconds)
	}
	return " for at least " + text.Duration(w.Seconds)
}

// String is "is stopped (SIGSTOP)".
func (t ServerTrouble) String() string {
	switch {
	case t.Waits != nil:
		return "is itself blocked: it " + DescribeWait(*t.Waits, t.Waited)
	case t.Frozen:
		return "is frozen by its cgroup"
	case t.State == "t":
		return "is stopped (debugger)"
	case t.Stopped():
		return "is stopped (SIGSTOP)"
	}
	return "has ended, or its main thread has (state " + t.State + ")"
}

// DescribeStatus says how a mount responds.
func DescribeStatus(h mounts.Health) string {
	switch h.Status {
	case mounts.StatusHung:
		return "has not responded for " + text.Duration(h.Seconds)
	case mounts.StatusSlow:
		return "responded after " + text.Duration(h.Seconds)
	case mounts.StatusUnanswered:
		return "had not responded after " + text.Duration(h.Seconds)
	case mounts.StatusFrozen:
		return "is frozen: writes wait"
	case mounts.StatusRecovered:
		return "did not respond at first, then did"
	case mounts.StatusDenied: // by the kernel; the answer of the server is not known
		return "denies access to nodeforensics (" + h.Error + ")"
	case mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError:
		return "answers with " + strconv.Quote(h.Error)
	case mounts.StatusOK:
		return "responds"
	}
	return "was not probed"
}

// SubsystemName is the name of a subsystem of the kubelet in a report.
func SubsystemName(id string) string {
	switch id {
	case "housekeeping":
		return "housekeeping"
	case "syncloop":
		return "sync loop"
	case "pleg":
		return "PLEG"
	case "volume-manager":
		return "volume manager"
	case "status-manager":
		return "status manager"
	case "pod-worker":
		return "pod worker"
	case "eviction":
		return "eviction manager"
	case "image-gc":
		return "image garbage collection"
	case "start":
		return "start"
	case goroutines.RoleCadvisorStatfs:
		return "disk statistics (cAdvisor)"
	case goroutines.RoleCadvisorDisk:
		return "container disk usage (cAdvisor)"
	case goroutines.RoleVolumeStats:
		return "volume statistics"
	case goroutines.RoleCgroupRemoval:
		return "pod cgroup removal"
	}
	return id
}
