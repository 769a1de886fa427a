package forensics

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Describe names an entity and says what is wrong with it, in one line for a chain of causes.
func Describe(m *Model, e Entity) string {
	switch e.Kind {
	case KindSuperblock:
		return describeSuperblock(m, e.ID)
	case KindMount:
		id, err := strconv.Atoi(e.ID)
		if mount, ok := m.Mount(id); err == nil && ok {
			if mount.ID < 0 {
				return mount.MountPoint
			}
			return fmt.Sprintf("%s (mount %d)", mount.MountPoint, mount.ID)
		}
	case KindThread:
		if t, ok := threadByID(m, e.ID); ok {
			return describeThread(m, e, t)
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
		return "pod " + m.Pod(e.ID).String() + ": " + state.Words()
	case KindProcess:
		pid, err := strconv.Atoi(e.ID)
		if p, ok := m.Process(pid); err == nil && ok {
			state := "state " + p.State
			if word := processStates[p.State]; word != "" {
				state = word + " (" + state + ")"
			}
			return fmt.Sprintf("%s (pid %d): %s", cmp.Or(p.Comm, "process"), p.PID, state)
		}
	case KindDisk:
		if list := m.MountsOf(e.ID); len(list) > 0 {
			return fmt.Sprintf("%s at %s (disk %s)", list[0].Source, list[0].MountPoint, e.ID)
		}
	case KindContainer:
		if name := m.ContainerName(e.ID); name != "" {
			return fmt.Sprintf("container %s (%.12s)", name, e.ID)
		}
		return fmt.Sprintf("container %.12s", e.ID)
	case KindRuntime:
		if e.ID == "runtime" {
			return "container runtime"
		}
		return e.ID + " (container runtime)"
	case kindServer, kindLimit, kindKernel, kindNode, kindCertificate, kindNetDevice:
		return strings.ReplaceAll(string(e.Kind), "-", " ") + " " + e.ID
	}
	return e.String()
}

// processStates are what the state letters of proc_pid_stat(5) mean.
var processStates = map[string]string{
	"T": "stopped by a signal", "t": "stopped by a debugger", "Z": "ended, not reaped", "D": "blocked in uninterruptible sleep", "S": "sleeping", "R": "running",
}

func describeSuperblock(m *Model, device string) string {
	list := m.MountsOf(device)
	if len(list) == 0 {
		if servers := m.uses.Servers(device); len(servers) > 0 && servers[0].Detached {
			return "FUSE file system in no mount table (superblock " + device + ")"
		}
		return "superblock " + device
	}
	s := fmt.Sprintf("%s (superblock %s)", fsfamily.Label(list[0].FSType, list[0].Source), device)
	switch m := list[0]; {
	case m.ID < 0 && m.FSType == "":
		s = "file system at " + m.MountPoint
	case m.ID < 0:
		s = fsfamily.Label(m.FSType, m.Source)
	}
	if h, ok := m.Health(device); ok && h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed {
		s += ": " + statusWords(h)
	}
	return s
}

// statusWords says in a few words how a mount responds.
func statusWords(h mounts.Health) string {
	switch h.Status {
	case mounts.StatusHung:
		return "no response for " + text.Duration(h.Seconds)
	case mounts.StatusUnanswered:
		if h.Seconds == 0 {
			return "no response"
		}
		return "no response within " + text.Duration(h.Seconds)
	case mounts.StatusSlow:
		return "response after " + text.Duration(h.Seconds)
	case mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError:
		return h.Error
	}
	return strings.TrimPrefix(DescribeStatus(h), "is ")
}

// describeThread is "thread 9825/9839 (kubelet): newfstatat, in request_wait_answer for 46 min". A path is in it where no mount will be.
func describeThread(m *Model, e Entity, t procs.Thread) string {
	s := "thread " + e.ID
	if t.Comm != "" {
		s += " (" + t.Comm + ")"
	}
	var parts []string
	call := ""
	if t.Syscall != nil {
		call = t.Syscall.Name
	}
	if _, known := m.Mount(t.MountID); t.Path != "" && !known {
		call = strings.TrimSpace(call + " on " + t.Path)
	}
	if call != "" {
		parts = append(parts, call)
	}
	if function := cmp.Or(t.Wait.Function, t.WChan); function != "" {
		parts = append(parts, "in "+function)
	}
	if len(parts) == 0 {
		parts = []string{"in the kernel"}
	}
	return s + ": " + strings.Join(parts, ", ") + m.Waited(t).words()
}

func describeGoroutine(m *Model, e Entity) string {
	g, dump, ok := goroutineByID(m, e.ID)
	if !ok {
		return e.String()
	}
	s := fmt.Sprintf("goroutine %d (%s)", g.ID, goroutines.RoleOf(g).Name)
	if d := &m.evidence.Dumps[dump]; !d.ofKubelet() {
		s = d.Program + " " + s
	}
	if j := threadOfGoroutine(m, e.ID); j != nil { // the thread's link says what it waits for, and how long
		why := "by its memory"
		if j.Pointer != "" {
			why = "same pointer " + j.Pointer
		}
		return s + fmt.Sprintf(" = thread %d/%d (%s)", j.Thread.PID, j.Thread.TID, why)
	}
	if g.State != "" {
		age := g.WaitAtLeast().Seconds()
		s += ": " + g.State + WaitAtLeast{Seconds: age, Known: age > 0}.words()
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
