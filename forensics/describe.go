package forensics

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Describe says in words what an entity is and what is wrong with it, for a chain of causes.
func Describe(m *Model, e Entity) string {
	switch e.Kind {
	case KindSuperblock:
		return describeSuperblock(m, e.ID)
	case KindMount:
		id, err := strconv.Atoi(e.ID)
		if mount, ok := m.Mount(id); err == nil && ok {
			return fmt.Sprintf("mount %d at %s", mount.ID, mount.MountPoint)
		}
	case KindThread:
		if t, ok := threadByID(m, e.ID); ok {
			return "thread " + e.ID + " (" + t.Comm + ") " + DescribeWait(t, m.Waited(t))
		}
	case KindGoroutine:
		return describeGoroutine(m, e)
	case KindSubsystem:
		return m.KubeletName() + " " + SubsystemName(e.ID)
	case KindKubelet:
		if e.ID != "kubelet" {
			return m.KubeletName() + " (pid " + e.ID + ")"
		}
		return m.KubeletName()
	case KindPod:
		state, _ := m.PodState(e.ID)
		return "pod " + m.Pod(e.ID).String() + ", " + string(state)
	case KindProcess:
		pid, err := strconv.Atoi(e.ID)
		if p, ok := m.Process(pid); err == nil && ok {
			words := map[string]string{"T": "stopped, ", "t": "stopped by a debugger, ", "Z": "has ended, "}
			return fmt.Sprintf("process %d (%s), %sstate %s", p.PID, p.Comm, words[p.State], p.State)
		}
	case KindDisk:
		if list := m.MountsOf(e.ID); len(list) > 0 {
			return fmt.Sprintf("disk %s (%s) at %s", e.ID, list[0].Source, list[0].MountPoint)
		}
	case KindContainer:
		if name := m.ContainerName(e.ID); name != "" {
			return fmt.Sprintf("container %s (%.12s)", name, e.ID)
		}
	case KindRuntime:
		if e.ID == "runtime" {
			return "container runtime"
		}
		return "container runtime " + e.ID
	}
	return e.String()
}

func describeSuperblock(m *Model, device string) string {
	list := m.MountsOf(device)
	if len(list) == 0 {
		if servers := m.uses.Servers(device); len(servers) > 0 && servers[0].Detached {
			return "FUSE file system that is in no mount table (superblock " + device + ")"
		}
		return "superblock " + device
	}
	s := fmt.Sprintf("%s file system %s (superblock %s)", list[0].FSType, list[0].Source, device)
	if h, ok := m.Health(device); ok && h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed {
		s += " " + DescribeStatus(h)
	}
	return s
}

func describeGoroutine(m *Model, e Entity) string {
	id, err := strconv.ParseInt(e.ID, 10, 64)
	g, dump, ok := m.Goroutine(anyDump, id)
	if err != nil || !ok || id == 0 {
		return e.String()
	}
	s := "goroutine " + e.ID
	if g.State != "" {
		s += " [" + g.State
		if g.WaitMinutes > 0 {
			s += ", " + text.Plural(g.WaitMinutes, "minute")
		}
		s += "]"
	}
	if j := m.ThreadOf(dump, id); j != nil {
		s += fmt.Sprintf(", the same as thread %d/%d: pointer %s stands in both", j.Thread.PID, j.Thread.TID, j.Pointer)
	}
	return s
}

func threadByID(m *Model, id string) (procs.Thread, bool) {
	left, right, _ := strings.Cut(id, "/")
	pid, err1 := strconv.Atoi(left)
	tid, err2 := strconv.Atoi(right)
	if err1 != nil || err2 != nil {
		return procs.Thread{}, false
	}
	return m.Thread(pid, tid)
}
