package mounts

import (
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hearsay"
)

// Skip says why a mount was not probed.
type Skip string

// The reasons. The zero value means that it was probed.
const (
	SkipAutofs  Skip = "autofs"        // a lookup may mount something
	SkipMemory  Skip = "memory"        // answers from memory
	SkipCovered Skip = "covered"       // another mount, Probe.Other, lies over it
	SkipUnknown Skip = "unknown"       // is not in the mount table
	SkipSilent  Skip = "below-silent"  // lies below a mount, Probe.Other, that has not answered
	SkipFailing Skip = "below-failing" // lies below a mount, Probe.Other, that answers with an error
	SkipWaited  Skip = "waited-for"    // a thread waits for it: see Evidence.Threads
	SkipLate    Skip = "late"          // the timeout came before
	SkipBusy    Skip = "busy"          // an earlier call of this program had only just returned
	SkipOff     Skip = "off"           // probing was disabled (--no-probe)
)

// Probe is what was measured when this program probed a mount, or why it did not probe it. [Probe.Judge] judges it.
type Probe struct {
	MountID    int    `json:"mount_id"`
	Device     string `json:"device"`
	MountPoint string `json:"mount_point"`
	Skipped    Skip   `json:"skipped,omitempty"`
	// Other is the id of the mount that Skipped refers to.
	Other int `json:"other_mount_id,omitempty"`
	// SameAs is the mount of the same superblock that was probed in place of this one, absent if this one was. SameRoot says
	// that both show the same directory.
	SameAs   int  `json:"same_as_mount_id,omitempty"`
	SameRoot bool `json:"same_root,omitempty"`
	// Call is the system call that has not returned, that failed, or that took longest: "openat", "statx" or "statfs".
	Call string `json:"call,omitempty"`
	// Seconds is how long the calls took together, or how long the one that is Pending had not returned.
	Seconds float64 `json:"duration_seconds,omitempty"`
	// Pending says that Call had not returned when this program stopped waiting. Awake is for how much of Seconds it was running,
	// and so would have seen an answer; Since is when the call began.
	Pending bool       `json:"pending,omitempty"`
	Awake   float64    `json:"awake_seconds,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	// Thread is the thread that is in the pending call of an earlier probe, where this one made none of its own.
	Thread int `json:"earlier_call_tid,omitempty"`
	// Returned says that the pending call had returned when the examination ended.
	Returned bool `json:"returned,omitempty"`
	// Errno is the name of the error of Call ("ESTALE"), absent where it succeeded or failed without one; Error its text.
	Errno string `json:"errno,omitempty"`
	Error string `json:"error,omitempty"`
	// Said says that nothing was probed: a sentence in a saved text says that a command on it, Call, has not returned.
	Said bool `json:"said,omitempty"`
	// Suspended says that its device-mapper device was suspended.
	Suspended bool `json:"suspended,omitempty"`
}

// FUSEQueue are the requests of a FUSE connection that its server had not answered: /sys/fs/fuse/connections/MINOR/waiting at
// several times, the earliest first.
type FUSEQueue struct {
	Device   string `json:"device"`
	Requests []int  `json:"requests_waiting"`
}

// DiskProgress is what the disk of a file system completed while this program watched, because a thread waited for it.
type DiskProgress struct {
	Device string `json:"device"`
	// Writing says that only what changes the disk was counted: writes, discards and flushes.
	Writing bool `json:"writing,omitempty"`
	// Completed counts requests (/sys/block/DISK/stat), as far as they were waited for; Seconds is for how long.
	Completed uint64  `json:"completed_requests"`
	Seconds   float64 `json:"duration_seconds"`
}

// Judge says what a probe means for the probed mount m. It uses only the class and the options of m, and m may be
// zero. A call without an answer for hungAfter is hung, and calls that took slowAfter together are slow.
func (p Probe) Judge(m Mount, hungAfter, slowAfter time.Duration) Health {
	h := Health{MountID: p.MountID, Device: p.Device, MountPoint: p.MountPoint}
	if p.Skipped != "" {
		h.Reason = p.skipReason()
		return h
	}
	h.Call, h.Seconds, h.Method = p.Call, p.Seconds, MethodProbe
	switch {
	case p.Pending:
		h.Status = StatusUnanswered
		if p.Awake >= hungAfter.Seconds() {
			h.Status, h.Since = StatusHung, p.Since
		}
		if h.Reason = p.pending(); p.Said {
			h.Method = hearsay.Method
		}
	case p.Error != "":
		h.Status, h.Error = statusOf(p.Errno), p.Error
		if h.Status == StatusNotProbed {
			return Health{MountID: h.MountID, Device: h.Device, MountPoint: h.MountPoint, Reason: "not probed: " + p.notFound()}
		}
		if h.Status == StatusDenied {
			h.Reason = p.denied(m)
		}
		if p.Said {
			h.Method = hearsay.Method
		}
	default:
		h.Status = StatusOK
		if p.Seconds >= slowAfter.Seconds() {
			h.Status = StatusSlow
		}
		if m.Class == ClassBlock {
			h.Reason = "a local file system may answer from memory: this proves nothing about its disk"
		}
	}
	if p.Suspended {
		h.Status, h.Reason = StatusFrozen, "its device-mapper device is suspended: writes wait until it is resumed"
	}
	if p.SameAs != 0 {
		h.Reason = p.same()
	}
	if p.Returned && (h.Status == StatusHung || h.Status == StatusUnanswered) {
		h.Status, h.Reason = StatusRecovered, fmt.Sprintf("responded only after more than %.3g s", h.Seconds)
	}
	return h
}

// Failed says whether the file system answered the probe with an error of its own or of its server.
func (p Probe) Failed() bool {
	return p.Skipped == "" && p.Error != "" && statusOf(p.Errno) != StatusNotProbed
}

func (p Probe) skipReason() string {
	switch p.Skipped {
	case SkipAutofs:
		return "autofs is never probed: a lookup may mount something"
	case SkipMemory:
		return "answers from memory"
	case SkipCovered:
		return fmt.Sprintf("is covered by mount %d", p.Other)
	case SkipUnknown:
		return "is not in the mount table"
	case SkipSilent:
		return fmt.Sprintf("is below mount %d, which does not respond", p.Other)
	case SkipFailing:
		return fmt.Sprintf("is below mount %d, which fails: %s", p.Other, p.Error)
	case SkipWaited:
		return "not probed: a thread waits for it"
	case SkipLate:
		return "not probed before the timeout"
	case SkipBusy:
		return "not probed: an earlier call had only just returned"
	case SkipOff:
		return "probing is off"
	}
	return "not probed"
}

func (p Probe) pending() string {
	switch {
	case p.Thread != 0:
		return fmt.Sprintf("thread %d still waits for an earlier call", p.Thread)
	case p.Call == "openat":
		return "the lookup of its mount point is blocked: the file system of a directory above it may be the cause"
	}
	return ""
}

func (p Probe) notFound() string {
	if p.Errno == "ENOENT" {
		return "the mount point no longer exists"
	}
	return p.Error
}

func (p Probe) denied(m Mount) string {
	_, others := m.SuperOption("allow_other")
	if m.Class == ClassFUSE && p.Call == "statx" && !others {
		return "mounted without allow_other: the request did not reach its server"
	}
	return "this proves nothing about the server"
}

func (p Probe) same() string {
	switch {
	case p.SameRoot:
		return fmt.Sprintf("same file system and root as mount %d", p.SameAs)
	case p.Pending:
		return fmt.Sprintf("same file system as mount %d, not probed again", p.SameAs)
	}
	return fmt.Sprintf("same file system as mount %d, not probed again: that probe was slow", p.SameAs)
}

// statusOf says what the error of a probe means for the mount: StatusNotProbed if it is about something else, or has no
// known name.
func statusOf(errno string) Status {
	switch errno {
	case "", "ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG": // the way there has changed
		return StatusNotProbed
	case "EMFILE", "ENFILE", "ENOMEM", "EAGAIN": // this program, or the machine, lacks something
		return StatusNotProbed
	case "EACCES", "EPERM":
		return StatusDenied
	case "ESTALE":
		return StatusStale
	case "ENOTCONN", "ECONNABORTED", "ENODEV", "ESHUTDOWN", // FUSE; a client that Ceph has blocklisted
		"EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", // CIFS, NFS mounted soft
		"ECONNREFUSED", "ECONNRESET", "EPIPE":
		return StatusDisconnected
	}
	return StatusIOError // EIO, EREMOTEIO, ETIMEDOUT, EUCLEAN and what else a device or a server may say
}
