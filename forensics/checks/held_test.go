package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// The scenarios of this file belong to those of all checks, which are in one map.
var _ = func() bool { maps.Copy(scenarios, heldScenarios()); return true }()

// change edits evidence.
type change = func(testing.TB, *forensics.Evidence)

// holding adds what is held.
func holding(edit func(h *forensics.Held), more ...change) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		h := forensics.Held{}
		if e.Held != nil {
			h = *e.Held
		}
		edit(&h)
		e.Held = &h
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
	return holding(func(h *forensics.Held) {
		h.Servers = []forensics.FUSEServer{{Device: "0:47", PID: 6000, Why: "descriptor 3 of process 6000 is connection 47"}}
	}, process(procs.Process{PID: 6000, Comm: "ceph-fuse", State: state, Command: command}))
}

// leaked is a mount that only another mount namespace has.
func leaked(m mounts.Mount) change {
	return holding(func(h *forensics.Held) { h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: m}} },
		process(procs.Process{PID: 5001, Comm: "node-exporter", State: "S", MountNS: 99, Command: []string{}}))
}

// ownServer has a FUSE mount that only the mount namespace of its server has.
func ownServer(point string) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: point, FSType: "fuse.fuse-overlayfs", Class: mounts.ClassFUSE, Source: "fuse-overlayfs"})(tb, e)
		e.Held.Servers = append(e.Held.Servers, forensics.FUSEServer{Device: "0:61", PID: 5001, Why: "descriptor 3 of process 5001 is connection 61"})
	}
}

