// Package fsview is how checks look at one file system: how it answers, who waits for it, which process serves it, what the kernel's log
// says of its server or disk.
package fsview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Superblock is one file system with trouble: all its mounts are one subject and one finding.
type Superblock struct {
	Device string
	Health mounts.Health
	Mounts []mounts.Mount
	// Kubelet are those of its mounts that are below the kubelet's root directory.
	Kubelet []mounts.Mount
}

// Superblocks lists the file systems whose worst health is status, in the order of the evidence.
func Superblocks(p *forensics.Pass, status mounts.Status) []Superblock {
	var found []Superblock
	seen := map[string]bool{}
	for _, h := range p.Model.MountHealth() {
		worst, _ := p.Model.Health(h.Device)
		is := worst.Status
		if b, _ := p.Model.Backing(h.Device); is == mounts.StatusDenied && b.Fault == backing.FaultBlocklisted {
			is = mounts.StatusDisconnected // the CephFS client answers EACCES then (Linux 6.1)
		}
		if is != status || seen[h.Device] {
			continue
		}
		seen[h.Device] = true
		s := Superblock{Device: h.Device, Health: worst, Mounts: p.Model.MountsOf(h.Device)}
		for _, m := range s.Mounts {
			if p.Model.BelowKubelet(m.MountPoint) {
				s.Kubelet = append(s.Kubelet, m)
			}
		}
		found = append(found, s)
	}
	return found
}

// Entity is the superblock as an entity.
func (s Superblock) Entity() forensics.Entity {
	return forensics.Entity{Kind: forensics.KindSuperblock, ID: s.Device}
}

// Mount is the one for remedies: one below the kubelet's directory if there is one.
func (s Superblock) Mount() mounts.Mount {
	switch {
	case len(s.Kubelet) > 0:
		return s.Kubelet[0]
	case len(s.Mounts) > 0:
		return s.Mounts[0]
	}
	return mounts.Mount{MountPoint: s.Health.MountPoint, ID: s.Health.MountID, Device: s.Device, Class: mounts.ClassUnknown}
}

// Label names the file system as its owner knows it: "CephFS 10.0.0.5:6789:/k8s", "s3fs at /mnt/data".
func (s Superblock) Label() string {
	m := s.Mount()
	if m.FSType == "" && s.Device == m.MountPoint { // a text names nothing else
		if m.MountPoint == hearsay.Unnamed {
			return "A file system"
		}
		return "File system at " + m.MountPoint
	}
	if m.FSType == "" {
		return "File system " + s.Device + " at " + m.MountPoint
	}
	return label(m)
}

// label names a file system, with a mount point if its source says no more than its type.
func label(m mounts.Mount) string {
	text := fsfamily.Label(m.FSType, m.Source)
	if !strings.Contains(text, " ") {
		text += " at " + m.MountPoint
	}
	return text
}

// Saved says that the file system is known by a text alone that somebody saved.
func (s Superblock) Saved() bool { return len(s.Mounts) > 0 && s.Mounts[0].ID < 0 }

