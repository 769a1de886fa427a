package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// change edits evidence.
type change = func(testing.TB, *forensics.Evidence)

// holding adds what is held.
func holding(edit func(h *forensics.MountUse), more ...change) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		h := forensics.MountUse{}
		if e.MountUse != nil {
			h = *e.MountUse
		}
		edit(&h)
		e.MountUse = &h
		for _, f := range more {
			f(tb, e)
		}
	}
}

func process(p procs.Process) change {
	return func(_ testing.TB, e *forensics.Evidence) { e.Processes = append(e.Processes, p) }
}

// blockedIn adds a thread that has waited for long in a file system.
func blockedIn(t procs.Thread) change {
	return func(_ testing.TB, e *forensics.Evidence) {
		t.WaitSeconds = ptr(600.0)
		e.Threads = append(e.Threads, t)
	}
}

var nginx = procs.Process{PID: 5000, Comm: "nginx", State: "S", Command: []string{"nginx"}}

// serves says who serves FUSE file systems, in place of what was said before.
func serves(use *forensics.MountUse, list ...forensics.FUSEServer) {
	use.FUSE = forensics.FUSEUse{}
	v1.AddServers(use, list...)
}

// guessed has the kernel not tell whose connection process 6000 serves.
func guessed(e *forensics.Evidence) {
	serves(e.MountUse, forensics.FUSEServer{Device: "0:47", PID: 6000, Guess: true})
}

func server(state string, command ...string) change {
	return holding(func(h *forensics.MountUse) { serves(h, forensics.FUSEServer{Device: "0:47", PID: 6000}) }, process(procs.Process{PID: 6000, Comm: "ceph-fuse", State: state, Command: command}))
}

// The namespaces of the host, and the user namespace of a pod.
const (
	hostMountNS = 4026531840
	hostUserNS  = 4026531837
	podUserNS   = 4026532900
)

// leaked is a mount that only another mount namespace has, on a directory of the host's.
func leaked(m mounts.Mount) change {
	l := forensics.ForeignMount{Namespace: 99, Mount: m, Owner: hostUserNS}
	if on, ok := strings.CutPrefix(m.MountPoint, "/host"); ok {
		l.On = on
	}
	return leak(l)
}

func leak(l forensics.ForeignMount) change {
	l.Mount.Class = mounts.ClassOf(l.Mount.FSType)
	return holding(func(h *forensics.MountUse) { h.UserNS, h.Foreign = hostUserNS, []forensics.ForeignMount{l} },
		process(procs.Process{PID: 5001, Comm: "node-exporter", State: "S", MountNS: 99, UserNS: hostUserNS, Command: []string{}}))
}

// ownServer has a FUSE mount that only the mount namespace of its server has.
func ownServer(point string) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: point, FSType: "fuse.fuse-overlayfs", Class: mounts.ClassFUSE, Source: "fuse-overlayfs"})(tb, e)
		v1.AddServers(e.MountUse, forensics.FUSEServer{Device: "0:61", PID: 5001})
	}
}

func deleted(sizes ...int64) change {
	return holding(func(h *forensics.MountUse) {
		for i, size := range sizes {
			h.Deleted = append(h.Deleted, holders.DeletedFile{PID: 5000, FD: i, Path: "/var/log/old", Device: "254:0", Inode: uint64(i), AllocatedBytes: size})
		}
	}, process(nginx))
}

func zombies(n int) change {
	return func(_ testing.TB, e *forensics.Evidence) {
		for i := range n {
			e.Processes = append(e.Processes, procs.Process{PID: 7000 + i, PPID: 4000, Comm: "curl", State: "Z", Command: []string{}})
		}
	}
}

// busy makes a process hold the mount of the pod that is gone.
func busy(h holders.Holder) change {
	h.MountID, h.Device = 60, "0:47"
	return holding(func(use *forensics.MountUse) { use.Holders = append(use.Holders, h) }, process(nginx))
}

// busyCopy makes a process hold a copy of a mount.
func busyCopy(c mounts.Copy) change {
	return holding(func(use *forensics.MountUse) {
		use.Holders = append(use.Holders, holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log", MountID: 99, Device: "0:47"})
		c.OnGroup, c.Groups = 1, []int{1}
		use.Copies = append(use.Copies, c)
	}, process(nginx), func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Namespace = 1 })
}
