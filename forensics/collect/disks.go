package collect

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	evictionlive "github.com/nodeforensics/nodeforensics/forensics/eviction/live"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// statfsLimit is how long one file system may take to tell its size.
const statfsLimit = 2 * time.Second

// disks finds the file systems of the kubelet and the runtime, and counts those that are near a threshold.
func (c *collector) disks(ctx context.Context) {
	limit := 2*readLimit + max(c.opt.DiskUsage, evictionlive.DefaultBudget)
	c.opt.Progress("measuring disk space")
	c.read(ctx, forensics.SourceDisks, limit, c.measureDisks)
}

// A view is a mount namespace, by files and by table; offline there is no table.
type view struct {
	fs    *hostfs.FS
	table *mounts.Index
}

// A measurer is one run of measureDisks.
type measurer struct {
	*collector
	evidence forensics.Evidence
	model    *forensics.Model
	state    *eviction.State
	rooted   string // the runtime's root directory as it calls it, which may lead through symbolic links
	host     view
	views    map[string]view         // of a place, by device
	mounts   map[string]mounts.Mount // by device: the mount that a place lies on
	problems []error
}

func (c *collector) measureDisks(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	k := e.Kubelet
	if k == nil || k.CanonicalRoot == "" {
		return forensics.Evidence{}, fmt.Errorf("the root directory of the kubelet is not known: %w", fs.ErrNotExist)
	}
	node, done, err := c.kubeletFS(k)
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer done()
	m := measurer{
		collector: c, evidence: e, model: forensics.NewModel(&e), host: view{fs: c.fs}, views: map[string]view{}, mounts: map[string]mounts.Mount{},
		state: &eviction.State{Places: []eviction.Place{}, FileSystems: []eviction.FileSystem{}, Usage: []eviction.Usage{}},
	}
	inside := view{fs: node}
	if c.fs.Live() {
		table := c.kubeletTable()
		m.host.table, inside.table = e.Mounts.Index(), table.Index()
	}
	settings := e.DiskSettings(m.model.KubeletMinor())
	m.state.Thresholds, m.state.ImageGC, m.state.Problems = settings.Thresholds(), settings.ImageGC(), settings.Problems()
	m.state.Assumed = assumed(k)
	m.place(ctx, inside, eviction.RoleNode, k.CanonicalRoot, "root directory of the kubelet")
	store := m.placeStore(ctx, k)
	m.place(ctx, m.host, eviction.RolePodLogs, podLogDir(k), "container logs")
	m.place(ctx, m.host, eviction.RoleSystemLogs, "/var/log", "system logs")
	early := *m.state // counting may take longer than there is time
	early.FileSystems = slices.Clone(early.FileSystems)
	early.NotWalked = "the timeout expired"
	c.tell(forensics.Evidence{Disks: &early})
	m.walk(ctx, eviction.Layout{
		KubeletRoot: m.pathOf(eviction.RoleNode), PodLogs: m.pathOf(eviction.RolePodLogs), Runtime: store.Runtime, Root: store.Root,
		Images: store.Images, Writable: m.writable(store),
	})
	part := forensics.Evidence{Disks: m.state}
	if len(m.problems) > 0 {
		part.Coverage = []forensics.Source{{
			Source: forensics.SourceDisks, Status: forensics.SourceTruncated,
			Detail: fmt.Sprintf("%s; first: %v", text.Plural(len(m.problems), "problem"), m.problems[0]),
		}}
	}
	return part, nil
}

// assumed says why a kubelet may have other thresholds than its settings show.
func assumed(k *kubelet.Instance) string {
	switch {
	case len(k.ConfigUnread) > 0:
		return k.ConfigUnread[0] + " could not be read"
	case k.Config == nil && k.PID == 0:
		return "no kubelet configuration was found"
	}
	return ""
}

func podLogDir(k *kubelet.Instance) string {
	if k.Config != nil && k.Config.PodLogsDir != "" {
		return k.Config.PodLogsDir
	}
	return "/var/log/pods"
}
