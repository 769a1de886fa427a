package collect

import (
	"context"
	"errors"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
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
			dumps, cover := c.memoryDump(ctx, *k)
			c.tell(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{cover}})
		}
		return
	}
	instance := *k
	client, err := c.client(ctx, &instance)
	if err != nil {
		c.tell(forensics.Evidence{Coverage: []forensics.Source{{Source: forensics.SourceCredentials, Status: statusOf(err), Detail: err.Error()}}})
	}
	if k.Unproven != "" && c.opt.KubeletURL == "" && client.HasCredentials() {
		c.tell(forensics.Evidence{Coverage: []forensics.Source{{Source: forensics.SourceCredentials, Status: forensics.SourceDenied, Detail: "no credentials were sent: " + unproven(*k)}}})
	}
	client.KnownPod = c.knownPods()
	health := client.Health(ctx)
	instance.Endpoints = append(instance.Endpoints, health...)
	cover := []forensics.Source{coverEndpoints(forensics.SourceKubeletHealth, health)}
	pods, leftOut, answers := c.kubeletPods(ctx, client)
	instance.Endpoints, instance.PodsLeftOut = append(instance.Endpoints, answers.http), leftOut
	cover = append(cover, answers.cover...)
	metrics, answer := client.Metrics(ctx)
	instance.Endpoints = append(instance.Endpoints, answer)
	cover = append(cover, coverEndpoints(forensics.SourceMetrics, []kubelet.Endpoint{answer}))
	instance.Metrics = metrics
	part := forensics.Evidence{Pods: pods, Coverage: cover}
	if len(c.opt.Goroutines) == 0 {
		dumps, answers := c.dumps(ctx, client, k.PID)
		instance.Endpoints = append(instance.Endpoints, answers...)
		part.Coverage = append(part.Coverage, coverEndpoints(forensics.SourceGoroutines, answers))
		if len(dumps) == 0 && k.PID != 0 { // by default only who may do anything on the node gets a dump
			var cover forensics.Source
			dumps, cover = c.memoryDump(ctx, *k)
			part.Coverage = append(part.Coverage, cover)
		} else if len(dumps) > 0 {
			part.Coverage = append(part.Coverage, c.confirm(ctx, *k, dumps)...)
		}
		part.Dumps = dumps
	}
	instance.Version, instance.VersionFrom = version(instance, part.Dumps)
	part.Kubelet = &instance
	c.tell(part)
	c.again(ctx, client, instance, part.Dumps)
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
