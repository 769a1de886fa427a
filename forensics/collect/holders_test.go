package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
)

// servers are who serves FUSE file systems by what was seen.
func servers(use forensics.FUSEUse, complete bool) []forensics.FUSEServer {
	e := forensics.NewEvidence()
	use.Complete = complete
	e.MountUse = &forensics.MountUse{FUSE: use}
	return forensics.NewModel(&e).Uses().AllServers()
}

func TestGuessServers(t *testing.T) {
	const host, container = 4026531840, 4026532184
	fuse := func(ns uint64, device, point, source string) fuseMount {
		return fuseMount{mounts.Mount{Device: device, MountPoint: point, Source: source, FSType: "fuse.ceph-fuse", Class: mounts.ClassFUSE}, ns}
	}
	list := []fuseMount{
		fuse(host, "0:46", "/mnt/a", "server:/a"), fuse(host, "0:46", "/mnt/bind", "server:/a"),
		fuse(container, "0:46", "/inside/a", "server:/a"),
		fuse(host, "0:47", "/mnt/b", "server:/a"), // another of the same source
		fuse(host, "0:48", "/mnt/s1", "s3fs"),
		fuse(host, "0:49", "/data", "host"), fuse(container, "0:50", "/data", "container"),
	}
	commands := map[int][]string{
		10: {"ceph-fuse", "-o", "x", "/mnt/a"}, 11: {"other", "/mnt/elsewhere"}, 12: {"bindfs", "server:/a", "/mnt/b"},
		13: {"s3fs", "bucket", "s1"}, 14: {"driver", "--mount=/inside/a"}, 15: {"bindfs", "server:/a", "b"}, 16: {"fuse", "/data"}, 17: {},
	}
	type server struct {
		Device string
		PID    int
		Guess  bool
	}
	for name, c := range map[string]struct {
		devices  []holders.FUSEDevice
		complete bool
		want     []server
	}{
		"the kernel tells":               {[]holders.FUSEDevice{{PID: 11, Connection: 46}, {PID: 10, Connection: 9}}, false, []server{{"0:46", 11, false}}},
		"two descriptors of one process": {[]holders.FUSEDevice{{PID: 11, FD: 3, Connection: 46}, {PID: 11, FD: 4, Connection: 46}}, false, []server{{"0:46", 11, false}}},
		"an old kernel: the mount point": {[]holders.FUSEDevice{{PID: 10}, {PID: 11}}, true, []server{{"0:46", 10, true}}},
		"an old kernel: two mounts of one source are told by their mount points": {
			[]holders.FUSEDevice{{PID: 10}, {PID: 12}}, true, []server{{"0:46", 10, true}, {"0:47", 12, true}},
		},
		"an old kernel: a server that names one mount point is not that of another": {[]holders.FUSEDevice{{PID: 12}}, true, []server{{"0:47", 12, true}}},
		"an old kernel: the source, where no mount point is named": {
			[]holders.FUSEDevice{{PID: 15}}, true, []server{{"0:46", 15, true}, {"0:47", 15, true}},
		},
		"an old kernel: the name of the program is no source": {[]holders.FUSEDevice{{PID: 13}}, true, nil},
		"an old kernel: the mount point in a container":       {[]holders.FUSEDevice{{PID: 14, MountNS: container}}, true, []server{{"0:46", 14, true}}},
		"an old kernel: the same mount point in a container and on the host": {
			[]holders.FUSEDevice{{PID: 16, MountNS: container}}, true, []server{{"0:50", 16, true}},
		},
		"an old kernel: nobody names it":       {[]holders.FUSEDevice{{PID: 11}, {PID: 17}}, true, nil},
		"not all processes could be looked at": {nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []server
			for _, s := range servers(fuseUse(list, c.devices, func(pid int) []string { return commands[pid] }, nil), c.complete) {
				if s.Why == "" {
					t.Errorf("server %+v", s)
				}
				got = append(got, server{s.Device, s.PID, s.Guess})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
	for name, devices := range map[string][]holders.FUSEDevice{
		"the kernel tells, and nobody serves them": {{PID: 11, Connection: 9}}, "nobody has the device open": nil,
	} {
		for _, s := range servers(fuseUse(list, devices, func(int) []string { return nil }, nil), true) {
			if s.PID != 0 || s.Guess {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

func TestDetachedServers(t *testing.T) {
	list := []fuseMount{{mounts.Mount{Device: "0:46", Class: mounts.ClassFUSE}, 1}}
	devices := []holders.FUSEDevice{{PID: 10, Connection: 46}, {PID: 11, Connection: 47}, {PID: 11, FD: 4, Connection: 47}, {PID: 12}, {PID: 13, Connection: 7 << 20}}
	for name, c := range map[string]struct {
		waiting map[uint64]int
		want    []forensics.FUSEServer
	}{
		"nobody waits":            {map[uint64]int{46: 0, 47: 0}, nil},
		"waits for a mounted one": {map[uint64]int{46: 1, 47: 0}, nil},
		"not known":               {nil, nil},
		"waits for one":           {map[uint64]int{46: 0, 47: 2}, []forensics.FUSEServer{{Device: "0:47", PID: 11, Detached: true, OnlyWaiting: true}}},
		"waits for others, too":   {map[uint64]int{46: 1, 47: 2}, []forensics.FUSEServer{{Device: "0:47", PID: 11, Detached: true}}},
		"on a disk":               {map[uint64]int{7 << 20: 1}, []forensics.FUSEServer{{Device: "7:0", PID: 13, Detached: true, OnlyWaiting: true}}},
	} {
		var got []forensics.FUSEServer
		for _, s := range servers(fuseUse(list, devices, func(int) []string { return nil }, c.waiting), false) {
			if s.Device != "0:46" {
				s.Why, s.Waiting = "", nil
				got = append(got, s)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFindMounts(t *testing.T) {
	const pods = "/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/"
	table := mounts.Table{Mounts: []mounts.Mount{
		{ID: 1, MountPoint: "/"},
		{ID: 2, ParentID: 1, MountPoint: pods + "volumes/kubernetes.io~csi/pvc-1/mount"},
		{ID: 3, ParentID: 1, MountPoint: pods + "volume-subpaths/pvc-1/app/0"},
		{ID: 4, ParentID: 2, MountPoint: pods + "volumes/kubernetes.io~csi/pvc-1/mount"},
	}}
	for query, want := range map[string][]int{
		pods + "volumes/kubernetes.io~csi/pvc-1/mount":      {4, 2},
		pods + "volumes/kubernetes.io~csi/pvc-1/mount/file": {4},
		"/etc": {1}, "5c948341-c030-4996-b888-f032577d97b0": {4, 3, 2}, "pvc-1": {4, 3, 2}, "pvc": nil, "": nil,
		"kubepods-burstable-pod5c948341_c030_4996_b888_f032577d97b0.slice": {4, 3, 2}, "5c948341_c030_4996_b888_f032577d97b0": {4, 3, 2},
		"5c94": {4, 3, 2}, "5c948341-c0": {4, 3, 2}, "5c948341_c0": {4, 3, 2}, "5c9": nil, "6c94": nil, "c030": nil,
		pods: {4, 3, 2}, pods + "volume-subpaths": {3}, "/var/": {4, 3, 2}, "/var/lib/kubelet/pods/5": {1}, "/": {1}, "//": {1},
	} {
		var got []int
		for _, m := range FindMounts(&table, query) {
			got = append(got, m.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// TestTooManyHolders has a pod whose first process alone has more files open on its volume than are kept, and other processes
// on the same volume that come later.
func TestTooManyHolders(t *testing.T) {
	const uid = "5c948341-c030-4996-b888-f032577d97b0"
	e := forensics.NewEvidence()
	e.Mounts.Mounts = []mounts.Mount{{ID: 60, Device: "0:47", MountPoint: "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~nfs/a"}}
	var list []holders.Holder
	hold := func(pid, count int, pod string) {
		e.Processes = append(e.Processes, procs.Process{PID: pid, PodUID: pod})
		for fd := range count {
			list = append(list, holders.Holder{PID: pid, Kind: holders.HoldFD, FD: fd, MountID: 60, Device: "0:47"})
		}
	}
	hold(1, 50, uid)
	for pid := 2; pid < 50; pid++ {
		hold(pid, 1, uid)
	}
	hold(90, 2, "")
	k := selector{
		model: forensics.NewModel(&e), use: &forensics.MountUse{}, count: map[int]int{}, locals: map[string]bool{},
		want: wanted{ids: map[int]bool{60: true}, most: maxHoldersOfMount},
	}
	k.addAll(list)
	if n := len(k.use.Holders); n != maxHoldersOfMount || k.use.LeftOut != len(list)-n {
		t.Fatalf("%d holders, %d left out, of %d", n, k.use.LeftOut, len(list))
	}
	for i, h := range k.use.Holders[:maxHoldersOfMount-1] {
		if h.PID != i+1 {
			t.Errorf("holder %d is of process %d, want one of each process in order", i, h.PID)
		}
	}
	if last := k.use.Holders[maxHoldersOfMount-1]; last.PID != 90 || last.FD != 0 {
		t.Errorf("the last holder is %+v, want the stranger", last)
	}
}

// TestTooManyKernelUsers has one that blocks behind more than are kept that do not.
func TestTooManyKernelUsers(t *testing.T) {
	k := selector{use: &forensics.MountUse{Kernel: make([]holders.KernelUser, maxKernelUsers)}}
	k.use.Kernel = append(k.use.Kernel, holders.KernelUser{Use: holders.UseLoop, Blocks: true})
	if left := k.boundKernel(); left != 1 || len(k.use.Kernel) != maxKernelUsers || k.use.Kernel[0].Use != holders.UseLoop {
		t.Errorf("%d left out, first %+v: want the loop device first", left, k.use.Kernel[0])
	}
}

// TestDeletedAmongLibraries has the file that fills the disk behind libraries that an update has replaced, in every process.
func TestDeletedAmongLibraries(t *testing.T) {
	e := forensics.NewEvidence()
	k := selector{model: forensics.NewModel(&e), use: &forensics.MountUse{}, count: map[int]int{}, locals: map[string]bool{}, classes: map[string]mounts.Class{
		"8:1": mounts.ClassBlock, "0:50": mounts.ClassNetwork,
	}}
	for range maxDeleted {
		k.add(holders.Holder{PID: 2, Kind: holders.HoldMap, FD: -1, Deleted: true, Device: "8:1", Path: "/lib/libc.so.6"})
		k.add(holders.Holder{PID: 2, Kind: holders.HoldFD, FD: 3, Deleted: true, Device: "0:50", Path: "/nfs/.nfs1"})
	}
	k.add(holders.Holder{PID: 3, Kind: holders.HoldFD, FD: 5, Deleted: true, Device: "8:1", Path: "/var/log/big"})
	if len(k.deleted) != 1 || k.deleted[0].PID != 3 {
		t.Errorf("%d files would be asked for their size, want the one of process 3", len(k.deleted))
	}
}

func TestParsePasswd(t *testing.T) {
	const text = "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\n\nbroken\n:x:5:5:::\nvicky:x:1000:1000::/home:/bin/sh\nother:x:7:7:::\nshort:x:8\n"
	got := parsePasswd([]byte(text), map[int]bool{0: true, 1000: true, 5: true, 8: true, 9: true})
	if diff := cmp.Diff([]forensics.User{{UID: 0, Name: "root"}, {UID: 1000, Name: "vicky"}}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestNestedNodes has a kubelet in a container, a pod of that with a copy of its mounts, and a container of this node.
func TestNestedNodes(t *testing.T) {
	const node = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	copied := mounts.Mount{ID: 9, Device: "0:80", Root: "/", MountPoint: "/copy", FSType: "nfs4"}
	for name, c := range map[string]struct {
		kubelet procs.Process
		leaked  int
	}{
		"a kubelet in a container": {procs.Process{
			PID: 20, Comm: "kubelet", Command: []string{"/usr/bin/kubelet"}, MountNS: 2, Cgroup: node + "/kubelet", ContainerID: node[8:],
		}, 1},
		"a program that only prints": {procs.Process{
			PID: 20, Comm: "kubelet", Command: []string{"/usr/bin/kubelet", "--version"}, MountNS: 2, Cgroup: node, ContainerID: node[8:],
		}, 2},
		"this node's kubelet": {procs.Process{PID: 20, Comm: "kubelet", Command: []string{"/usr/bin/kubelet"}, MountNS: 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Mounts.Namespace = 1
			e.Processes = []procs.Process{
				c.kubelet,
				{PID: 30, Comm: "driver", MountNS: 3, Cgroup: node + "/kubelet/kubepods/pod1"},
				{PID: 40, Comm: "exporter", MountNS: 4, Cgroup: "/kubepods/pod2"},
			}
			n := nestedNodes(&e)
			var foreign []forensics.ForeignMount
			for ns, m := range map[uint64]mounts.Mount{2: copied, 4: copied, 5: {ID: 10, Device: "0:81", Root: "/"}} {
				if table := (mounts.Table{Namespace: ns, Mounts: []mounts.Mount{m}}); !n.owns(&table) && ns != 2 {
					foreign = append(foreign, forensics.ForeignMount{Namespace: ns, Mount: m})
				}
			}
			if foreign = n.others(foreign); len(foreign) != c.leaked {
				t.Errorf("leaked %+v, want %d", foreign, c.leaked)
			}
			if inside := n.owns(&mounts.Table{Namespace: 3}); inside != (c.leaked == 1) {
				t.Errorf("a container of that node is of another: %v", inside)
			}
		})
	}
}

// TestStrangeLeaksCrowdOutNobody has a container with more mounts of its own than are kept, before and after the host's.
func TestStrangeLeaksCrowdOutNobody(t *testing.T) {
	e := forensics.NewEvidence()
	k := newSelector(&e, wanted{ids: map[int]bool{}})
	strange, host := mounts.Table{Namespace: 2, PID: 20}, mounts.Table{Namespace: 3, PID: 30, Owner: 7}
	for range 2 * maxLeaked {
		k.leaked(&strange, foreign.Leak{})
	}
	for i := range 2 * maxLeaked {
		k.leaked(&host, foreign.Leak{Mount: mounts.Mount{ID: i + 1}, On: "/pods/x"})
		k.leaked(&strange, foreign.Leak{})
	}
	kept := map[forensics.ForeignMount]int{}
	for _, l := range k.foreign {
		kept[forensics.ForeignMount{Namespace: l.Namespace, On: l.On, Owner: l.Owner}]++
	}
	want := map[forensics.ForeignMount]int{{Namespace: 2}: maxLeaked, {Namespace: 3, On: "/pods/x", Owner: 7}: maxLeaked}
	if diff := cmp.Diff(want, kept); diff != "" || k.through[2] != 20 || k.through[3] != 30 {
		t.Errorf("through %v; kept (-want +got):\n%s", k.through, diff)
	}
}