// Where lists its mount points.
func (s Superblock) Where() string {
	const most = 3
	var points []string
	for _, m := range s.Mounts[:min(len(s.Mounts), most)] {
		point := m.MountPoint
		if m.ID > 0 {
			point += fmt.Sprintf(" (mount %d)", m.ID)
		}
		points = append(points, point)
	}
	text := strings.Join(points, ", ")
	if more := len(s.Mounts) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// KubeletWaits says whether a thread of the kubelet waits for this file system.
func (s Superblock) KubeletWaits(p *forensics.Pass) bool {
	k := p.Evidence.Kubelet
	return k != nil && k.PID != 0 && slices.ContainsFunc(stall.Waiters(p, s.Device), func(w stall.Waiter) bool { return w.Thread.PID == k.PID })
}

func (s Superblock) ref() forensics.Ref {
	h := s.Health
	words := fmt.Sprintf("%s: %s", h.MountPoint, h.Status)
	if h.Call != "" {
		words += ", " + h.Call
	}
	if h.Error != "" {
		words += ": " + h.Error
	}
	words += fmt.Sprintf(", %s after %s", h.Method, text.Duration(h.Seconds))
	if h.Reason != "" {
		words += "; " + h.Reason
	}
	if len(h.Waiting) > 0 {
		words += fmt.Sprintf("; FUSE requests waiting: %v", h.Waiting)
	}
	return forensics.Ref{Source: forensics.SourceHealth + ":" + s.Device, Excerpt: words}
}

// refs are the answer of the mount and its line in the mount table.
func (s Superblock) refs() []forensics.Ref {
	refs := []forensics.Ref{s.ref()}
	m := s.Mount()
	if m.FSType != "" && m.ID > 0 {
		refs = append(refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceMounts, m.ID),
			Excerpt: fmt.Sprintf("%d %d %s %s %s %s - %s %s %s", m.ID, m.ParentID, m.Device, m.Root, m.MountPoint, m.Options, m.FSType, m.Source, m.SuperOptions),
		})
	}
	return refs
}

// Finding is the part that all findings about a file system share.
func (s Superblock) Finding(p *forensics.Pass, severity forensics.Severity, title string) forensics.Finding {
	f := forensics.Finding{
		Severity: severity, Title: title, Subject: s.Entity(), Confidence: forensics.Certain, Since: s.Health.Since,
		Refs: s.refs(), Pods: p.Model.PodsOf(s.Device),
	}
	if s.Saved() {
		f.Confidence = forensics.Likely
	}
	return f
}

// Behind says what the kernel's tables show of the server or disk, "" if they show nothing, and where that was read.
func Behind(p *forensics.Pass, device string) (string, []forensics.Ref) {
	b, ok := p.Model.Backing(device)
	if !ok || b.Fault == backing.FaultNone {
		return "", nil
	}
	text := map[backing.Fault]string{
		backing.FaultUnreachable: "The server is not reachable",
		backing.FaultRefused:     "The server's host is up, its service is not",
		backing.FaultLost:        "The server is not connected",
		backing.FaultSilent:      "The server is reachable and does not respond",
		backing.FaultBlocklisted: "The server has evicted this client",
		backing.FaultRejected:    "The session with the server has ended or hangs",
		backing.FaultOffline:     "The disk does not accept requests",
		backing.FaultSuspended:   "The disk is suspended",
		backing.FaultNoPath:      "The disk has no path left",
		backing.FaultBusy:        "The disk has not completed its requests",
	}[b.Fault]
	excerpt := b.Why
	for _, c := range b.Connections[:min(len(b.Connections), 4)] {
		excerpt += fmt.Sprintf("\n%s %s, %d bytes not acknowledged, %d retransmissions", c.Remote, c.State, c.UnackedBytes, c.Retransmits)
	}
	return " " + text + ": " + b.Why + ".", []forensics.Ref{{Source: forensics.SourceBackings + ":" + device, Excerpt: excerpt}}
}

// Unjudged tells the pass which mounts could not be judged.
func Unjudged(p *forensics.Pass) {
	var late, not []string
	for _, h := range p.Model.MountHealth() {
		switch h.Status {
		case mounts.StatusUnanswered:
			if h.Seconds == 0 { // which a text shows, and not for how long
				continue
			}
			late = append(late, fmt.Sprintf("%s (no answer for %s when the examination ended)", h.MountPoint, text.Duration(h.Seconds)))
		case mounts.StatusNotProbed:
			if m, ok := p.Model.Mount(h.MountID); ok && (m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE) {
				not = append(not, fmt.Sprintf("%s (%s)", h.MountPoint, h.Reason))
			}
		}
	}
	for _, list := range [][]string{late, not} {
		if len(list) > 0 {
			p.Unjudged("%s not judged: %s", text.Plural(len(list), "mount"), findings.Some(list))
		}
	}
}

// Needs is what checks about the answers of mounts need.
var Needs = []forensics.Need{{forensics.SourceMounts}, {forensics.SourceHealth}}
