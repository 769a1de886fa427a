package unmounts

import (
	"cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// Refusal is a mount whose unmount, by the kubelet's log, was refused as busy.
type Refusal struct {
	Subject forensics.Entity
	Events  []logs.Event
	UID     string
	Path    string
	// Reported says that a finding already has it.
	Reported bool
}

// Refusals are the unmounts that still were refused when the log ended, one for each mount.
func Refusals(p *forensics.Pass) []*Refusal {
	var found []*Refusal
	known := map[forensics.Entity]*Refusal{}
	for _, e := range logview.Events(p, logs.KindUnmountBusy, logs.KindDeviceInUse) {
		if !logview.Unresolved(p, e) {
			continue
		}
		subject := logview.VolumeEntity(p, e.Subject)
		r := known[subject]
		if r == nil {
			r = &Refusal{Subject: subject, UID: logview.UIDOf(p, e.Subject)}
			known[subject] = r
			found = append(found, r)
		}
		r.Events = append(r.Events, e)
		r.Path = cmp.Or(r.Path, e.Path)
	}
	return found
}

// BySubject are the refusals by what they are about.
func BySubject(p *forensics.Pass, refused []*Refusal) map[forensics.Entity][]*Refusal {
	return forensics.Once(p, "refusals by subject", func() map[forensics.Entity][]*Refusal {
		by := map[forensics.Entity][]*Refusal{}
		for _, r := range refused {
			by[r.Subject] = append(by[r.Subject], r)
		}
		return by
	})
}
