package forensics

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// EvidenceSchema names the layout of [Evidence] as JSON. Fields are added within v2; a change of meaning makes v3.
const EvidenceSchema = "nodeforensics.evidence/v2"

// Evidence is everything that was collected, as plain data. collect.Collect makes it, [Analyze] judges it. It survives a round
// trip through JSON, so a saved run can be judged again elsewhere and by a newer version.
//
// A part that was not read is empty. Only Coverage says whether "empty" means "none" or "not collected". A part with data was read, unless
// Coverage has an entry of its source that says otherwise: see [Evidence.Saw].
type Evidence struct {
	Schema string `json:"schema"`
	// Collected is when collecting began, by the node's clock.
	Collected time.Time `json:"collected"`
	// Root is the --root that was examined, "/" for the live machine.
	Root      string    `json:"root"`
	Collector Collector `json:"collector"`
	Node      Node      `json:"node"`
	Coverage  []Source  `json:"coverage"`

	// Mounts is the mount table of the host's namespace, or of this program's own where the host's was not readable.
	Mounts mounts.Table `json:"mounts"`
	// Namespaces are other mount namespaces that matter: the kubelet's, where it has one of its own.
	Namespaces []mounts.Table `json:"namespaces"`
	// Probes has one entry for each mount that was probed: what was measured. Model.MountHealth judges them.
	Probes []mounts.Probe `json:"probes"`
	// FUSEQueues are the unanswered requests of FUSE servers, for the mounts that were probed; none where the control file system of FUSE
	// is not mounted.
	FUSEQueues []mounts.FUSEQueue `json:"fuse_queues"`
	// DiskProgress is what disks completed while threads waited for them.
	DiskProgress []mounts.DiskProgress `json:"disk_progress"`

	Processes []procs.Process `json:"processes"`
	// Threads are the threads that wait in a file system.
	Threads []procs.Thread `json:"threads"`

	Kubelet *kubelet.Instance `json:"kubelet,omitempty"`
	PodDirs []kubelet.PodDir  `json:"pod_dirs"`
	// Pods are the pods of all sources; several sources may have the same pod.
	Pods    []kubelet.Pod        `json:"pods"`
	Cgroups []runtimes.PodCgroup `json:"cgroups"`
	// CgroupTotals are those of the machine; absent where cgroups were not read.
	CgroupTotals *runtimes.CgroupTotals `json:"cgroup_totals,omitempty"`
	Dumps        []Dump                 `json:"dumps"`
	// Runtimes, Sandboxes, Containers and Images are read from the container runtimes' files; no daemon was called for them.
	Runtimes   []runtimes.Runtime   `json:"runtimes"`
	Sandboxes  []runtimes.Sandbox   `json:"sandboxes"`
	Containers []runtimes.Container `json:"containers"`
	Images     []runtimes.Image     `json:"images"`
	// Backings are the servers and disks of network file systems, and of file systems that do not respond normally.
	Backings []backing.Backing `json:"backings"`
	// MountUse is what uses mounts; absent where it was not collected.
	MountUse *MountUse `json:"mount_use,omitempty"`
	// Disks are the file systems that the kubelet monitors; absent where they were not collected.
	Disks *eviction.State `json:"disks,omitempty"`
	// CPUProfile is a profile of the kubelet over some seconds; absent where it was not requested.
	CPUProfile *goroutines.CPUProfile `json:"cpu_profile,omitempty"`
	// Cluster has objects of the API server, from dumps that were given as files; absent where none was.
	Cluster *apidump.Dump `json:"cluster,omitempty"`

	// Logs is what the logs contain, as a story; absent where none was collected.
	Logs *logs.Story `json:"logs,omitempty"`

	// Redactions says what was masked, never the secret.
	Redactions []redact.LedgerEntry `json:"redactions"`
}

// Node is the machine.
type Node struct {
	Name        string     `json:"name"`
	Kernel      string     `json:"kernel,omitempty"`
	OS          string     `json:"os,omitempty"`
	Arch        string     `json:"arch,omitempty"`
	Boot        *time.Time `json:"boot,omitempty"`
	CPUs        int        `json:"cpus,omitempty"`
	MemoryBytes uint64     `json:"memory_bytes,omitempty"`
	// Load is the 1, 5 and 15 minute load average; it counts uninterruptible threads, not only running ones.
	Load []float64 `json:"load_average,omitempty"`
}

