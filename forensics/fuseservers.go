package forensics

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// FUSEServer is a process that serves a FUSE file system, as [Uses.Servers] judges it.
type FUSEServer struct {
	// Device is the superblock that it serves.
	Device string `json:"device"`
	// PID is the process. 0 is no process: every process could be read, and none has the connection open.
	PID int `json:"pid,omitempty"`
	// Guess says that the kernel does not show which connection a process serves (before Linux 6.16). Why is the evidence
	// of the entry.
	Guess bool   `json:"guess,omitempty"`
	Why   string `json:"why"`
	// Waiting are the requests of all callers that have not been answered; absent where the control file system of FUSE is
	// not mounted.
	Waiting *int `json:"requests_waiting,omitempty"`
	// Detached says that its file system is in no readable mount table, and callers wait for it: most likely it was
	// unmounted lazily. OnlyWaiting says that they wait for no other FUSE file system of the machine.
	Detached    bool `json:"detached,omitempty"`
	OnlyWaiting bool `json:"only_waiting,omitempty"`
}

// FUSEUse is the evidence about the processes behind FUSE file systems. [Uses.Servers] judges which process serves which file system.
type FUSEUse struct {
	// Superblocks are the FUSE file systems of all mount tables that were read.
	Superblocks []string `json:"superblocks"`
	// Devices are the descriptors of /dev/fuse.
	Devices []holders.FUSEDevice `json:"devices"`
	// Named are the FUSE file systems that command lines of their processes name. They are collected only if the kernel shows the
	// connection of no descriptor.
	Named []FUSENamed `json:"named"`
	// Queues are the requests that wait in each connection of the machine; none if the control file system of FUSE is not
	// mounted.
	Queues []mounts.FUSEQueue `json:"queues"`
	// Complete says that the descriptors of every process could be read.
	Complete bool `json:"complete,omitempty"`
}

// FUSENamed says that the command line of a process names a FUSE file system.
type FUSENamed struct {
	PID    int    `json:"pid"`
	Device string `json:"device"`
	// Source says that it names its source, and not a mount point; Own that the mount point is in the process's own mount namespace.
	Source bool `json:"source,omitempty"`
	Own    bool `json:"own_mount_point,omitempty"`
	// Started is the volume that the command line names beside the mount point, if a saved text shows that the mount there is of another one:
	// Shows. A live run has neither: the kernel tells it which process serves which mount.
	Started string `json:"started_for,omitempty"`
	Shows   string `json:"shows,omitempty"`
}

// judgeServers finds the server of each FUSE file system.
func judgeServers(use *FUSEUse) []FUSEServer {
	j := serverJudge{use: use, connections: map[uint64][]holders.FUSEDevice{}, named: map[int][]FUSENamed{}, waiting: map[uint64]int{}}
	for _, d := range use.Devices {
		if d.Connection != 0 {
			j.connections[uint64(d.Connection)] = append(j.connections[uint64(d.Connection)], d)
		}
	}
	for _, n := range use.Named {
		j.named[n.PID] = append(j.named[n.PID], n)
		if known := j.candidates[n.Device]; len(known) == 0 || known[len(known)-1] != n.PID {
			if j.candidates == nil {
				j.candidates = map[string][]int{}
			}
			j.candidates[n.Device] = append(known, n.PID)
		}
	}
	for _, q := range use.Queues {
		if len(q.Requests) > 0 {
			j.waiting[mounts.FUSEConnection(q.Device)] = q.Requests[len(q.Requests)-1]
		}
	}
	servers := []FUSEServer{}
	for _, device := range use.Superblocks {
		found := j.connected(device)
		if len(j.connections) == 0 {
			found = j.guess(device)
		}
		if len(found) == 0 && use.Complete && (len(j.connections) > 0 || len(use.Devices) == 0) {
			found = []FUSEServer{{Device: device, Why: "no process has its connection open"}}
		}
		servers = append(servers, found...)
	}
	servers = append(servers, j.detached()...)
	for i := range servers {
		if n, ok := j.waiting[mounts.FUSEConnection(servers[i].Device)]; ok {
			servers[i].Waiting = &n
		}
	}
	return servers
}

type serverJudge struct {
	use         *FUSEUse
	connections map[uint64][]holders.FUSEDevice // those with a known connection
	named       map[int][]FUSENamed             // by process
	candidates  map[string][]int                // processes that name a superblock
	waiting     map[uint64]int                  // requests, by connection
}

// connected lists the processes that have the connection of a superblock open, as the kernel shows it, each once.
func (j *serverJudge) connected(device string) []FUSEServer {
	var found []FUSEServer
	seen := map[int]bool{}
	for _, d := range j.connections[mounts.FUSEConnection(device)] {
		if seen[d.PID] {
			continue
		}
		seen[d.PID] = true
		found = append(found, FUSEServer{
			Device: device, PID: d.PID, Why: fmt.Sprintf("descriptor %d of process %d is connection %d", d.FD, d.PID, d.Connection),
		})
	}
	return found
}

// guess finds the processes that most likely serve a superblock: those that name one of its mount points, in their own
// mount namespace if there are any. Otherwise it finds those that name its source and no mount point of a FUSE
// file system, because many mounts may have the same source.
func (j *serverJudge) guess(device string) []FUSEServer {
	own := func(n FUSENamed) bool { return n.Own }
	point := func(n FUSENamed) bool { return !n.Source }
	source := func(n FUSENamed) bool { return n.Source }
	for _, way := range []struct {
		fits, not func(FUSENamed) bool // what it must not name any file system by
		what      string
	}{
		{own, nil, "mount point"}, {point, own, "mount point"}, {source, point, "source"},
	} {
		var found []FUSEServer
		for _, pid := range j.candidates[device] {
			fits, other := false, false
			for _, n := range j.named[pid] {
				fits = fits || n.Device == device && way.fits(n)
				other = other || way.not != nil && way.not(n)
			}
			if fits && !other {
				found = append(found, FUSEServer{
					Device: device, PID: pid, Guess: true,
					Why: fmt.Sprintf("process %d has /dev/fuse open and its command line names the %s", pid, way.what),
				})
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// detached are the servers of FUSE file systems that callers wait for and that are in no table.
func (j *serverJudge) detached() []FUSEServer {
	mounted, waitedFor := map[uint64]bool{}, 0
	for _, device := range j.use.Superblocks {
		mounted[mounts.FUSEConnection(device)] = true
	}
	for _, n := range j.waiting {
		if n > 0 {
			waitedFor++
		}
	}
	var found []FUSEServer
	for _, d := range j.use.Devices {
		number := uint64(d.Connection)
		if number == 0 || mounted[number] || j.waiting[number] == 0 {
			continue
		}
		mounted[number] = true
		for _, s := range j.connected(mounts.ConnectionDevice(number)) {
			s.Detached, s.OnlyWaiting = true, waitedFor == 1
			found = append(found, s)
		}
	}
	return found
}
