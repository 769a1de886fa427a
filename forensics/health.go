package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// MountHealth says how each mount responds that this program probed, or did not probe because threads wait for it. The order is that of
// [Evidence].Probes. It is judged from the probes, from the threads that wait, and from the requests that disks completed.
func (m *Model) MountHealth() []mounts.Health { return m.answers }

// judgeHealth judges the probes of the evidence.
func judgeHealth(m *Model) []mounts.Health {
	e := m.evidence
	j := healthJudge{
		model: m, queues: map[string][]int{}, works: map[string]bool{}, waitedFor: map[string]bool{},
		hungAfter: seconds(cmp.Or(e.Collector.HungAfterSeconds, DefaultHungAfter.Seconds())),
		slowAfter: seconds(cmp.Or(e.Collector.SlowAfterSeconds, defaultSlowAfter.Seconds())),
	}
	for _, q := range e.FUSEQueues {
		j.queues[q.Device] = q.Requests
	}
	for _, d := range e.DiskProgress {
		j.works[d.Device] = j.works[d.Device] || d.Completed > 0
	}
	for i := range e.Threads {
		t := &e.Threads[i]
		j.waitedFor[t.Device] = j.waitedFor[t.Device] || !t.Gone
	}
	list := make([]mounts.Health, 0, len(e.Probes))
	for _, p := range e.Probes {
		list = append(list, j.judge(p))
	}
	return list
}

// defaultSlowAfter is the --slow-after of a run without that flag.
const defaultSlowAfter = time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A healthJudge judges probes in the light of what else was measured.
type healthJudge struct {
	model                *Model
	queues               map[string][]int // requests that FUSE connections had waiting, by superblock
	works                map[string]bool  // superblocks whose disk completed requests while threads waited for it
	waitedFor            map[string]bool  // superblocks that a thread still waited for when the examination ended
	hungAfter, slowAfter time.Duration
}

func (j *healthJudge) judge(p mounts.Probe) mounts.Health {
	mount, known := j.model.Mount(p.MountID)
	if !known {
		mount = mounts.Mount{ID: p.MountID, Device: p.Device, MountPoint: p.MountPoint}
	}
	h := p.Judge(mount, j.hungAfter, j.slowAfter)
	claim, proof := j.passive(mount)
	switch {
	case proof && h.Status == mounts.StatusNotProbed:
		h = claim
	case claim.Status != mounts.StatusNotProbed:
		weigh(&h, claim)
	}
	h.Waiting = slices.Clone(j.queues[p.Device])
	passive := h.Method == mounts.MethodPassive
	if passive && h.Status == mounts.StatusHung && j.works[p.Device] {
		h.Status, h.Since, h.Reason = mounts.StatusOK, nil, h.Reason+"; its disk still completes requests"
	}
	if passive && (h.Status == mounts.StatusHung || h.Status == mounts.StatusFrozen) && !j.waitedFor[p.Device] {
		h.Status, h.Reason = mounts.StatusRecovered, "no thread waited for it at the end of the examination"
	}
	return h
}

// passive says which thread waits for a mount, and whether that proves that the mount hangs. A thread counts if the kernel shows that
// it waits for a file server of the mount's kind, the path of its call is on the mount, and it has not run for
// --hung-after. For FUSE the connection must also have had a request waiting at first.
//
// For a server, only a call that it answers at once from any state is proof. Reading, writing and storing may take
// minutes in one call while the server answers other calls, for example with an object store. So may a call that waits for one of
// these. And a path below the mount point can lead across a symbolic link to another mount.
func (j *healthJudge) passive(mount mounts.Mount) (h mounts.Health, proof bool) {
	if queue := j.queues[mount.Device]; len(queue) > 0 && queue[0] == 0 {
		return h, false
	}
	e := j.model.evidence
	for _, at := range j.model.index.threadsIn[mount.Device] {
		t := e.Threads[at]
		wait := j.model.Waited(t)
		age, from := wait.Seconds, wait.From
		if !WaitsFor(t.Wait, mount) || age < j.hungAfter.Seconds()*patience(mount) {
			continue
		}
		since := e.Collected.Add(seconds(t.SampledSeconds - age)).UTC().Truncate(time.Second) // at the second look it had waited for age
		thread := ThreadEntity(t).ID
		claim := mounts.Health{
			MountID: mount.ID, Device: mount.Device, MountPoint: mount.MountPoint, Status: mounts.StatusHung,
			Method: mounts.MethodPassive, Seconds: age, Since: &since, Witness: thread,
			Reason: fmt.Sprintf("thread %s waits for it in %s (%s)", thread, t.Wait.Function, from),
		}
		if t.Syscall != nil {
			claim.Call = t.Syscall.Name
		}
		if t.Wait.Kind == procs.WaitFrozen {
			claim.Status = mounts.StatusFrozen
		}
		proves := mount.Class == mounts.ClassBlock || asksForLittle(j.model, t)
		if proves == proof && age > h.Seconds || proves && !proof {
			h, proof = claim, proves
		}
	}
	return h, proof
}

// patience is by how much longer than --hung-after a thread must wait before its mount counts as hung. A healthy but busy disk can
// keep one request in its queue for half a minute (the time limit of a SCSI command is 30 s).
func patience(m mounts.Mount) float64 {
	if m.Class == mounts.ClassBlock {
		return 4
	}
	return 1
}

// asksForLittle says whether a thread asks a file server for attributes of the mount itself, not of something below it.
func asksForLittle(m *Model, t procs.Thread) bool {
	if t.Syscall == nil {
		return false
	}
	switch t.Syscall.Name {
	case "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "chdir", "fchdir":
	default:
		return false
	}
	return t.PathFrom == "descriptor" || slices.ContainsFunc(m.MountsOf(t.Device), func(mount mounts.Mount) bool {
		return mount.MountPoint == t.Path
	})
}

// weigh combines the answer of a mount with the thread that waits for it.
func weigh(h *mounts.Health, claim mounts.Health) {
	switch h.Status {
	case mounts.StatusHung:
		h.Witness = claim.Witness
		if claim.Seconds > h.Seconds {
			h.Seconds, h.Since = claim.Seconds, claim.Since
		}
	case mounts.StatusOK, mounts.StatusSlow:
	case mounts.StatusNotProbed:
		h.Reason = fmt.Sprintf("%s, but %s alone may take that long: %s", claim.Reason, cmp.Or(claim.Call, "the call"), h.Reason)
		return
	default:
		return
	}
	h.Reason = strings.TrimPrefix(h.Reason+"; "+claim.Reason, "; ")
}
