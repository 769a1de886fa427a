package checks

import (
	"cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
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
