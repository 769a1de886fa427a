package forensics

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// SourceStatus is the result of reading a source.
type SourceStatus string

// The statuses of a source. The zero value is not a valid one: a source that was never tried has no entry.
const (
	SourceRead      SourceStatus = "read"
	SourceAbsent    SourceStatus = "absent"
	SourceDenied    SourceStatus = "denied"
	SourceTimeout   SourceStatus = "timeout"
	SourceTruncated SourceStatus = "truncated"
	SourceMalformed SourceStatus = "malformed"
)

// Usable says whether a check may rest on the source.
func (s SourceStatus) Usable() bool { return s == SourceRead || s == SourceTruncated }

// Source is one entry of the coverage: a source that was tried.
type Source struct {
	// Source is one of the Source constants, with a colon and the particular one where there are several
	// ("goroutines:dump.txt").
	Source  string       `json:"source"`
	Status  SourceStatus `json:"status"`
	Detail  string       `json:"detail,omitempty"`
	Seconds float64      `json:"duration_seconds"`
	Bytes   int64        `json:"bytes"`
}

// The names of sources, as checks need them and the coverage lists them.
const (
	SourceNode          = "node"
	SourceMounts        = "mounts"
	SourceProcesses     = "processes"
	SourceThreads       = "threads"
	SourceHealth        = "mount-health"
	SourceKubelet       = "kubelet"
	SourceKubeletHealth = "kubelet-health"
	SourceKubeletPods   = "kubelet-pods"
	SourceMetrics       = "kubelet-metrics"
	SourceGoroutines    = "goroutines"
	// SourceOtherGoroutines is about programs other than the kubelet, with a colon and where each was read.
	SourceOtherGoroutines = "other-goroutines"
	SourceCPUProfile      = "cpu-profile"
	SourceCredentials     = "kubelet-credentials" // files of the user who runs this; only where reading failed
	SourcePodDirs         = "pod-dirs"
	SourceStaticPods      = "static-pods"
	SourceCgroups         = "cgroups"
	SourcePodLogs         = "pod-log-dirs"
	SourceHolders         = "holders"
	SourceAPIDump         = "api-dump"
	SourceAPI             = "api" // the API server's pods of this node, and its Node
	SourceDisks           = "disks"
	SourceRuntime         = "runtime"        // the runtime's files
	SourceRuntimeAnswer   = "runtime-answer" // whether its daemon responds
	SourceBackings        = "servers-and-disks"
	SourceLogs            = "logs" // with a colon and the path of each file
	SourceCollector       = "collector"
	SourceAnalysis        = "analysis" // only where judging or writing was cut
)

// has says whether the evidence has data that only this source provides. Data of a collector counts by its coverage alone: it may have
// been cut in the middle of a list.
func (e *Evidence) has(source string) bool {
	data, known := dataOf[source]
	return known && e.Collector.PID == 0 && data(e)
}

var dataOf = map[string]func(*Evidence) bool{
	SourceNode:            func(e *Evidence) bool { return e.Node.Name != "" },
	SourceMounts:          func(e *Evidence) bool { return len(e.Mounts.Mounts) > 0 },
	SourceProcesses:       func(e *Evidence) bool { return len(e.Processes) > 0 },
	SourceThreads:         func(e *Evidence) bool { return len(e.Threads) > 0 },
	SourceHealth:          func(e *Evidence) bool { return len(e.Probes) > 0 },
	SourceKubelet:         func(e *Evidence) bool { return e.Kubelet != nil },
	SourceKubeletHealth:   hasHealthCheck,
	SourceKubeletPods:     func(e *Evidence) bool { return hasPodOf(e, "kubelet") },
	SourceMetrics:         func(e *Evidence) bool { return e.Kubelet != nil && len(e.Kubelet.Metrics) > 0 },
	SourceGoroutines:      hasDumpOf((*Dump).ofKubelet),
	SourceOtherGoroutines: hasDumpOf(func(d *Dump) bool { return !d.ofKubelet() }),
	SourceCPUProfile:      func(e *Evidence) bool { return e.CPUProfile != nil },
	SourcePodDirs:         func(e *Evidence) bool { return len(e.PodDirs) > 0 },
	SourceStaticPods:      func(e *Evidence) bool { return hasPodOf(e, "manifest") },
	SourceCgroups:         func(e *Evidence) bool { return len(e.Cgroups) > 0 || e.CgroupTotals != nil },
	SourcePodLogs:         func(e *Evidence) bool { return hasPodOf(e, "log-dir") },
	SourceHolders:         func(e *Evidence) bool { return e.MountUse != nil },
	SourceAPIDump:         func(e *Evidence) bool { return e.Cluster != nil && e.Cluster.NodeName == "" },
	SourceAPI:             func(e *Evidence) bool { return e.Cluster != nil && e.Cluster.NodeName != "" },
	SourceDisks:           func(e *Evidence) bool { return e.Disks != nil },
	SourceRuntime:         func(e *Evidence) bool { return len(e.Runtimes)+len(e.Sandboxes)+len(e.Containers)+len(e.Images) > 0 },
	SourceRuntimeAnswer:   hasRuntimeAnswer,
	SourceBackings:        func(e *Evidence) bool { return len(e.Backings) > 0 },
	SourceLogs:            func(e *Evidence) bool { return e.Logs != nil },
}

func hasDumpOf(program func(*Dump) bool) func(*Evidence) bool {
	return func(e *Evidence) bool {
		return slices.ContainsFunc(e.Dumps, func(d Dump) bool { return program(&d) })
	}
}

func hasPodOf(e *Evidence, source string) bool {
	return slices.ContainsFunc(e.Pods, func(p kubelet.Pod) bool { return p.Source == source })
}

func hasHealthCheck(e *Evidence) bool {
	return e.Kubelet != nil && slices.ContainsFunc(e.Kubelet.Endpoints, func(at kubelet.Endpoint) bool {
		return strings.Contains(at.URL, "/healthz") && (at.Status == "ok" || at.Status == "unhealthy")
	})
}

func hasRuntimeAnswer(e *Evidence) bool {
	return slices.ContainsFunc(e.Runtimes, func(r runtimes.Runtime) bool { return r.Answer != nil })
}