// Collector describes the examination itself and its overhead.
type Collector struct {
	Version string   `json:"version,omitempty"`
	Command []string `json:"command"`
	PID     int      `json:"pid,omitempty"`
	// Seconds is how long collecting took; PeakBytes the largest resident set of the collecting process.
	Seconds   float64 `json:"duration_seconds,omitempty"`
	PeakBytes int64   `json:"peak_memory_bytes,omitempty"`
	// HungAfterSeconds is the --hung-after of the run, the time limit for mounts. SlowAfterSeconds is its --slow-after.
	HungAfterSeconds float64 `json:"hung_after_seconds,omitempty"`
	SlowAfterSeconds float64 `json:"slow_after_seconds,omitempty"`
	// GivenUp counts calls that did not return in time. Outstanding are those that had not returned at the end: until they return,
	// process PID remains in the kernel and itself uses what they access.
	GivenUp     int       `json:"calls_given_up,omitempty"`
	Outstanding []Blocked `json:"outstanding"`
	// RedactionKey names the key of the placeholders, which other runs had, too: equal placeholders then stand for the same. Absent where the
	// key was of this run alone.
	RedactionKey string `json:"redaction_key,omitempty"`
	// Interrupted says why collecting ended early; empty when it did not.
	Interrupted string `json:"interrupted,omitempty"`
}

// Blocked is one call of the collector that did not return.
type Blocked struct {
	Key     string  `json:"key"`
	TID     int     `json:"tid,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Dump is one goroutine dump and where it came from.
type Dump struct {
	// Source is the URL or file.
	Source string `json:"source"`
	// PID is the process that it was taken from; 0 when unknown (a file).
	PID int `json:"pid,omitempty"`
	// Program is what runs in the process: "kubelet", or the name of another program (see [goroutines.Dump.ProgramByFrames]). Absent means unknown; the
	// dump is then judged as that of a kubelet.
	Program string     `json:"program,omitempty"`
	Taken   *time.Time `json:"taken,omitempty"`
	goroutines.Dump
	Problems []goroutines.Problem `json:"problems"`
}

// DefaultHungAfter is the default of --hung-after.
const DefaultHungAfter = 15 * time.Second

// notCollected is why a source is missing that nothing is recorded of.
const notCollected = "not collected"

// Saw says whether a source was read at least in part, and if not, why. Its entries in the coverage decide; where it has none, its data
// does: evidence made by hand needs coverage only for sources that were tried and not found.
func (e *Evidence) Saw(source string) (ok bool, reason string) {
	ok, reason = e.covers(source)
	if other := otherProgram(e); ok && source == SourceGoroutines && other != "" {
		return false, "the dump is that of " + other
	}
	return ok, reason
}

func (e *Evidence) covers(source string) (ok bool, reason string) {
	if ok = e.has(source); !ok {
		reason = notCollected
	}
	for _, s := range e.Coverage {
		if s.Source != source && !strings.HasPrefix(s.Source, source+":") {
			continue
		}
		if s.Status.Usable() {
			return true, ""
		}
		ok, reason = false, string(s.Status)
		if s.Detail != "" {
			reason += " (" + s.Detail + ")"
		}
	}
	return ok, reason
}

// otherProgram is the program of the dumps, if none is a kubelet's.
func otherProgram(e *Evidence) (program string) {
	for i := range e.Dumps {
		if e.Dumps[i].ofKubelet() {
			return ""
		}
		program = e.Dumps[i].Program
	}
	return program
}

// SawAll says whether a source was read completely: a part of it does not show what there is not.
func (e *Evidence) SawAll(source string) bool {
	ok, _ := e.Saw(source)
	return ok && !slices.ContainsFunc(e.Coverage, func(s Source) bool { return s.Source == source && s.Status == SourceTruncated })
}

// Cover records how reading a source went; a second record of the same source replaces the first.
func (e *Evidence) Cover(s Source) {
	for i := range e.Coverage {
		if e.Coverage[i].Source == s.Source {
			e.Coverage[i] = s
			return
		}
	}
	e.Coverage = append(e.Coverage, s)
}

// wholePodList says whether the kubelet's list was read completely: a pod that is missing in a part of it may exist.
func (e *Evidence) wholePodList() (bool, string) {
	ok, why := e.Saw(SourceKubeletPods)
	if ok && !e.SawAll(SourceKubeletPods) {
		return false, "it is incomplete"
	}
	return ok, why
}
