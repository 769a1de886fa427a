package checks

import (
	"maps"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// The scenarios of this file belong to those of all checks, which are in one map.
var _ = func() bool { maps.Copy(scenarios, heldScenarios()); return true }()

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

func server(state string, command ...string) change {
	return holding(func(h *forensics.MountUse) {
		h.Servers = []forensics.FUSEServer{{Device: "0:47", PID: 6000, Why: "descriptor 3 of process 6000 is connection 47"}}
	}, process(procs.Process{PID: 6000, Comm: "ceph-fuse", State: state, Command: command}))
}

// The namespaces of the host, and the user namespace of a pod.
const (
	hostMountNS = 4026531840
	hostUserNS  = 4026531837
	podUserNS   = 4026532900
)

// leaked is a mount that only another mount namespace has, on a directory of the host's.
func leaked(m mounts.Mount) change {
	l := forensics.LeakedMount{Namespace: 99, Mount: m, Owner: hostUserNS}
	if on, ok := strings.CutPrefix(m.MountPoint, "/host"); ok {
		l.On = on
	}
	return leak(l)
}

func leak(l forensics.LeakedMount) change {
	return holding(func(h *forensics.MountUse) { h.UserNS, h.Leaked = hostUserNS, []forensics.LeakedMount{l} },
		process(procs.Process{PID: 5001, Comm: "node-exporter", State: "S", MountNS: 99, UserNS: hostUserNS, Command: []string{}}))
}

// ownServer has a FUSE mount that only the mount namespace of its server has.
func ownServer(point string) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: point, FSType: "fuse.fuse-overlayfs", Class: mounts.ClassFUSE, Source: "fuse-overlayfs"})(tb, e)
		e.MountUse.Servers = append(e.MountUse.Servers, forensics.FUSEServer{Device: "0:61", PID: 5001, Why: "descriptor 3 of process 5001 is connection 61"})
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
	return holding(func(held *forensics.MountUse) { held.Holders = append(held.Holders, h) }, process(nginx))
}

// busyCopy makes a process hold a copy of a mount.
func busyCopy(c mounts.Copy) change {
	return holding(func(held *forensics.MountUse) {
		held.Holders = append(held.Holders, holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log", MountID: 99, Device: "0:47"})
		held.Copies = append(held.Copies, c)
	}, process(nginx), func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Namespace = 1 })
}

