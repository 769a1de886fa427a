package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// askKubelet asks the kubelet's HTTP endpoints. A kubelet that does not answer costs one time limit for each.
func (c *collector) askKubelet(ctx context.Context) {
	k := c.seen().Kubelet
	if len(c.opt.Goroutines) > 0 {
		c.dumpFiles(ctx)
	}
	if k == nil || k.PID == 0 && c.opt.KubeletURL == "" {
		c.absent("no kubelet runs", forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics)
		if len(c.opt.Goroutines) == 0 {
			c.absent("no kubelet runs", forensics.SourceGoroutines)
		}
		return
	}
	if k.State == "T" && c.opt.KubeletURL == "" { // the kernel takes its connections, and every question would time out
		c.absent("the kubelet is stopped by a signal", forensics.SourceKubeletHealth, forensics.SourceKubeletPods, forensics.SourceMetrics)
		if len(c.opt.Goroutines) == 0 {
			c.absent("the kubelet is stopped by a signal", forensics.SourceGoroutines)
		}
		return
	}
	instance := *k
	client, err := c.client(ctx, &instance)
	if err != nil {
		c.tell(forensics.Evidence{Coverage: []forensics.Source{{Source: forensics.SourceCredentials, Status: statusOf(err), Detail: err.Error()}}})
	}
	if k.Unproven != "" && c.opt.KubeletURL == "" && client.HasCredentials() {
		c.tell(forensics.Evidence{Coverage: []forensics.Source{{Source: forensics.SourceCredentials, Status: forensics.SourceDenied, Detail: "none were sent: " + unproven(*k)}}})
	}
	client.KnownPod = c.knownPods()
	health := client.Health(ctx)
	instance.Endpoints = append(instance.Endpoints, health...)
	cover := []forensics.Source{coverEndpoints(forensics.SourceKubeletHealth, health)}
	pods, leftOut, answer := client.Pods(ctx)
	instance.Endpoints = append(instance.Endpoints, answer)
	listed := coverEndpoints(forensics.SourceKubeletPods, []kubelet.Endpoint{answer})
	if leftOut > 0 {
		listing := fmt.Sprintf("it lists %d pods; %d of which nothing else is known here are left out", len(pods)+leftOut, leftOut)
		listed.Detail = strings.TrimPrefix(listed.Detail+"; "+listing, "; ")
	}
	cover = append(cover, listed)
	metrics, answer := client.Metrics(ctx)
	instance.Endpoints = append(instance.Endpoints, answer)
	cover = append(cover, coverEndpoints(forensics.SourceMetrics, []kubelet.Endpoint{answer}))
	instance.Metrics = metrics
	part := forensics.Evidence{Pods: pods, Coverage: cover}
	if len(c.opt.Goroutines) == 0 {
		dumps, answers := c.dumps(ctx, client, k.PID)
		instance.Endpoints = append(instance.Endpoints, answers...)
		part.Dumps = dumps
		part.Coverage = append(part.Coverage, coverEndpoints(forensics.SourceGoroutines, answers))
	}
	instance.Version, instance.VersionFrom = version(instance, part.Dumps)
	part.Kubelet = &instance
	c.tell(part)
	c.again(ctx, client, instance, part.Dumps)
}

// knownPods says of a UID whether something on this node is of that pod: what the kubelet's list says of it is decisive then.
func (c *collector) knownPods() func(uid string) bool {
	e := c.seen()
	known := map[string]bool{}
	for i := range e.PodDirs {
		known[e.PodDirs[i].UID] = true
	}
	for i := range e.Pods {
		known[e.Pods[i].UID] = true
	}
	for i := range e.Cgroups {
		known[e.Cgroups[i].PodUID] = true
	}
	for i := range e.Processes {
		known[e.Processes[i].PodUID] = true
	}
	for i := range e.Sandboxes {
		known[e.Sandboxes[i].PodUID] = true
	}
	for i := range e.Containers {
		known[e.Containers[i].PodUID] = true
	}
	for i := range e.Mounts.Mounts {
		if parts := poduid.Path.FindStringSubmatch(e.Mounts.Mounts[i].MountPoint); parts != nil {
			known[parts[1]] = true
		}
	}
	return func(uid string) bool { return known[uid] }
}

