package forensics

// SourceStatus says how reading a source went.
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
	// Source is a name of the Source constants, with a colon and a particular behind it where there are several
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
	SourceCPUProfile    = "cpu-profile"
	SourceCredentials   = "kubelet-credentials" // files of the person who runs this; only where reading failed
	SourcePodDirs       = "pod-dirs"
	SourceStaticPods    = "static-pods"
	SourceCgroups       = "cgroups"
	SourcePodLogs       = "pod-log-dirs"
	SourceHolders       = "holders"
	SourceAPIDump       = "api-dump"
	SourceDisks         = "disks"
	SourceRuntime       = "runtime"        // the runtime's files
	SourceRuntimeAnswer = "runtime-answer" // whether its daemon answers
	SourceBackings      = "servers-and-disks"
	SourceLogs          = "logs" // with a colon and the path for each file
	SourceCollector     = "collector"
	SourceAnalysis      = "analysis" // only where judging or writing was cut
)