func heldScenarios() map[string][]scenario {
	kernel := func(k holders.KernelUser) change {
		k.MountID, k.Device = 60, "0:47"
		return holding(func(held *forensics.MountUse) { held.Kernel = append(held.Kernel, k) })
	}
	podCopy := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	alone := func(f func(*forensics.MountUse)) change { // in a namespace that no process is in
		return holding(func(h *forensics.MountUse) {
			h.Leaked, h.Uninhabited = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}, []uint64{99}
			h.UserNS = hostUserNS
			f(h)
		}, process(nginx))
	}
	stack := func(m mounts.Mount) change {
		return func(_ testing.TB, e *forensics.Evidence) {
			m.ID, m.ParentID, m.MountPoint = 70, 60, deadPoint
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		}
	}
	detach := func(h holders.Holder) change {
		h.PID, h.Detached = 5000, true
		return holding(func(held *forensics.MountUse) { held.Holders = append(held.Holders, h) }, process(nginx))
	}
	unkillable := procs.Thread{
		PID: 5000, TID: 5002, Comm: "nginx", State: "D", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitBlock, Function: "io_schedule", Kill: "no"},
	}
	killable := unkillable
	killable.Wait.Kill = "yes"
	taken := unkillable
	taken.Wait = procs.Wait{Kind: procs.WaitFUSE, Function: "request_wait_answer"}
	ended := nginx
	ended.State = "Z"
	clean := forensics.OutcomeClean
	return map[string][]scenario{
		"unmount-busy": {
			{
				name: "an open file", base: sickNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"}),
				want: []string{"warning mount 60"}, says: "process 5000 (nginx) with \"" + deadPoint + "/log\" open as descriptor 7",
			},
			{
				name: "a mount on it", base: sickNode, change: kernel(holders.KernelUser{Use: holders.UseMount, UserMount: 71, What: deadPoint + "/sub", Blocks: true}),
				want: []string{"warning mount 60"}, says: "mount 71 at " + deadPoint + "/sub lies on it",
			},
			{
				name: "a bind mount elsewhere keeps nothing busy", base: sickNode,
				change: kernel(holders.KernelUser{Use: holders.UseBind, UserMount: 71, What: "/mnt"}), outcome: clean,
			},
			{
				name: "held through a copy that propagation ties to it", base: sickNode,
				change: busyCopy(mounts.Copy{Of: 60, MountID: 99, MountPoint: "/host" + deadPoint, Namespace: 77}),
				want:   []string{"warning mount 60"},
				says:   "open as descriptor 7 on mount 99 at /host" + deadPoint + " in mount namespace 77, which propagation ties to it",
			},
			{
				name: "held through a copy of another mount", base: sickNode,
				change: busyCopy(mounts.Copy{Of: 61, MountID: 99, MountPoint: "/host" + deadPoint, Namespace: 77}), outcome: clean,
			},
			{
				name: "a file of an io_uring", base: sickNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldRing, FD: 7, Path: deadPoint + "/log", ByPath: true}),
				want: []string{"warning mount 60"}, says: "process 5000 (nginx) with \"" + deadPoint + "/log\" registered with its io_uring, descriptor 7",
			},
			{name: "held through another mount of the file system", base: sickNode, change: holding(func(h *forensics.MountUse) {
				h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, MountID: 99, Device: "0:47"}}
			}), outcome: clean},
			{name: "a live pod", base: wellNode, change: holding(func(h *forensics.MountUse) {
				h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
			}), outcome: clean},
			{
				name: "a terminating pod's own process", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Pods[0].Deleting = at("10:00:00")
					holding(func(h *forensics.MountUse) {
						h.Holders = []holders.Holder{{PID: 4000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
					})(tb, e)
				}, outcome: clean,
			},
			{
				name: "another process in the way of a terminating pod", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Pods[0].Deleting = at("10:00:00")
					holding(func(h *forensics.MountUse) {
						h.Holders = []holders.Holder{{PID: 4000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}, {PID: 5000, Kind: holders.HoldFD, MountID: 44, Device: "0:41"}}
					}, process(nginx))(tb, e)
				}, want: []string{"warning mount 44"}, says: "cannot be unmounted: process 5000 (nginx)",
			},
			{
				name: "somebody unmounts it", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", deadPoint}})(tb, e)
				}, want: []string{"warning mount 60"}, says: "process 5009 (umount) is unmounting it",
			},
			{
				name: "somebody detaches it, which is not refused", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5008, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "-cl", deadPoint}})(tb, e)
					process(procs.Process{PID: 5009, Comm: "fusermount3", State: "D", MountNS: hostMountNS, Command: []string{"fusermount3", "-u", "-z", "--", deadPoint}})(tb, e)
				}, outcome: clean,
			},
			{
				name: "somebody unmounts it by type", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "-ftglusterfs", deadPoint}})(tb, e)
				}, want: []string{"warning mount 60"}, says: "is unmounting it",
			},
			{
				name: "a process of a pod calls itself umount", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: 99, Command: []string{"umount", deadPoint}})(tb, e)
					process(procs.Process{PID: 5010, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})(tb, e)
				}, outcome: clean,
			},
			{
				name: "something calls itself umount, and nobody knows where anything is", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5010, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})(tb, e)
					e.Mounts.Namespace = 0
				}, outcome: clean,
			},
			{
				name: "somebody unmounts another", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", MountNS: hostMountNS, Command: []string{"umount", "/mnt"}})(tb, e)
				}, outcome: clean,
			},
			{
				name: "staged, and served to a pod by another file system", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					upper := e.Mounts.Mounts[2]
					upper.ID, upper.Device = 70, "0:70"
					e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/crypt/4f2a/globalmount"
					e.Mounts.Mounts = append(e.Mounts.Mounts, upper)
					busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
					e.MountUse.Servers = append(e.MountUse.Servers, forensics.FUSEServer{Device: "0:70", PID: 5000, Why: "descriptor 3"})
				}, outcome: clean,
			},
			{
				name: "staged for pods that are gone", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
					busy(holders.Holder{PID: 5000, Kind: holders.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
				}, want: []string{"warning mount 60"}, says: "it is staged, and no pod has the volume mounted",
			},
			{
				name: "a hung mount of nobody in particular", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Mounts.Mounts[2].MountPoint, e.Health[1].MountPoint = "/mnt/nfs", "/mnt/nfs"
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: "/mnt/nfs/log"})(tb, e)
				}, want: []string{"info mount 60"}, says: "its file system is hung",
			},
			{
				name: "an earlier examination comes first", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(holders.Holder{PID: 5000, Kind: holders.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					busy(holders.Holder{PID: 5010, Kind: holders.HoldFD, FD: 8, Path: deadPoint})(tb, e)
					process(procs.Process{PID: 5010, Comm: "exe", State: "S", Command: []string{"nodeforensics", "__collect"}})(tb, e)
				}, want: []string{"warning mount 60"}, says: "cannot be unmounted: process 5010 (exe)",
			},
		},
		"mount-leaked-namespace": {
			{
				name: "a private copy of a pod's mount", base: wellNode,
				change: leaked(podCopy), want: []string{"warning mount 900"}, says: "process 5001 (node-exporter)",
			},
			{
				name: "in a namespace that a descriptor keeps", base: wellNode,
				change: alone(func(h *forensics.MountUse) { h.Namespaces = []holders.NamespaceHold{{PID: 5000, FD: 9, Namespace: 99}} }),
				want:   []string{"warning mount 900"}, says: "process 5000 (nginx) holds open",
			},
			{
				name: "in a namespace that is mounted", base: wellNode,
				change: alone(func(h *forensics.MountUse) {
					h.Pinned = []forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/run/ns/x"}}
				}), want: []string{"warning mount 900"}, says: "mounted at /run/ns/x",
			},
			{
				name: "in a namespace of which nobody sees what keeps it", base: wellNode,
				change: alone(func(h *forensics.MountUse) {
					h.Holders = []holders.Holder{{PID: 5000, Kind: holders.HoldFD, FD: 4, Path: "/log", MountID: 900, Device: "0:60"}}
				}), want: []string{"warning mount 900"}, says: "what keeps it is not visible",
			},
			{
				name: "in a namespace whose processes came or went", base: wellNode,
				change: holding(func(h *forensics.MountUse) {
					h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: hostUserNS}}
					h.UserNS = hostUserNS
				}),
				want: []string{"info mount 900"}, says: "came or went",
			},
			{
				name: "a container's own mount is only information", base: wellNode,
				change: leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: "/data", FSType: "fuse.s3fs", Source: "s3fs"}),
				want:   []string{"info mount 901"}, says: "is not mounted on the host, but in the mount namespace of process 5001",
			},
			{
				name: "a mount point that a pod has made, on no directory of the host", base: wellNode,
				change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, Owner: hostUserNS}), want: []string{"info mount 900"},
				says: "is not mounted on the host, but in the mount namespace",
			},
			{
				name: "a mount namespace of a pod's user namespace", base: wellNode,
				change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint, Owner: podUserNS}), want: []string{"info mount 900"},
			},
			{
				name: "a mount in the content of a volume", base: wellNode,
				change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint + "/cache", Owner: hostUserNS}), want: []string{"info mount 900"},
			},
			{
				name: "before Linux 4.9, with all processes in the host's user namespace", base: wellNode,
				change: leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}), want: []string{"warning mount 900"},
			},
			{
				name: "before Linux 4.9, with a process that is in another user namespace", base: wellNode,
				change: both(leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
					process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99, UserNS: podUserNS})), want: []string{"info mount 900"},
			},
			{
				name: "before Linux 4.9, with a process whose user namespace is not known", base: wellNode,
				change: both(leak(forensics.LeakedMount{Namespace: 99, Mount: podCopy, On: deadPoint}),
					process(procs.Process{PID: 5002, Comm: "sh", State: "S", MountNS: 99})), want: []string{"info mount 900"},
			},
			{
				name: "with nothing known of user namespaces", base: wellNode,
				change: holding(func(h *forensics.MountUse) {
					h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy, On: deadPoint}}
				}, process(procs.Process{PID: 5001, Comm: "sh", State: "S", MountNS: 99})), want: []string{"info mount 900"},
			},
			{
				name: "a mount whose server is in that namespace", base: wellNode,
				change: ownServer("/home/user/containers/merged"), outcome: clean,
			},
			{
				name: "a staged volume whose server is in that namespace", base: wellNode,
				change: ownServer(kubeletRoot + "/plugins/kubernetes.io/csi/s3/4f2a/globalmount"), want: []string{"info mount 901"},
			},
			{name: "none", base: wellNode, outcome: clean},
		},
		"mount-detached": {
			{
				name: "an open file", base: wellNode, change: detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/log", MountID: 88}),
				want: []string{"warning mount 88"}, says: "process 5000 (nginx)",
			},
			{
				name: "a mapped file, of which only the superblock is known", base: wellNode,
				change: detach(holders.Holder{Kind: holders.HoldMap, FD: -1, Path: "/lib.so", Device: "0:77"}), want: []string{"warning superblock 0:77"},
			},
			{
				name: "a mount that is being prepared", base: wellNode,
				change: detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/", MountID: 88}), want: []string{"info mount 88"},
			},
			{
				name: "what nobody has unmounted in a user namespace of his own", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					detach(holders.Holder{Kind: holders.HoldFD, FD: 3, Path: "/log", MountID: 88})(tb, e)
					e.MountUse.UserNS, e.Processes[len(e.Processes)-1].UserNS = hostUserNS, podUserNS
				}, want: []string{"info mount 88"},
			},
			{name: "a hold on a mount of the table", base: wellNode, change: busy(holders.Holder{PID: 5000, Kind: holders.HoldFD}), outcome: clean},
		},
		"mount-stacked": {
			{
				name: "mounted twice", base: wellNode, change: stack(mounts.Mount{Device: "0:47", Root: "/", FSType: "fuse.ceph-fuse", Class: mounts.ClassFUSE}),
				want: []string{"warning mount 60"}, says: "same directory of the same file system",
			},
			{
				name: "another file system over it", base: wellNode, change: stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "tmpfs", Class: mounts.ClassMemory}),
				want: []string{"warning mount 60"}, says: "hidden below the topmost",
			},
			{name: "what autofs has mounted", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "nfs4", Class: mounts.ClassNetwork})(tb, e)
				e.Mounts.Mounts[2].Class = mounts.ClassAutofs
			}, outcome: clean},
			{name: "one below another", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				stack(mounts.Mount{Device: "0:48", Root: "/", FSType: "tmpfs", Class: mounts.ClassMemory})(tb, e)
				e.Mounts.Mounts[3].MountPoint += "/sub"
			}, outcome: clean},
		},
		"fuse-server-dead": {
			{name: "stopped", base: sickNode, change: server("T", "ceph-fuse"), want: []string{"warning process 6000"}, says: "is stopped"},
			{name: "nobody serves it", base: sickNode, change: holding(func(h *forensics.MountUse) {
				h.Servers = []forensics.FUSEServer{{Device: "0:47", Why: "no process has its connection open"}}
			}), want: []string{"warning superblock 0:47"}, says: "no process serves"},
			{name: "nobody serves it, and callers wait", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				holding(func(h *forensics.MountUse) {
					h.Servers = []forensics.FUSEServer{{Device: "0:47", Why: "no process has its connection open"}}
				})(tb, e)
				for i := range e.Health {
					e.Health[i].Status = mounts.StatusHung
				}
			}, want: []string{"warning superblock 0:47"}, says: "its connection is still open"},
			{name: "nobody serves it, and it answers", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				holding(func(h *forensics.MountUse) {
					h.Servers = []forensics.FUSEServer{{Device: "0:47", Why: "no process has its connection open"}}
				})(tb, e)
				for i := range e.Health {
					e.Health[i].Status, e.Health[i].Method = mounts.StatusOK, "probe"
				}
			}, outcome: clean},
			{name: "itself blocked", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("S", "ceph-fuse")(tb, e)
				blockedIn(procs.Thread{PID: 6000, TID: 6001, Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitServer, FS: "nfs"}})(tb, e)
			}, want: []string{"warning process 6000"}, says: "itself blocked"},
			{name: "a thread of it waits for a lock that another program has", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("S", "ceph-fuse")(tb, e)
				blockedIn(procs.Thread{PID: 6000, TID: 6001, Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitFileLock, FS: "nfs"}})(tb, e)
			}, outcome: clean},
			{name: "stopped, and guessed", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("T", "ceph-fuse")(tb, e)
				e.MountUse.Servers[0].Guess = true
			}, want: []string{"warning process 6000"}, says: "which probably serves"},
			{name: "itself blocked at an odd name", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("S", "ceph-fuse")(tb, e)
				blockedIn(procs.Thread{PID: 6000, TID: 6001, Path: "/100%d", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitServer, FS: "nfs"}})(tb, e)
			}, want: []string{"warning process 6000"}, says: `"/100%d"`},
			{name: "asleep as ever", base: sickNode, change: server("S", "ceph-fuse"), outcome: clean},
		},
		"fuse-server-mismatch": {
			{
				name: "started for another pod", base: wellNode,
				change: server("S", "glusterfs", "--volfile-id=vol", kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~glusterfs/other"),
				want:   []string{"warning process 6000"}, says: "was started for",
			},
			{name: "started for what it serves", base: wellNode, change: server("S", "ceph-fuse", deadPoint), outcome: clean},
			{name: "by another path", base: wellNode, change: server("S", "ceph-fuse", "/data/kubelet"+strings.TrimPrefix(deadPoint, kubeletRoot)), outcome: clean},
			{name: "with another volume among its options", base: wellNode, change: server("S", "overlay-fuse",
				"--lower="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other", deadPoint), outcome: clean},
			{name: "that shows another volume, at a relative path", base: wellNode, change: server("S", "bindfs",
				kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other", "cephfs-data"), outcome: clean},
			{name: "with another volume as its source", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				e.Mounts.Mounts[2].Source = kubeletRoot + "/pods/" + liveUID + "/volumes/kubernetes.io~nfs/other"
				server("S", "bindfs", e.Mounts.Mounts[2].Source)(tb, e)
			}, outcome: clean},
			{name: "with another volume open", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				const other = kubeletRoot + "/pods/" + liveUID + "/volumes/kubernetes.io~nfs/other"
				server("S", "mergerfs", other)(tb, e)
				e.MountUse.Holders = append(e.MountUse.Holders, holders.Holder{PID: 6000, Kind: holders.HoldFD, FD: 5, Path: other, Device: "0:90"})
			}, outcome: clean},
			{name: "whose name is that of its subcommand", base: wellNode, change: server("S", "rclone", "cephfs-data",
				kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other"), want: []string{"warning process 6000"}, says: "was started for"},
			{name: "with a cache in another pod", base: wellNode, change: server("S", "gcsfuse",
				"--cache-dir="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~empty-dir/cache"), outcome: clean},
			{name: "with credentials of its own pod", base: wellNode, change: server("S", "s3fs",
				"-opasswd_file="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~secret/keys/passwd"), outcome: clean},
			{name: "guessed", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("S", "glusterfs", kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~glusterfs/other")(tb, e)
				e.MountUse.Servers[0].Guess = true
			}, outcome: clean},
		},
		"process-unkillable": {
			{name: "a wait that no signal ends", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(nginx)(tb, e)
				blockedIn(unkillable)(tb, e)
			}, want: []string{"warning process 5000"}, says: "could not be killed"},
			{name: "killed, and a thread stays", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(ended)(tb, e)
				blockedIn(taken)(tb, e)
			}, want: []string{"warning process 5000"}, says: "has been ended and cannot go"},
			{name: "only its first thread has ended, and another waits as a signal would wake it", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(ended)(tb, e)
				sleeping := taken
				sleeping.State = "S"
				blockedIn(sleeping)(tb, e)
			}, outcome: clean},
			{name: "only its first thread has ended, and another is in vfork", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(ended)(tb, e)
				blockedIn(killable)(tb, e)
			}, outcome: clean},
			{name: "only its first thread has ended, and another reads from a disk", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(ended)(tb, e)
				blockedIn(unkillable)(tb, e)
				e.Threads[0].WaitSeconds = ptr(0.01)
			}, outcome: clean},
			{name: "a wait that a kill ends", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(nginx)(tb, e)
				blockedIn(killable)(tb, e)
			}, outcome: clean},
			{name: "a moment ago", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				process(nginx)(tb, e)
				blockedIn(unkillable)(tb, e)
				e.Threads[0].WaitSeconds = ptr(1.0)
			}, outcome: clean},
		},
		"disk-deleted-open-files": {
			{name: "many gigabytes", base: wellNode, change: deleted(2<<30, 1<<30), want: []string{"warning disk 254:0"}, says: "3072 MiB"},
			{name: "some", base: wellNode, change: deleted(300 << 20), want: []string{"info disk 254:0"}},
			{name: "a log that was rotated", base: wellNode, change: deleted(10 << 20), outcome: clean},
		},
		"zombie-buildup": {
			{name: "a hundred of one parent", base: wellNode, change: zombies(100), want: []string{"warning process 4000"}, says: "of pod default/web"},
			{name: "a few", base: wellNode, change: zombies(20), outcome: clean},
			{name: "of a parent that is not seen", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				zombies(150)(tb, e)
				for i := range e.Processes {
					e.Processes[i].PPID = 0
				}
			}, outcome: forensics.OutcomeNotChecked},
			{name: "of different parents", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				zombies(150)(tb, e)
				for i := range e.Processes {
					e.Processes[i].PPID = i
				}
			}, outcome: clean},
		},
	}
}
