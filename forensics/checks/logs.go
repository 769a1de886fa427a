package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

var needsLogs = []forensics.Need{{forensics.SourceLogs}}

// story is what the logs told, an empty one where none was read.
func story(p *forensics.Pass) *logs.Story {
	if p.Evidence.Logs == nil {
		return &logs.Story{}
	}
	return p.Evidence.Logs
}

// sawKubeletLog says whether the log of a kubelet was among those that were read; if not, the pass is told.
func sawKubeletLog(p *forensics.Pass) bool {
	s := story(p)
	if s.Loop != nil || len(s.Lives) > 0 {
		return true
	}
	p.Unjudged("no log of a kubelet was read")
	return false
}

// orKubeletLog tells the pass where neither a source nor the kubelet's log was read, of which one is enough.
func orKubeletLog(p *forensics.Pass, source string) {
	if ok, _ := p.Evidence.Saw(source); !ok {
		sawKubeletLog(p)
	}
}

// events lists those of some kinds, in the order of their first.
func events(p *forensics.Pass, kinds ...logs.Kind) []logs.Event {
	var found []logs.Event
	for _, e := range story(p).Events {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// said counts the messages of a list.
func said(list []logs.Event) (n int64) {
	for _, e := range list {
		n += e.Count
	}
	return n
}

// quotes are lines as references, each once, and not more than a person reads.
func quotes(lines ...logs.Quote) []forensics.Ref {
	const most = 8
	var refs []forensics.Ref
	for _, q := range lines {
		r := forensics.LogRef(q)
		if q.Text != "" && len(refs) < most && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	return refs
}

// quotesOf are the lines of events, the first and the last of each.
func quotesOf(list ...logs.Event) []forensics.Ref {
	var lines []logs.Quote
	for _, e := range list {
		lines = append(lines, e.Quotes...)
	}
	return quotes(lines...)
}

// times spells a count of messages.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return forensics.Plural(int(n), "time")
}

// uidOf is the pod's UID, by its name where the line has none; "" if that is not known, or not unique.
func uidOf(p *forensics.Pass, s logs.Subject) string {
	if s.PodUID != "" || s.PodName == "" {
		return s.PodUID
	}
	found := ""
	for _, pod := range p.Evidence.Pods {
		if pod.Namespace+"/"+pod.Name != s.PodName || pod.UID == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = pod.UID
	}
	if found != "" {
		return found
	}
	for _, d := range story(p).Deletions {
		if d.PodName == s.PodName && d.PodUID != "" && d.PodUID != found {
			if found != "" {
				return ""
			}
			found = d.PodUID
		}
	}
	return found
}

// podLabel names a pod by what is known: its name, its UID.
func podLabel(p *forensics.Pass, name, uid string) string {
	if uid != "" {
		if pod := p.Model.Pod(uid); pod.Name != "" {
			return pod.String()
		}
	}
	switch {
	case name != "" && uid != "":
		return name + " (" + uid + ")"
	case name != "":
		return name
	}
	return uid
}

// podOrName is the pod as an entity; by its name where its UID is not known.
func podOrName(name, uid string) forensics.Entity {
	return forensics.Entity{Kind: forensics.KindPod, ID: cmp.Or(uid, name)}
}

func uids(uid string) []string {
	if uid == "" {
		return nil
	}
	return []string{uid}
}

// volumeMounts are the mounts of one volume of a pod, its subpaths included, told by the volume's name.
func volumeMounts(p *forensics.Pass, uid, volume string) []forensics.Entity {
	var found []forensics.Entity
	if uid == "" || volume == "" {
		return nil
	}
	for _, m := range podMounts(p, uid) {
		if _, v := p.Model.PodOf(m.MountPoint); v != "" && strings.HasSuffix(v, "/"+volume) {
			found = append(found, forensics.MountEntity(m.ID))
		}
	}
	return found
}

// withReason adds a reason to those that are there.
func withReason(why, more string) string {
	switch {
	case why == "":
		return more
	case strings.Contains(why, more):
		return why
	}
	return why + "; " + more
}
