package checks

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// reportStatus reports every file system whose worst health is status, as a warning.
func reportStatus(status mounts.Status, title func(superblock) string, detail string,
	remedies func(*forensics.Pass, mounts.Mount) []forensics.Remedy,
) func(*forensics.Pass) {
	return func(p *forensics.Pass) {
		unjudged(p)
		for _, s := range superblocks(p, status) {
			p.Report(statusFinding(p, s, title(s), detail, remedies(p, s.mount())))
		}
	}
}

func statusFinding(p *forensics.Pass, s superblock, title, detail string, remedies []forensics.Remedy) forensics.Finding {
	f := s.finding(p, forensics.Warning, title)
	b, _ := p.Model.Backing(s.device)
	switch status := s.health.Status; {
	case status == mounts.StatusDisconnected && isSMB(s.mount()):
		detail = "It answers every call with an error until its server is back, and goes on connecting by itself:"
	case status == mounts.StatusFrozen && b.Fault == backing.FaultSuspended:
		remedies = []forensics.Remedy{reviveFrom(b, s.mount())}
	}
	f.Detail = fmt.Sprintf("%s %s.", detail, s.where())
	if s.health.Status != mounts.StatusSlow && s.health.Status != mounts.StatusRecovered {
		text, refs := behind(p, s.device)
		f.Detail += text
		f.Refs = append(f.Refs, refs...)
	}
	f.ConfidenceWhy = "the answer was seen"
	f.Remedies = remedies
	switch s.health.Status {
	case mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError:
		if x, ok := passerOf(p, s); ok {
			f = x.tell(p, s, f)
		}
	}
	return withKernel(p, s.mount(), f)
}

func noRemedy(*forensics.Pass, mounts.Mount) []forensics.Remedy { return nil }

// MountStale finds file systems whose object is gone at the server.
var MountStale = forensics.Check{
	ID:    "mount-stale",
	Title: "A mount is stale",
	Doc: `The mount answers ESTALE: the server no longer knows the directory that was mounted, because the export was made
anew or the directory was deleted. It does not heal. The kubelet reports an error and keeps the pod; nothing hangs.`,
	Severity: forensics.Warning,
	Needs:    needsHealth,
	Run: reportStatus(mounts.StatusStale,
		func(s superblock) string { return s.label() + " is stale: the server no longer knows it" },
		"It answers ESTALE and will not recover:", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{unmountDead(p, m)}
		}),
}

// MountDisconnected finds file systems whose server process or client is gone.
var MountDisconnected = forensics.Check{
	ID:    "mount-disconnected",
	Title: "A mount has lost its server",
	Doc: `The mount answers ENOTCONN, ECONNABORTED or ESHUTDOWN: the FUSE server has died or its connection was aborted,
or a network client was thrown out (CephFS then answers EACCES, too, and debugfs says "blocklisted"). It does not heal. Typical after a restart of a CSI driver whose FUSE servers run in
its own pod. A FUSE server that lives passes on what the file system below it answers; then that one is named. The SMB client is different: it answers EHOSTDOWN while it has no connection, and heals when the server is
back.`,
	Severity: forensics.Warning,
	Needs:    needsHealth,
	Run: reportStatus(mounts.StatusDisconnected,
		func(s superblock) string { return s.label() + " has lost its server: " + s.health.Error },
		"It answers every call with an error and will not recover:",
		func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			if isSMB(m) {
				return []forensics.Remedy{revive(m), unmountDead(p, m)}
			}
			return []forensics.Remedy{unmountDead(p, m)}
		}),
}

