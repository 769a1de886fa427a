package checks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// refusal is a mount of which the kubelet's log says that its unmount was refused as busy.
type refusal struct {
	subject forensics.Entity
	events  []logs.Event
	uid     string
	path    string
	// told says that a finding already has it.
	told bool
}

// refusals are the unmounts that still were refused when the log ended, one for each mount.
func refusals(p *forensics.Pass) []*refusal {
	var found []*refusal
	known := map[forensics.Entity]*refusal{}
	for _, e := range events(p, logs.KindUnmountBusy, logs.KindDeviceInUse) {
		if !standsRetry(p, e) {
			continue
		}
		subject := volumeOf(p, e.Subject)
		r := known[subject]
		if r == nil {
			r = &refusal{subject: subject, uid: uidOf(p, e.Subject)}
			known[subject] = r
			found = append(found, r)
		}
		r.events = append(r.events, e)
		r.path = cmp.Or(r.path, e.Path)
	}
	return found
}

// refusalsBySubject are the refusals by what they are about.
func refusalsBySubject(p *forensics.Pass, refused []*refusal) map[forensics.Entity][]*refusal {
	return forensics.Once(p, "refusals by subject", func() map[forensics.Entity][]*refusal {
		by := map[forensics.Entity][]*refusal{}
		for _, r := range refused {
			by[r.subject] = append(by[r.subject], r)
		}
		return by
	})
}

// standsRetry says whether a failure still stood when the log ended: within the time until its next try, and some more.
func standsRetry(p *forensics.Pass, e logs.Event) bool {
	last, end := lastSaid([]logs.Event{e}), kubeletEnd(p)
	return last != nil && end != nil && end.Sub(*last) <= max(endOfLog, time.Duration(2*e.Number)*time.Second) && !undone(p, e)
}

// undone says whether the same volume was unmounted after it failed.
func undone(p *forensics.Pass, failed logs.Event) bool {
	type volume struct{ name, pod string }
	done := forensics.Once(p, "volumes that were unmounted", func() map[volume]time.Time {
		at := map[volume]time.Time{}
		for _, e := range events(p, logs.KindUnmountDone, logs.KindVolumeDetached, logs.KindDeviceUnmounted) {
			if v := (volume{e.UniqueName, e.PodUID}); e.Last != nil && e.Last.After(at[v]) {
				at[v] = *e.Last
			}
		}
		return at
	})
	last := lastSaid([]logs.Event{failed})
	return failed.UniqueName != "" && last != nil && done[volume{failed.UniqueName, failed.PodUID}].After(*last)
}

// volumeOf is what a message about a volume is about: the mount where it is known, else the volume by its path, or by
// its names.
func volumeOf(p *forensics.Pass, s logs.Subject) forensics.Entity {
	if s.Path != "" {
		if list := p.Model.Host().At(s.Path); len(list) > 0 {
			return forensics.MountEntity(list[len(list)-1].ID)
		}
		if _, volume := p.Model.PodOf(s.Path); volume != "" {
			return forensics.Entity{Kind: forensics.KindVolume, ID: volume}
		}
	}
	if list := volumeMounts(p, s.PodUID, s.Volume); len(list) > 0 {
		return list[len(list)-1]
	}
	name := cmp.Or(s.Volume, s.UniqueName, s.Path)
	if s.PodUID != "" {
		name = s.PodUID + "/" + pluginOf(s.UniqueName) + "/" + name
	}
	return forensics.Entity{Kind: forensics.KindVolume, ID: name}
}

// pluginOf is the plugin of a unique name: "kubernetes.io/csi" of "kubernetes.io/csi/driver^handle".
func pluginOf(unique string) string {
	parts := strings.SplitN(unique, "/", 3)
	if len(parts) < 3 {
		return "plugin"
	}
	return parts[0] + "/" + parts[1]
}

// finding is what the log alone says.
func (r *refusal) finding(p *forensics.Pass) forensics.Finding {
	volume := cmp.Or(r.events[0].Volume, r.events[0].UniqueName, r.path)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: r.subject, Pods: uids(r.uid),
		Title: fmt.Sprintf("volume %s of pod %s cannot be unmounted: the target is busy", volume,
			podLabel(p, r.events[0].PodName, r.uid)),
		ConfidenceWhy: "umount said so, in the kubelet's log",
		Detail:        "Somebody holds it: a process with a file or its working directory there, or a mount on it.",
	}
	if ok, _ := p.Evidence.Saw(forensics.SourceHolders); ok {
		f.Detail += " Nobody who does was found on this node now: it may be over, or it is what cannot be seen in /proc. Not visible there: " + unlisted(p) + "."
	} else {
		f.Detail += " Who it is was not looked for."
	}
	if r.path != "" {
		f.Remedies = []forensics.Remedy{{
			Command: withPath("nodeforensics holders ", r.path, "See who holds"), Why: "names the processes and mounts that hold it",
			Risk: "none: it reads, and it does not touch the mount",
		}}
	}
	f.Detail = sentences(f.Detail, asOf(p))
	return r.join(f)
}

// join adds the log to a finding about the same mount.
func (r *refusal) join(f forensics.Finding) forensics.Finding {
	f.Since = earliest(f.Since, firstSaid(r.events))
	var next float64
	for _, e := range r.events {
		next = max(next, e.Number)
	}
	words := fmt.Sprintf("The kubelet was refused %s, from %s to %s", times(said(r.events)), clock(firstSaid(r.events)), clock(lastSaid(r.events)))
	if next > 0 {
		words += ", and waits " + text.Duration(next) + " until its next try"
	}
	f.Detail = sentences(f.Detail, words+".")
	f.Refs = append(f.Refs, quotesOf(r.events...)...)
	return f
}
