package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	apilive "github.com/nodeforensics/nodeforensics/forensics/apidump/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// apiDumps reads the dumps of the API that were given as files.
func (c *collector) apiDumps(ctx context.Context) {
	if len(c.opt.APIDumps) == 0 {
		c.absent("no file was given (--api-dump FILE)", forensics.SourceAPIDump)
	}
	for _, name := range c.opt.APIDumps {
		c.read(ctx, forensics.SourceAPIDump+":"+name, 6*readLimit, func(context.Context) (forensics.Evidence, error) {
			own, err := hostfs.Open("/")
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = own.Close() }()
			f, err := own.OpenFile(name)
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = f.Close() }()
			part, err := read.APIDump(name, f.ModTime(), f)
			if part.Cluster != nil {
				part.Coverage[0].Bytes = f.Size()
			}
			return part, err
		})
	}
}

// apiLimit bounds the two requests to the API server, and the files that they need.
const apiLimit = 13 * time.Second

// apiServer asks the API server for the pods of this node. The pod directories have been listed before, so that a pod that is added in
// between is not taken for an orphan.
func (c *collector) apiServer(ctx context.Context) {
	if !c.opt.API {
		return
	}
	c.read(ctx, forensics.SourceAPI, apiLimit, func(ctx context.Context) (forensics.Evidence, error) {
		k := c.seen().Kubelet
		if k == nil {
			return forensics.Evidence{}, fmt.Errorf("no kubelet was found, so no kubeconfig: %w", fs.ErrNotExist)
		}
		fsys, done, err := c.kubeletFS(k)
		if err != nil {
			return forensics.Evidence{}, err
		}
		defer done()
		if k.PID != 0 {
			if err := procstat.Same(c.fs, k.PID, k.StartTicks); err != nil {
				return forensics.Evidence{}, err
			}
		}
		dump, server, err := apilive.Objects(ctx, fsys, k, cmp.Or(k.NodeName, c.seen().Node.Name))
		return apiObjects(dump, server, c.opt.Now(), err)
	})
}

// apiObjects are what an API server has said at some time. Where its list of pods is whole, it also stands for the kubelet's.
func apiObjects(dump apidump.Dump, server string, now time.Time, err error) (forensics.Evidence, error) {
	if dump.NodeName == "" { // a part of a list proves nothing
		if errors.Is(err, nodefs.ErrTruncated) {
			err = fmt.Errorf("%s: more than is read: not used", server)
		} else if server != "" && err != nil {
			err = fmt.Errorf("%s: %w", server, err)
		}
		return forensics.Evidence{}, err
	}
	dump.Trim()
	now = now.UTC()
	dump.Saved = &now
	said := fmt.Sprintf("%s lists %s on node %s", server, text.Plural(len(dump.Pods), "pod"), dump.NodeName)
	covered := said
	if err != nil {
		covered += "; " + err.Error()
	}
	part := forensics.Evidence{Cluster: &dump, Coverage: []forensics.Source{{Source: forensics.SourceAPI, Status: forensics.SourceRead, Detail: covered}}}
	if len(dump.Pods) > 0 { // of an empty list nothing follows
		part.Coverage = append(part.Coverage, forensics.Source{Source: forensics.SourceKubeletPods + ":api", Status: forensics.SourceRead, Detail: said})
	}
	return part, nil
}
