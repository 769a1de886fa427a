package collect

import (
	"cmp"
	"sync"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Options say what [Collect] examines. The zero value examines the live machine with default limits.
type Options struct {
	// Root is the directory that the host's files are under, "/" by default. Another directory is the disk of another
	// node: then nothing of this machine (processes, mounts, the kubelet's endpoints) is read.
	Root string `json:"root,omitempty"`
	// KubeletRoot overrides the kubelet's root directory, which is otherwise found from its flags.
	KubeletRoot string `json:"kubelet_root,omitempty"`
	// HungAfter is the time without a response after which a mount is hung; 15 s by default. SlowAfter is when it is
	// slow; 1 s by default.
	HungAfter time.Duration `json:"hung_after,omitempty"`
	SlowAfter time.Duration `json:"slow_after,omitempty"`
	// NoProbe accesses no mount: only mounts on which threads wait are reported.
	NoProbe bool `json:"no_probe,omitempty"`
	// KubeletURL overrides the address of the kubelet's API ("https://127.0.0.1:10250"). Token and TokenFile, or
	// ClientCert and ClientKey (files), are the credentials for it.
	KubeletURL string `json:"kubelet_url,omitempty"`
	Token      string `json:"token,omitempty"`
	TokenFile  string `json:"token_file,omitempty"`
	ClientCert string `json:"client_cert,omitempty"`
	ClientKey  string `json:"client_key,omitempty"`
	// Goroutines are files with goroutine dumps of the kubelet, absolute; when given, none is requested from the
	// kubelet.
	Goroutines []string `json:"goroutines,omitempty"`
	// Logs are log files, absolute; when given, no other logs are read. LogsSince is how old log lines may be, before
	// now or before the last line of a dead node: by default 24 h, and any age for logs that are given. NoLogs reads
	// none.
	Logs      []string      `json:"logs,omitempty"`
	LogsSince time.Duration `json:"logs_since,omitempty"`
	NoLogs    bool          `json:"no_logs,omitempty"`
	// APIDumps are files with objects of the API ("kubectl get pods,nodes,pvc,pv -A -o json"), absolute.
	APIDumps []string `json:"api_dumps,omitempty"`
	// API asks the API server in the kubelet's kubeconfig, with the kubelet's own client certificate or token, for the pods of this node and
	// its Node object.
	API bool `json:"api,omitempty"`
	// Interval is the time after which a second goroutine dump of the kubelet is taken, if the first shows a goroutine
	// blocked where a healthy one is not; 5 s by default, negative takes none.
	Interval time.Duration `json:"interval,omitempty"`
	// CPUProfile is the duration of a CPU profile of the kubelet; 0 takes none.
	CPUProfile time.Duration `json:"cpu_profile,omitempty"`
	// DiskUsage is the time for counting what uses the file systems of the kubelet and the runtime. By default, those
	// near a threshold are counted for 2 s; negative counts none.
	DiskUsage time.Duration `json:"disk_usage,omitempty"`
	// Version and Command are written into the evidence. RedactKey keys the placeholders of masked secrets; without
	// it they can be guessed.
	Version   string   `json:"version,omitempty"`
	Command   []string `json:"command,omitempty"`
	RedactKey []byte   `json:"redact_key,omitempty"`

	// Emit, if set, receives every part of the evidence as soon as it is read, from one goroutine at a time.
	Emit func(forensics.Evidence) `json:"-"`
	// Progress, if set, is told what is being done, from one goroutine at a time.
	Progress func(string) `json:"-"`
	// Self are further processes of the examination, such as the parent of this one: their open files are left out.
	Self []int `json:"self,omitempty"`
	// Calls, if set, records the calls that do not return.
	Calls *probe.Group `json:"-"`
	// Now is the clock; time.Now by default.
	Now func() time.Time `json:"-"`
}

// The defaults of [Options].
const (
	DefaultSlowAfter = time.Second
	DefaultInterval  = 5 * time.Second
	DefaultLogsSince = 24 * time.Hour
)

// self are the processes of the examination.
func (o Options) self() []int { return append([]int{selfPID()}, o.Self...) }

func (o Options) withDefaults() Options {
	o.Root = cmp.Or(o.Root, "/")
	o.HungAfter = cmp.Or(o.HungAfter, forensics.DefaultHungAfter)
	if len(o.Logs) == 0 {
		o.LogsSince = cmp.Or(o.LogsSince, DefaultLogsSince)
	}
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.SlowAfter = min(cmp.Or(o.SlowAfter, DefaultSlowAfter), o.HungAfter)
	if o.Calls == nil {
		o.Calls = &probe.Group{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if progress := o.Progress; progress == nil {
		o.Progress = func(string) {}
	} else {
		var one sync.Mutex
		o.Progress = func(s string) {
			one.Lock()
			defer one.Unlock()
			progress(s)
		}
	}
	if o.Emit == nil {
		o.Emit = func(forensics.Evidence) {}
	}
	return o
}
