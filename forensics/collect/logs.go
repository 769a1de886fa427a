package collect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	logslive "github.com/nodeforensics/nodeforensics/forensics/logs/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

const (
	// logsLimit bounds the reading of logs; what was read until then counts.
	logsLimit = 20 * time.Second
	// logsStall is how long one log may not answer, so that the others are read.
	logsStall = 5 * time.Second
)

// readLogs reads the logs of the node, or those that were given.
func (c *collector) readLogs(ctx context.Context) {
	if c.opt.NoLogs {
		c.absent("not collected (--no-logs)", forensics.SourceLogs)
		return
	}
	c.read(ctx, forensics.SourceLogs, logsLimit, func(ctx context.Context) (forensics.Evidence, error) {
		now := c.started
		if !c.fs.Live() {
			if last := logslive.LastWritten(c.fs); last.Before(now) && !last.IsZero() { // when the node died, or soon before
				now = last
			}
		}
		var since time.Time
		if c.opt.LogsSince > 0 {
			since = now.Add(-c.opt.LogsSince)
		}
		var sources []logs.Source
		var notes []logs.File
		if len(c.opt.Logs) > 0 {
			own, err := hostfs.Open("/")
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = own.Close() }()
			for _, name := range c.opt.Logs {
				sources = append(sources, logslive.FileSource(own, name, ""))
			}
		} else {
			own, close, err := c.kubeletLogFS(ctx)
			defer close()
			sources, notes = logslive.Find(ctx, c.fs, logslive.FindOptions{
				Since: since, PodLogs: c.podLogsDir(), Kubelet: c.kubeletLogs(), KubeletFS: own, KubeletUnit: c.kubeletUnit(),
			})
			if err != nil {
				notes = append(notes, logs.File{Path: "files of the kubelet", Origin: "kubelet", Status: string(statusOf(err)), Detail: err.Error()})
			}
		}
		story := logslive.Read(ctx, sources, logs.Options{Since: since, Now: now, Zone: c.zone(), Boot: c.boot(), Stall: logsStall}, c.opt.Calls)
		return read.Logs(story, notes...)
	})
}

// sooner is a context that ends earlier than its parent by some time.
func sooner(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-by))
	}
	return context.WithCancel(ctx)
}

// kubeletLogs are the files that the kubelet writes to, as it sees them: those of its flags (--log-file was removed in 1.26; k3s has
// --log, rke2 a file below its data directory) and where its output goes.
func (c *collector) kubeletLogs() []string {
	k := c.seen().Kubelet
	if k == nil || k.Unproven != "" && c.inOtherMountNS(k) { // a pod's process would name its files there
		return nil
	}
	names := []string{k.Flags["log-file"], k.Flags["log"]}
	if dir := k.Flags["data-dir"]; k.Program == "rke2" && dir != "" {
		names = append(names, path.Join(dir, "agent/logs/kubelet.log"))
	}
	if k.PID != 0 && c.fs.Live() {
		for _, descriptor := range []string{"1", "2"} {
			if name, err := c.fs.ReadLink(fmt.Sprintf("/proc/%d/fd/%s", k.PID, descriptor)); err == nil {
				names = append(names, name)
			}
		}
	}
	names = sorting.Delete(names, func(name string) bool {
		return !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/dev/") || strings.HasSuffix(name, " (deleted)")
	})
	return slices.Compact(names)
}

// kubeletUnit is the systemd service that the kubelet runs in, by its cgroup, without the suffix; "" where it is in none of its own. It is
// for a service of another name than the usual ones (install.sh of k3s: INSTALL_K3S_NAME).
func (c *collector) kubeletUnit() string {
	e := c.seen()
	if e.Kubelet == nil || e.Kubelet.PID == 0 || e.Kubelet.Unproven != "" {
		return ""
	}
	i := slices.IndexFunc(e.Processes, func(p procs.Process) bool {
		return p.PID == e.Kubelet.PID && p.StartTicks == e.Kubelet.StartTicks
	})
	if i < 0 {
		return ""
	}
	return unitOf(e.Processes[i].Cgroup)
}

// unitName is what systemd.unit(5) allows in a name, without the instances of a template: user@1000 has much besides.
var unitName = pattern.New(`^[A-Za-z0-9:_.-]+$`)

// unitOf is the service of a cgroup (/system.slice/k3s-edge.service). The services of runtimes and of logins have others' lines.
func unitOf(cgroup string) string {
	for name := range strings.SplitSeq(cgroup, "/") {
		unit, ok := strings.CutSuffix(name, ".service")
		if ok && unitName.MatchString(unit) && !cri.IsUnit(unit) && unit != "ssh" && unit != "sshd" {
			return unit
		}
	}
	return ""
}

// kubeletLogFS are the files as the kubelet sees them, nil where it sees the node's: in a container with the node's root below
// /host, chroot leads to the same files, but the kubelet is in another mount namespace all the same.
func (c *collector) kubeletLogFS(ctx context.Context) (fsys *hostfs.FS, done func(), err error) {
	none := func() {}
	k := c.seen().Kubelet
	if k == nil || k.Unproven != "" || !c.inOtherMountNS(k) {
		return nil, none, nil
	}
	ctx, cancel := context.WithTimeout(ctx, logsStall)
	defer cancel()
	fsys, err = probe.Do(ctx, c.opt.Calls, "root directory of the kubelet, for its log", func() (*hostfs.FS, error) {
		return kubeletlive.ProcessFS(c.fs, k.PID)
	})
	if err != nil {
		return nil, none, fmt.Errorf("its files cannot be reached: %w", err)
	}
	return fsys, func() { _ = fsys.Close() }, nil
}

func (c *collector) boot() time.Time {
	if boot := c.seen().Node.Boot; boot != nil {
		return *boot
	}
	return time.Time{}
}

// zone is the zone of the node's clock: /etc/localtime is tzfile(5), by whatever name. UTC where there is none, as
// tzset(3) has it.
func (c *collector) zone() *time.Location {
	data, err := c.fs.ReadFile("/etc/localtime", 1<<20)
	if err != nil {
		return time.UTC
	}
	name := "the time zone of the node"
	if target, err := c.fs.ReadLink("/etc/localtime"); err == nil {
		if _, after, ok := strings.Cut(target, "zoneinfo/"); ok {
			name = after
		}
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return time.UTC
	}
	return zone
}