// MountIOError finds file systems that fail.
var MountIOError = forensics.Check{
	ID:    "mount-io-error",
	Title: "A mount answers with an I/O error",
	Doc: `The mount answers EIO or another error of its device or server: a disk that is gone, a file system that has shut
itself down, a soft mount whose server did not answer in time.

The kernel's log tells it, too, of the device behind a mount: I/O errors, a device that went offline, a file system that
shut itself down or was remounted read-only. That counts also where the mount answers, since ext4 and xfs answer from
memory while their disk is dead; it is then "likely", and a few errors without such an end are information. What
was said before the device was mounted last, by the same log, is not about this file system and does not count.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceMounts}, {forensics.SourceHealth, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		if ok, why := p.Evidence.Saw(forensics.SourceHealth); !ok {
			p.Unjudged("mounts were not asked: %s %s", forensics.SourceHealth, why)
		}
		reportStatus(mounts.StatusIOError,
			func(s superblock) string { return s.label() + " answers with an error: " + s.health.Error },
			"Reading from it fails:", func(*forensics.Pass, mounts.Mount) []forensics.Remedy { return []forensics.Remedy{dmesgRemedy()} })(p)
		for _, f := range failingByKernel(p) {
			p.Report(f)
		}
	},
}

func dmesgRemedy() forensics.Remedy {
	return forensics.Remedy{
		Command: "dmesg -T | tail -n 200",
		Why:     "the kernel says why: a lost disk, a shut down file system, a server that did not answer",
		Risk:    "none: it reads. Check a file system (fsck, xfs_repair) only when it is unmounted",
	}
}

// MountSlow finds file systems that answer late.
var MountSlow = forensics.Check{
	ID:    "mount-slow",
	Title: "A file system answers late",
	Doc: `The mount answered, but after more than a second, or it did not answer at first and did before the end of the
examination. It is not dead. The kubelet's housekeeping waits for every such answer (it complains after 15 s from 1.22
on, after 1 s from 1.27 on), so a slow mount can delay all pods of the node.`,
	Severity: forensics.Warning,
	Needs:    needsHealth,
	Run: func(p *forensics.Pass) {
		reportStatus(mounts.StatusSlow,
			func(s superblock) string {
				return fmt.Sprintf("%s is slow: it answered after %s", s.label(), text.Duration(s.health.Seconds))
			}, "It answers, so leave it mounted:", noRemedy)(p)
		reportStatus(mounts.StatusRecovered,
			func(s superblock) string {
				return fmt.Sprintf("%s has recovered: it did not answer for %s, then did", s.label(), text.Duration(s.health.Seconds))
			}, "It answers again:", noRemedy)(p)
	},
}

// MountFrozen finds file systems that were frozen on purpose.
var MountFrozen = forensics.Check{
	ID:    "mount-frozen",
	Title: "A file system is frozen",
	Doc: `A thread waits for write access to a file system that somebody has frozen (fsfreeze(8), a snapshot or backup
agent, dmsetup suspend). The disk is well: writes wait until it is thawed, and reads work unless its device is
suspended. A frozen file system that nobody writes to is not noticed: asking for that would need a write.`,
	Severity: forensics.Warning,
	Needs:    needsHealth,
	Run: reportStatus(mounts.StatusFrozen,
		func(s superblock) string { return s.label() + " is frozen: writers wait" },
		"Somebody froze it, writes wait until it is thawed:", func(p *forensics.Pass, m mounts.Mount) []forensics.Remedy {
			return []forensics.Remedy{{
				Command:      thaw(p, m),
				Why:          "lets the waiting writers go on",
				Precondition: "no backup or snapshot is being taken: ask the owner of the backup agent first",
				Risk:         "a snapshot that is being taken becomes inconsistent",
			}}
		}),
}

// thaw is the command that thaws a file system by one of its mounts on the host.
func thaw(p *forensics.Pass, m mounts.Mount) string {
	if host, here := p.Model.Host().ByID(m.ID); !here || host.MountPoint != m.MountPoint || p.Model.InVolume(m.MountPoint) {
		return "Have it thawed by whoever froze it (fsfreeze -u): by its path " + quote(m.MountPoint) + ", the host may reach another one"
	}
	return withPath("fsfreeze -u ", m.MountPoint, "Thaw the file system at")
}
