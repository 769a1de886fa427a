package forensics

import (
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Causes are the entities that explain e by their nature, without a finding.
func Causes(m *Model, e Entity) []Entity {
	switch e.Kind {
	case KindGoroutine:
		if j := threadOfGoroutine(m, e.ID); j != nil {
			return []Entity{ThreadEntity(j.Thread)}
		}
	case KindThread:
		if t, ok := threadByID(m, e.ID); ok {
			return waitedFor(m, t)
		}
	case KindProcess:
		return waitingThread(m, e.ID)
	case KindSuperblock:
		return servedBadly(m, e.ID)
	case KindMount:
		id, err := strconv.Atoi(e.ID)
		if mount, ok := m.Mount(id); err == nil && ok {
			return []Entity{{KindSuperblock, mount.Device}}
		}
	}
	return nil
}

// threadOfGoroutine is the thread that runs the goroutine of an entity, by the first dump of its process that tells; nil where none does.
func threadOfGoroutine(m *Model, id string) *Join {
	g, dump, ok := goroutineByID(m, id)
	if !ok {
		return nil
	}
	if j := m.ThreadOf(dump, g.ID); j != nil {
		return j
	}
	for _, i := range m.DumpsWith(dump) {
		if j := m.ThreadOf(i, g.ID); j != nil {
			return j
		}
	}
	return nil
}

// waitedFor is the mount that a thread waits for, or its superblock where the mount is in another namespace. No mount explains a thread that
// waits for something else, or for a server that answers other requests. A mount explains a thread that waits for a lock there if another
// thread, which may have the lock, waits for that mount.
func waitedFor(m *Model, t procs.Thread) []Entity {
	list := m.MountsOf(t.Device)
	if len(list) == 0 || !WaitsFor(t.Wait, list[0]) && !waitsBehind(m, t) {
		return detachedFor(m, t)
	}
	if m.Answered(t.Device) {
		return nil
	}
	if mount, ok := m.Mount(t.MountID); ok && mount.Device == t.Device {
		return []Entity{MountEntity(t.MountID)}
	}
	return []Entity{{KindSuperblock, t.Device}}
}

// detachedFor is the superblock of a FUSE file system in no mount table, if a thread waits for FUSE and it is the only one with waiting
// threads: then the file system at the thread's path now is not the one that it waits for.
func detachedFor(m *Model, t procs.Thread) []Entity {
	if device := m.uses.detachedFUSE; device != "" && t.Wait.Kind == procs.WaitFUSE {
		return []Entity{{KindSuperblock, device}}
	}
	return nil
}

// waitsBehind says whether a thread waits for a lock of a file system that another thread waits for.
func waitsBehind(m *Model, t procs.Thread) bool {
	return t.Wait.Kind == procs.WaitFSLock && m.index.waitedOn[t.Device]
}

// waitingThread is the thread of a process that has waited longest for a file system.
func waitingThread(m *Model, id string) []Entity {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	var longest *procs.Thread
	most := -1.0
	for _, i := range m.index.threadsOf[pid] {
		t := &m.evidence.Threads[i]
		if t.Gone || len(waitedFor(m, *t)) == 0 {
			continue
		}
		if w := m.Waited(*t); w.Seconds > most {
			longest, most = t, w.Seconds
		}
	}
	if longest == nil {
		return nil
	}
	return []Entity{ThreadEntity(*longest)}
}

// servedBadly are the processes that explain why a FUSE file system does not respond: all of its servers, if each has trouble.
func servedBadly(m *Model, device string) []Entity {
	var bad []Entity
	for _, s := range m.uses.Servers(device) {
		if s.PID == 0 || s.Guess {
			return nil
		}
		trouble, ok := m.uses.ServerTrouble(s.PID)
		if !ok || trouble.Waits != nil && trouble.Waits.Device == device {
			return nil
		}
		bad = append(bad, Entity{KindProcess, strconv.Itoa(s.PID)})
	}
	return bad
}
