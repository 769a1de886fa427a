package procs

// PathFromDescriptor is the PathFrom of a thread whose file is open already, so that no path need be walked to it.
const PathFromDescriptor = "descriptor"

// A Thread is one that waits in a file system or in the block layer.
type Thread struct {
	PID int `json:"pid"`
	TID int `json:"tid"`
	// PIDUnknown says that a text names the thread alone, which may not be its process' first: PID is then TID.
	PIDUnknown bool   `json:"pid_unknown,omitempty"`
	Comm       string `json:"comm"`
	State      string `json:"state"`
	// StartTicks is the start of the thread in clock ticks since boot: with TID it names one thread forever.
	StartTicks uint64 `json:"start_ticks"`
	// WChan is the kernel function that it sleeps in; Stack the kernel stack, innermost first, function names only.
	// Both are empty where the kernel does not tell.
	WChan string   `json:"wchan,omitempty"`
	Stack []string `json:"stack"`
	// Wait says what kind of wait that is.
	Wait Wait `json:"wait"`
	// Syscall is the system call that it is in; absent where /proc/PID/task/TID/syscall cannot be read, or -1.
	Syscall *Syscall `json:"syscall,omitempty"`
	// Path is what the system call was asked about, absolute as that process sees it. PathFrom says how it is known:
	// "argument" (the string was read from the process's memory), "descriptor" (the link of the descriptor).
	Path     string `json:"path,omitempty"`
	PathFrom string `json:"path_from,omitempty"`
	// MountID and Device name the mount that Path is on, in the mount namespace MountNS of that process; 0 and ""
	// where unknown. A kernel thread that writes a file system back has its Device, but no path.
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	MountNS uint64 `json:"mount_ns,omitempty"`
	// WaitSeconds is how long it has waited, at least; WaitFrom says how that is known: "sched" (it has not run
	// since), "samples" (two readings were equal). Absent when nothing proves an age.
	WaitSeconds *float64 `json:"wait_seconds,omitempty"`
	WaitFrom    string   `json:"wait_from,omitempty"`
	// UptimeSeconds is when the thread was read first, in seconds since boot (/proc/uptime, which counts time suspended).
	UptimeSeconds float64 `json:"uptime_seconds,omitempty"`
	// Same is set when a second reading, SampledSeconds later, showed the same system call with the same arguments
	// and no context switch in between: the thread did not run. Gone: the thread had gone on or ended by then.
	Same           bool    `json:"same,omitempty"`
	Gone           bool    `json:"gone,omitempty"`
	SampledSeconds float64 `json:"sampled_seconds,omitempty"`
	// Saved is where a text shows the thread that somebody saved or pasted ("ps.txt:12"), absent for one that was read on the node.
	// How long it has waited is then mostly not known.
	Saved string `json:"saved,omitempty"`
	// Dying says that a text shows the first thread of its process as ended, while this one waits: the process was killed or has called
	// exit. Of threads that were read on the node, the state of the process tells that.
	Dying bool `json:"dying,omitempty"`
	// Switches are voluntary plus involuntary context switches at the first reading.
	Switches uint64 `json:"context_switches,omitempty"`
}

// Values of Thread.WaitFrom.
const (
	WaitFromSched   = "sched"   // by the scheduler's clock, which says when it ran last: its sleep is not longer than that, either
	WaitFromSamples = "samples" // it may have slept long before the first reading
)
