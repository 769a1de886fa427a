package logs

import (
	"hash/fnv"
	"time"
)

// Orphans are what the lines about orphaned pods say together. A summary names one orphan, the first in the order of the
// directory, and counts all.
type Orphans struct {
	// Named are the different pods that were named, 262,144 at most.
	Named int64 `json:"named_pods"`
	// Last is the number of orphans of the last summary, Max the largest; 0 where no summary was seen.
	Last int64 `json:"last_count"`
	Max  int64 `json:"max_count"`
	// Changes count how often a summary named another pod than the one before. A first orphan that rotates means that
	// pods come and go; one that stays means that nothing is cleaned up any more.
	Changes int64 `json:"changes"`
	Rotates bool  `json:"rotates"`
	// PodUID is the pod that was named last, Since when its name appeared in a row without another between.
	PodUID string     `json:"pod_uid,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	// Mounted are the different pods that are orphaned while their volumes are still mounted (-v 3).
	Mounted int64 `json:"mounted_pods"`
}

// orphanage gathers them. It keeps hashes of UIDs, since there may be very many.
type orphanage struct {
	Orphans
	pods, mounted map[podHash]struct{}
	since, until  time.Time
	any           bool
}

type podHash [16]byte

// name counts a pod once.
func name(pods map[podHash]struct{}, uid string) {
	if len(pods) >= maxOrphansCount {
		return
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(uid))
	pods[podHash(h.Sum(nil))] = struct{}{}
}

func (a *orphanage) add(o occurrence) {
	switch o.Kind {
	case kindOrphanMounted:
		a.any = true
		name(a.mounted, o.PodUID)
	case KindOrphan:
		a.any = true
		name(a.pods, o.PodUID)
		a.Last = int64(o.Number)
		a.Max = max(a.Max, a.Last)
		if o.PodUID != a.PodUID {
			if a.PodUID != "" {
				a.Changes++
			}
			a.PodUID, a.since = o.PodUID, o.Time
		}
		a.until = o.Time
	case KindOrphanDetail:
		a.any = true
		name(a.pods, o.PodUID)
	}
}

// result is nil where no orphan was named. Lines of one pod each, as kubelets before 1.10 wrote them, come in rounds of
// the same pods and rotate always; so do two summaries. It takes more changes than that to call it rotating.
func (a *orphanage) result() *Orphans {
	if !a.any {
		return nil
	}
	o := a.Orphans
	o.Named, o.Mounted = int64(len(a.pods)), int64(len(a.mounted))
	o.Rotates = o.Changes > 1 && o.Named > 1
	if !a.since.IsZero() {
		since, until := a.since, a.until
		o.Since, o.Until = &since, &until
	}
	return &o
}