// version completes the kubelet's version from a dump where nothing else told it.
func version(k kubelet.Instance, dumps []forensics.Dump) (value, from string) {
	if v := kubelet.VersionFromMetrics(k.Metrics); v != "" {
		return v, "metrics"
	}
	if k.Version != "" {
		return k.Version, k.VersionFrom
	}
	for _, d := range dumps {
		if v, ok := goroutines.KubeletVersion(d.Dump); ok {
			return strings.TrimPrefix(v, "v"), "dump"
		}
	}
	return "", ""
}

// client is what the kubelet is asked with. Credentials that cannot be read are an error, and the kubelet is then asked
// without them.
func (c *collector) client(ctx context.Context, k *kubelet.Instance) (*kubeletlive.Client, error) {
	client := &kubeletlive.Client{Instance: k, FS: c.fs, Group: c.opt.Calls, URL: c.opt.KubeletURL, Token: c.opt.Token}
	var errs []error
	read := func(name string) []byte {
		if name == "" {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, readLimit)
		defer cancel()
		text, err := probe.Do(ctx, c.opt.Calls, "file "+name, func() ([]byte, error) { return readOwn(name, 1<<20) })
		errs = append(errs, err)
		return text
	}
	if token := strings.TrimSpace(string(read(c.opt.TokenFile))); token != "" {
		client.Token = token
	}
	client.ClientCert, client.ClientKey = read(c.opt.ClientCert), read(c.opt.ClientKey)
	return client, errors.Join(errs...)
}

// coverEndpoints sums up the answers to one kind of question: read if one of them was an answer.
func coverEndpoints(source string, endpoints []kubelet.Endpoint) forensics.Source {
	s := forensics.Source{Source: source, Status: forensics.SourceAbsent}
	var details []string
	for _, e := range endpoints {
		s.Seconds += e.Seconds
		s.Bytes += e.Bytes
		status := forensics.SourceAbsent
		switch e.Status {
		case "ok", "unhealthy":
			status = forensics.SourceRead
		case "truncated":
			status = forensics.SourceTruncated
		case "denied":
			status = forensics.SourceDenied
		case "timeout":
			status = forensics.SourceTimeout
		}
		if status != forensics.SourceRead {
			details = append(details, strings.TrimSpace(e.URL+" "+e.Status+" "+e.Detail))
		}
		if !s.Status.Usable() && (status.Usable() || s.Status == forensics.SourceAbsent) {
			s.Status = status
		}
	}
	s.Detail = strings.Join(details, "; ")
	return s
}

// What is kept of the dump of a kubelet that was asked: all of 2,000 goroutines, and of what is beyond these bytes so many
// examples of each kind and numbers.
const (
	liveDump     = 3 << 20
	liveExamples = 8
)

// askGoroutines asks a kubelet for its goroutines and reads the answer as it comes.
func (c *collector) askGoroutines(ctx context.Context, client *kubeletlive.Client, debug, pid int) ([]forensics.Dump, kubelet.Endpoint) {
	var dumps []forensics.Dump
	answer := client.Goroutines(ctx, debug, func(r io.Reader) {
		taken := c.opt.Now().UTC()
		dumps, _ = read.DigestDumps("", r, goroutines.Digester{Bytes: liveDump, Keep: liveExamples})
		for i := range dumps {
			dumps[i].PID, dumps[i].Taken = pid, &taken
		}
	})
	for i := range dumps {
		dumps[i].Source = answer.URL
	}
	return dumps, answer
}

// dumpFiles reads the dumps that were given as files.
func (c *collector) dumpFiles(ctx context.Context) {
	for _, name := range c.opt.Goroutines {
		c.read(ctx, forensics.SourceGoroutines+":"+name, 2*readLimit, func(context.Context) (forensics.Evidence, error) {
			f, err := openOwn(name)
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = f.Close() }()
			dumps, err := read.Dumps(name, f)
			part := forensics.Evidence{Dumps: dumps}
			if cut := read.CutDump(dumps); cut != "" {
				part.Coverage = []forensics.Source{{Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceTruncated, Detail: cut}}
			}
			return part, err
		})
	}
}

// readOwn reads a file of the person who runs this, not of the node that is examined.
func readOwn(name string, limit int64) ([]byte, error) {
	own, err := hostfs.Open("/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.Close() }()
	text, err := own.ReadFile(name, limit)
	return text, ownError(name, err)
}

// openOwn opens one.
func openOwn(name string) (*hostfs.File, error) {
	own, err := hostfs.Open("/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.Close() }()
	f, err := own.OpenFile(name)
	return f, ownError(name, err)
}

func ownError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return err
}
