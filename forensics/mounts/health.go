package mounts

import "time"

// Status says how a mount answers.
type Status string

// The statuses. The zero value means that nothing is known.
const (
	StatusNotProbed    Status = ""
	StatusOK           Status = "ok"
	StatusSlow         Status = "slow"         // answered, but after SlowAfter or more
	StatusHung         Status = "hung"         // no answer for HungAfter, or a thread provably waits that long
	StatusUnanswered   Status = "unanswered"   // no answer when the examination ended, before HungAfter: proves nothing
	StatusFrozen       Status = "frozen"       // fsfreeze, dm suspend: writers wait on purpose
	StatusStale        Status = "stale"        // ESTALE: the server no longer has the object
	StatusDisconnected Status = "disconnected" // ENOTCONN, ECONNABORTED, ENODEV, ESHUTDOWN: the FUSE server or the client's connection is lost
	StatusIOError      Status = "io-error"     // EIO and other errors of the device or server
	StatusDenied       Status = "denied"       // EACCES, EPERM: proves nothing about the server
	StatusRecovered    Status = "recovered"    // was waited for at first, answered later
)

// Values of Health.Method.
const (
	MethodPassive = "passive"
	MethodProbe   = "probe"
)

// Health is how one mount responds.
type Health struct {
	MountID    int    `json:"mount_id"`
	Device     string `json:"device"`
	MountPoint string `json:"mount_point"`
	Status     Status `json:"status"`
	// Method is "passive" (threads were seen waiting or failing), "probe" (this program probed the mount), "hearsay" (a sentence in a saved
	// text says so) or absent.
	Method string `json:"method,omitempty"`
	// Seconds is how long the answer took, or how long there was none. It is a lower bound for a hung mount.
	Seconds float64 `json:"duration_seconds,omitempty"`
	// Since is the latest time at which the trouble can have begun; absent when unknown.
	Since *time.Time `json:"since,omitempty"`
	// Call is the system call that took longest, failed or hangs: "openat", "statx" or "statfs".
	Call string `json:"call,omitempty"`
	// Error is the error's text where there was one ("stale file handle").
	Error string `json:"error,omitempty"`
	// Reason says why a mount was not probed, or what the evidence of the status is.
	Reason string `json:"reason,omitempty"`
	// Waiting is /sys/fs/fuse/connections/MINOR/waiting at two times, requests that the server has not answered;
	// empty for other file systems or where fusectl is not mounted.
	Waiting []int `json:"fuse_waiting,omitempty"`
	// Witness is a thread (pid/tid) that provably waits for this mount, for a passive status.
	Witness string `json:"witness,omitempty"`
}