func deleted(sizes ...int64) change {
	return holding(func(h *forensics.Held) {
		for i, size := range sizes {
			h.Deleted = append(h.Deleted, procs.DeletedFile{PID: 5000, FD: i, Path: "/var/log/old", Device: "254:0", Inode: uint64(i), AllocatedBytes: size})
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
func busy(h procs.Holder) change {
	h.MountID, h.Device = 60, "0:47"
	return holding(func(held *forensics.Held) { held.Holders = append(held.Holders, h) }, process(nginx))
}

// busyCopy makes a process hold a copy of a mount.
func busyCopy(c mounts.Copy) change {
	return holding(func(held *forensics.Held) {
		held.Holders = append(held.Holders, procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log", MountID: 99, Device: "0:47"})
		held.Copies = append(held.Copies, c)
	}, process(nginx), func(_ testing.TB, e *forensics.Evidence) { e.Mounts.Namespace = 1 })
}

func heldScenarios() map[string][]scenario {
	kernel := func(k mounts.KernelUser) change {
		k.MountID, k.Device = 60, "0:47"
		return holding(func(held *forensics.Held) { held.Kernel = append(held.Kernel, k) })
	}
	podCopy := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	alone := func(f func(*forensics.Held)) change { // in a namespace that no process is in
		return holding(func(h *forensics.Held) {
			h.Leaked, h.Uninhabited = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy}}, []uint64{99}
			f(h)
		}, process(nginx))
	}
	stack := func(m mounts.Mount) change {
		return func(_ testing.TB, e *forensics.Evidence) {
			m.ID, m.ParentID, m.MountPoint = 70, 60, deadPoint
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		}
	}
	detach := func(h procs.Holder) change {
		h.PID, h.Detached = 5000, true
		return holding(func(held *forensics.Held) { held.Holders = append(held.Holders, h) }, process(nginx))
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
				name: "an open file", base: sickNode, change: busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"}),
				want: []string{"warning mount 60"}, says: "process 5000 (nginx) with \"" + deadPoint + "/log\" open as descriptor 7",
			},
			{
				name: "a mount on it", base: sickNode, change: kernel(mounts.KernelUser{Use: mounts.UseMount, UserMount: 71, What: deadPoint + "/sub", Blocks: true}),
				want: []string{"warning mount 60"}, says: "mount 71 at " + deadPoint + "/sub lies on it",
			},
			{
				name: "a bind mount elsewhere keeps nothing busy", base: sickNode,
				change: kernel(mounts.KernelUser{Use: mounts.UseBind, UserMount: 71, What: "/mnt"}), outcome: clean,
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
				name: "a file of an io_uring", base: sickNode, change: busy(procs.Holder{PID: 5000, Kind: procs.HoldRing, FD: 7, Path: deadPoint + "/log", ByPath: true}),
				want: []string{"warning mount 60"}, says: "process 5000 (nginx) with \"" + deadPoint + "/log\" registered with its io_uring, descriptor 7",
			},
			{name: "held through another mount of the file system", base: sickNode, change: holding(func(h *forensics.Held) {
				h.Holders = []procs.Holder{{PID: 5000, Kind: procs.HoldFD, MountID: 99, Device: "0:47"}}
			}), outcome: clean},
			{name: "a live pod", base: wellNode, change: holding(func(h *forensics.Held) {
				h.Holders = []procs.Holder{{PID: 5000, Kind: procs.HoldFD, MountID: 44, Device: "0:41"}}
			}), outcome: clean},
			{
				name: "somebody unmounts it", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", Command: []string{"umount", deadPoint}})(tb, e)
				}, want: []string{"warning mount 60"}, says: "process 5009 (umount) is unmounting it",
			},
			{
				name: "somebody detaches it, which is not refused", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5008, Comm: "umount", State: "D", Command: []string{"umount", "-cl", deadPoint}})(tb, e)
					process(procs.Process{PID: 5009, Comm: "fusermount3", State: "D", Command: []string{"fusermount3", "-u", "-z", "--", deadPoint}})(tb, e)
				}, outcome: clean,
			},
			{
				name: "somebody unmounts it by type", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", Command: []string{"umount", "-ftglusterfs", deadPoint}})(tb, e)
				}, want: []string{"warning mount 60"}, says: "is unmounting it",
			},
			{
				name: "somebody unmounts another", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					process(procs.Process{PID: 5009, Comm: "umount", State: "D", Command: []string{"umount", "/mnt"}})(tb, e)
				}, outcome: clean,
			},
			{
				name: "staged, and served to a pod by another file system", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					upper := e.Mounts.Mounts[2]
					upper.ID, upper.Device = 70, "0:70"
					e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/crypt/4f2a/globalmount"
					e.Mounts.Mounts = append(e.Mounts.Mounts, upper)
					busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
					e.Held.Servers = append(e.Held.Servers, forensics.FUSEServer{Device: "0:70", PID: 5000, Why: "descriptor 3"})
				}, outcome: clean,
			},
			{
				name: "staged for pods that are gone", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
					busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, FD: -1, Path: e.Mounts.Mounts[2].MountPoint, ByPath: true})(tb, e)
				}, want: []string{"warning mount 60"}, says: "it is staged, and no pod has the volume mounted",
			},
			{
				name: "a hung mount of nobody in particular", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
					e.Mounts.Mounts[2].MountPoint, e.Health[1].MountPoint = "/mnt/nfs", "/mnt/nfs"
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: "/mnt/nfs/log"})(tb, e)
				}, want: []string{"info mount 60"}, says: "its file system is hung",
			},
			{
				name: "an earlier examination comes first", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
					busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(tb, e)
					busy(procs.Holder{PID: 5010, Kind: procs.HoldFD, FD: 8, Path: deadPoint})(tb, e)
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
				change: alone(func(h *forensics.Held) { h.Namespaces = []procs.NamespaceHold{{PID: 5000, FD: 9, Namespace: 99}} }),
				want:   []string{"warning mount 900"}, says: "process 5000 (nginx) holds open",
			},
			{
				name: "in a namespace that is mounted", base: wellNode,
				change: alone(func(h *forensics.Held) {
					h.Pinned = []forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/run/ns/x"}}
				}), want: []string{"warning mount 900"}, says: "mounted at /run/ns/x",
			},
			{
				name: "in a namespace of which nobody sees what keeps it", base: wellNode,
				change: alone(func(h *forensics.Held) {
					h.Holders = []procs.Holder{{PID: 5000, Kind: procs.HoldFD, FD: 4, Path: "/log", MountID: 900, Device: "0:60"}}
				}), want: []string{"warning mount 900"}, says: "what keeps it is not visible",
			},
			{
				name: "in a namespace whose processes came or went", base: wellNode,
				change: holding(func(h *forensics.Held) {
					h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: podCopy}}
				}),
				want: []string{"info mount 900"}, says: "came or went",
			},
			{
				name: "a container's own mount is only information", base: wellNode,
				change: leaked(mounts.Mount{ID: 901, Device: "0:61", Root: "/", MountPoint: "/data", FSType: "fuse.s3fs", Source: "s3fs"}),
				want:   []string{"info mount 901"}, says: "is not mounted on the host, but in the mount namespace of process 5001",
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
				name: "an open file", base: wellNode, change: detach(procs.Holder{Kind: procs.HoldFD, FD: 3, Path: "/log", MountID: 88}),
				want: []string{"warning mount 88"}, says: "process 5000 (nginx)",
			},
			{
				name: "a mapped file, of which only the superblock is known", base: wellNode,
				change: detach(procs.Holder{Kind: procs.HoldMap, FD: -1, Path: "/lib.so", Device: "0:77"}), want: []string{"warning superblock 0:77"},
			},
			{
				name: "a mount that is being prepared", base: wellNode,
				change: detach(procs.Holder{Kind: procs.HoldFD, FD: 3, Path: "/", MountID: 88}), want: []string{"info mount 88"},
			},
			{name: "a hold on a mount of the table", base: wellNode, change: busy(procs.Holder{PID: 5000, Kind: procs.HoldFD}), outcome: clean},
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
			{name: "nobody serves it", base: sickNode, change: holding(func(h *forensics.Held) {
				h.Servers = []forensics.FUSEServer{{Device: "0:47", Why: "no process has its connection open"}}
			}), want: []string{"warning superblock 0:47"}, says: "no process serves"},
			{name: "nobody serves it, and callers wait", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				holding(func(h *forensics.Held) {
					h.Servers = []forensics.FUSEServer{{Device: "0:47", Why: "no process has its connection open"}}
				})(tb, e)
				for i := range e.Health {
					e.Health[i].Status = mounts.StatusHung
				}
			}, want: []string{"warning superblock 0:47"}, says: "its connection is still open"},
			{name: "nobody serves it, and it answers", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
				holding(func(h *forensics.Held) {
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
				e.Held.Servers[0].Guess = true
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
				e.Held.Holders = append(e.Held.Holders, procs.Holder{PID: 6000, Kind: procs.HoldFD, FD: 5, Path: other, Device: "0:90"})
			}, outcome: clean},
			{name: "whose name is that of its subcommand", base: wellNode, change: server("S", "rclone", "cephfs-data",
				kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~nfs/other"), want: []string{"warning process 6000"}, says: "was started for"},
			{name: "with a cache in another pod", base: wellNode, change: server("S", "gcsfuse",
				"--cache-dir="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~empty-dir/cache"), outcome: clean},
			{name: "with credentials of its own pod", base: wellNode, change: server("S", "s3fs",
				"-opasswd_file="+kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~secret/keys/passwd"), outcome: clean},
			{name: "guessed", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
				server("S", "glusterfs", kubeletRoot+"/pods/"+liveUID+"/volumes/kubernetes.io~glusterfs/other")(tb, e)
				e.Held.Servers[0].Guess = true
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

// TestStoppedServerExplainsHang follows the chain from the kubelet to the process that was stopped.
func TestStoppedServerExplainsHang(t *testing.T) {
	for state, want := range map[string]string{"T": "process 6000", "S": "superblock 0:47"} {
		e := sickNode(t)
		server(state, "ceph-fuse")(t, &e)
		a := forensics.Analyze(&e, All())
		if len(a.Diagnoses) == 0 || a.Diagnoses[0].Root.String() != want || a.Diagnoses[0].Severity != forensics.Critical {
			t.Errorf("server in state %s: diagnoses %v, want the first critical, with root %s", state, roots(a), want)
		}
	}
}

func roots(a forensics.Analysis) []string {
	var list []string
	for _, d := range a.Diagnoses {
		list = append(list, fmt.Sprintf("%s %s", d.Severity, d.Root))
	}
	return list
}

// TestStoppingDespiteAWait tells waits that SIGKILL ends, as those for an NFS server, from others.
func TestAnotherExaminationIsLetAlone(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		3 * time.Second: "may be under way", -time.Second: "may be under way", time.Hour: "never came back from this mount",
	} {
		e := wellNode(t)
		e.Mounts.Mounts[2].MountPoint = kubeletRoot + "/plugins/kubernetes.io/csi/nfs.csi.k8s.io/4f2a/globalmount"
		busy(procs.Holder{PID: 6001, Kind: procs.HoldFD, FD: 7, Path: e.Mounts.Mounts[2].MountPoint})(t, &e)
		process(procs.Process{PID: 6001, Comm: "nodeforensics", State: "S", Command: []string{}, Started: e.Collected.Add(-ago)})(t, &e)
		a := forensics.Analyze(&e, []forensics.Check{UnmountBusy})
		if len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Remedies[0].Why, want) {
			t.Errorf("begun %s before: %+v, want %q", ago, a.Findings, want)
		}
	}
}

func TestStoppingDespiteAWait(t *testing.T) {
	step := func(command string) forensics.Remedy {
		return forensics.Remedy{Command: command, Precondition: "its owner agrees", Risk: "what it does is interrupted"}
	}
	for _, tt := range []struct {
		kill, command, want string
		first               bool // the wait has to be ended first
	}{
		{"yes", "kill 5000", "kill -9 5000", false},
		{"no", "kill 5000", "kill 5000", true},
		{"", "kill 5000", "kill 5000", true},
		{"yes", "systemctl restart kubelet", "systemctl restart kubelet", false}, // in the end, systemd sends SIGKILL
	} {
		got := despiteWait(step(tt.command), waiter{thread: procs.Thread{PID: 5000, TID: 5001, Wait: procs.Wait{Kill: tt.kill}}})
		if got.Command != tt.want || strings.Contains(got.Precondition, "the wait of its thread 5001 has been ended first") != tt.first {
			t.Errorf("%s, kill %q: %+v", tt.command, tt.kill, got)
		}
	}
}

// TestOrderOfStopping has a dead FUSE mount that one process holds which can be stopped at once, and another that waits for it
// as no signal ends: that one comes after the step that ends its wait.
func TestOrderOfStopping(t *testing.T) {
	e := sickNode(t)
	for _, pid := range []int{5000, 5001} {
		busy(procs.Holder{PID: pid, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	}
	process(procs.Process{PID: 5001, Comm: "tail", State: "S", Command: []string{"tail"}})(t, &e)
	blockedIn(procs.Thread{PID: 5000, TID: 5000, MountID: 60, Device: "0:47", Stack: []string{}, Wait: procs.Wait{Kind: procs.WaitFUSE}})(t, &e)
	var got []string
	for _, r := range forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings[0].Remedies {
		got = append(got, r.Command)
	}
	want := []string{"kill 5001", "echo 1 > /sys/fs/fuse/connections/47/abort", "kill 5000", "umount -c " + deadPoint}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestUnpinning wants the way to where a namespace is mounted, which may be in another one than the host's.
func TestUnpinning(t *testing.T) {
	const pod = "umount -c /host" + deadPoint
	for name, c := range map[string]struct {
		pins []forensics.PinnedNamespace
		want []string
	}{
		"on the host": {
			[]forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/inside", MountNS: 7}, {Namespace: 99, MountPoint: "/run/x", MountNS: 1}},
			[]string{"nsenter --mount=/run/x " + pod, "umount -c /run/x"},
		},
		"in a container": {
			[]forensics.PinnedNamespace{{Namespace: 99, MountPoint: "/run/x", MountNS: 7}},
			[]string{"nsenter --mount=/proc/5001/root/run/x " + pod, "nsenter -m -t 5001 umount -c /run/x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := wellNode(t)
			e.Mounts.Namespace = 1
			holding(func(h *forensics.Held) {
				m := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
				h.Leaked, h.Pinned = []forensics.LeakedMount{{Namespace: 99, Mount: m}}, c.pins
			}, process(procs.Process{PID: 5001, Comm: "dind", State: "S", MountNS: 7}))(t, &e)
			var got []string
			for _, r := range forensics.Analyze(&e, []forensics.Check{MountLeakedNamespace}).Findings[0].Remedies {
				got = append(got, r.Command)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStepsForALeakedMount wants all copies unmounted, inner ones first, before the processes are stopped that the steps go
// through, and all of those: the namespace ends with the last.
func TestStepsForALeakedMount(t *testing.T) {
	e := wellNode(t)
	outer := mounts.Mount{ID: 900, Device: "0:60", Root: "/", MountPoint: "/host" + deadPoint, FSType: "nfs4", Source: "10.0.0.9:/x"}
	inner := outer
	inner.ID, inner.MountPoint = 901, outer.MountPoint+"/in it"
	agent := procs.Process{PID: 5001, Comm: "agent", State: "S", MountNS: 99, Command: []string{}}
	helper := agent
	helper.PID = 5002
	other := outer
	other.ID, other.Device, other.MountPoint = 902, "0:61", strings.Replace(outer.MountPoint, "cephfs-data", "other", 1)
	holding(func(h *forensics.Held) {
		h.Leaked = []forensics.LeakedMount{{Namespace: 99, Mount: outer}, {Namespace: 99, Mount: inner}, {Namespace: 99, Mount: other}}
	}, process(agent), process(helper))(t, &e)
	var got []string
	for _, r := range forensics.Analyze(&e, []forensics.Check{MountLeakedNamespace}).Diagnoses[0].Remedies {
		got = append(got, r.Command)
	}
	want := []string{
		"nsenter -m -t 5001 umount -c '" + inner.MountPoint + "'", "nsenter -m -t 5001 umount -c " + outer.MountPoint,
		"nsenter -m -t 5001 umount -c " + other.MountPoint, "kill 5001 5002",
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

// TestStoppingWhatAPodHasLeft wants no deletion of a pod that is being deleted: its process goes on in spite of that.
func TestStoppingWhatAPodHasLeft(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(testing.TB, *forensics.Evidence)
	}{
		{"a pod that lives", "Delete the pod default/db (" + deadUID + ") (kubectl delete pod), or have its container restarted", nil},
		{"a pod that is going", "kill 5002", deleting("volumes", "10:05:00", nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := wellNode(t)
			e.Pods = []kubelet.Pod{}
			both(busy(procs.Holder{PID: 5002, Kind: procs.HoldCwd, Path: deadPoint}), process(procs.Process{PID: 5002, Comm: "postgres", State: "S", PodUID: deadUID}),
				tells(event(logs.KindUnmountBusy, 9, "10:05:01", "10:12:00", logs.Subject{PodUID: deadUID, PodName: "default/db", Path: deadPoint})))(t, &e)
			if tt.change != nil {
				tt.change(t, &e)
			}
			var got []string
			for _, f := range forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings {
				for _, r := range f.Remedies {
					got = append(got, r.Command)
				}
			}
			if want := []string{tt.want, "umount -c " + deadPoint}; !slices.Equal(got, want) {
				t.Errorf("steps %q, want %q", got, want)
			}
		})
	}
}

// TestStoppingProcesses wants no command that stops what must not be stopped, or a unit that does not exist.
func TestStoppingProcesses(t *testing.T) {
	e := wellNode(t)
	for pid, comm := range map[int]string{1: "systemd", 7: "dockerd", 8: "kubelet", 9: "nginx"} {
		process(procs.Process{PID: pid, Comm: comm, State: "S"})(t, &e)
	}
	p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
	for pid, want := range map[int]string{
		1: "Find out what process 1 (systemd) does with it", 7: "systemctl restart docker", 8: "systemctl restart kubelet", 9: "kill 9",
	} {
		if got := stopHolder(p, pid).Command; got != want {
			t.Errorf("process %d: %q, want %q", pid, got, want)
		}
	}
	if r := reapRemedy(p, 1); strings.Contains(r.Command, "kill") || !strings.HasPrefix(r.Why, "process 1 (systemd) is to reap them") {
		t.Errorf("zombies of process 1: %+v", r)
	}
}

// TestBusyTellsWhatIsNotSeen wants the processes to be named that may hold it, too.
func TestBusyTellsWhatIsNotSeen(t *testing.T) {
	e := sickNode(t)
	busy(procs.Holder{PID: 5000, Kind: procs.HoldFD, FD: 7, Path: deadPoint + "/log"})(t, &e)
	e.Held.Unseen = []string{"process 5003: its thread 5003 (cat) closes a file"}
	f := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings[0]
	if want := "Of some processes it is not known what they hold: process 5003: its thread 5003 (cat) closes a file."; !strings.Contains(f.Detail, want) {
		t.Errorf("says %s, want %q", f.Detail, want)
	}
}

// TestRemediesOfKernelUsers wants what is mounted to go first, and a command for each.
func TestRemediesOfKernelUsers(t *testing.T) {
	e := sickNode(t)
	holding(func(h *forensics.Held) {
		for _, k := range []mounts.KernelUser{
			{Use: mounts.UseBinfmt, What: "/proc/sys/fs/binfmt_misc/qemu-arm", Detail: deadPoint + "/qemu"},
			{Use: mounts.UseLoop, What: "/dev/loop3", Detail: deadPoint + "/image", UsedBy: []string{"/mnt/inner", "/dev/dm-1"}},
			{Use: mounts.UseUprobe, What: "bcc/malloc", Detail: deadPoint + "/libc.so"},
			{Use: mounts.UseImage, UserMount: 71, What: "/layers/1", Detail: deadPoint + "/layer.erofs"},
			{Use: mounts.UseMount, UserMount: 72, What: deadPoint + "/a/b"},
		} {
			k.MountID, k.Device, k.Blocks = 60, "0:47", true
			h.Kernel = append(h.Kernel, k)
		}
	})(t, &e)
	f := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Findings[0]
	for i, want := range []string{
		"umount -c " + deadPoint + "/a/b", "umount -c /layers/1", "echo -1 > /proc/sys/fs/binfmt_misc/qemu-arm",
		"losetup -d /dev/loop3", "echo -:bcc/malloc >> /sys/kernel/tracing/uprobe_events",
	} {
		if got := f.Remedies[i].Command; got != want {
			t.Errorf("step %d is %q, want %q", i, got, want)
		}
	}
	for _, want := range []string{deadPoint + "/layer.erofs is mounted at /layers/1 (mount 71)", "has its interpreter " + deadPoint + "/qemu open", "loop device /dev/loop3 uses " + deadPoint + "/image, and is itself in use by /mnt/inner, /dev/dm-1", "uprobe event bcc/malloc is in " + deadPoint + "/libc.so"} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("says %s, want %q", f.Detail, want)
		}
	}
}

// TestRemediesOfFUSE wants the commands that fit: a signal moves no server that a debugger has stopped, and the connection
// of a fuseblk mount is not called by its minor number, which may be that of another.
func TestRemediesOfFUSE(t *testing.T) {
	for state, want := range map[string]string{"T": "kill -CONT 6000", "t": "grep TracerPid /proc/6000/status"} {
		e := sickNode(t)
		server(state, "ceph-fuse")(t, &e)
		f := forensics.Analyze(&e, []forensics.Check{FUSEServerDead}).Findings[0]
		if got := f.Remedies[0].Command; got != want {
			t.Errorf("state %s: remedy %q, want %q", state, got, want)
		}
	}
	for state, want := range map[string][]string{
		"T": {"kill -CONT 6000"}, "S": {"Look at process 6000 (ceph-fuse), which has the connection of "},
	} {
		e := sickNode(t)
		both(server(state, "ceph-fuse"), busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, Path: deadPoint}))(t, &e)
		want = append(want, "echo 1 > /sys/fs/fuse/connections/47/abort", "kill 5000", "umount -c -l "+deadPoint)
		var got []string
		for _, r := range forensics.Analyze(&e, []forensics.Check{MountHung, FUSEServerDead, UnmountBusy}).Diagnoses[0].Remedies {
			got = append(got, r.Command)
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("state %s: steps %q, want %q", state, got, want)
		}
	}
	for device, want := range map[string]string{"0:46": "/46/", "7:46": "/7340078/"} {
		if got := abortFUSE(mounts.Mount{Device: device}).Command; !strings.Contains(got, want) {
			t.Errorf("%s: remedy %q, want connection %s", device, got, want)
		}
	}
}

// TestStepsOfADiagnosis wants holders stopped before anything is unmounted, and the plan last, from whatever findings the
// steps are.
func TestStepsOfADiagnosis(t *testing.T) {
	for state, want := range map[mounts.Status][]string{
		mounts.StatusOK:           {"kill 5000", "umount -c " + deadPoint, planFirst().Command},
		mounts.StatusDisconnected: {"kill 5000", "umount -c " + deadPoint, "umount -c -l " + deadPoint, planFirst().Command},
	} {
		e := sickNode(t)
		e.Threads, e.Dumps = nil, nil
		both(status(state), busy(procs.Holder{PID: 5000, Kind: procs.HoldCwd, Path: deadPoint}))(t, &e)
		var got []string
		for _, d := range forensics.Analyze(&e, []forensics.Check{PodOrphanedMounted, MountDisconnected, UnmountBusy}).Diagnoses {
			for _, r := range d.Remedies {
				got = append(got, r.Command)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: steps %q, want %q", state, got, want)
		}
	}
}

// TestSinceCountsFromTheSecondLook has a thread that waits for 32 s at the second look, 7 s after the examination began.
func TestSinceCountsFromTheSecondLook(t *testing.T) {
	e := sickNode(t)
	waited := 32.0
	e.Threads[0].WaitSeconds, e.Threads[0].SampledSeconds = &waited, 7
	for i := range e.Dumps[0].Goroutines {
		e.Dumps[0].Goroutines[i].WaitMinutes = 0
	}
	want := e.Collected.Add(-25 * time.Second)
	for _, f := range forensics.Analyze(&e, []forensics.Check{ThreadBlocked, KubeletHousekeepingBlocked}).Findings {
		if f.Since == nil || !f.Since.Equal(want) {
			t.Errorf("%s: since %v, want %v", f.Title, f.Since, want)
		}
	}
}
