// Package backing says what is behind a file system, and which part of the path to its data has failed: the server of NFS,
// CephFS, RBD or SMB and the connection to it, or a disk and the devices that it consists of.
//
// [Read] reads tables of the kernel only, and sends nothing to the server or the disk: waiting requests and
// their counters (/proc/PID/mountstats of fs/nfs/super.c, /proc/fs/cifs/DebugData), sessions in debugfs
// (net/sunrpc/debugfs.c, fs/ceph/debugfs.c), connections (Documentation/networking/proc_net_tcp.rst, proc_pid_net(5)), block
// devices (Documentation/ABI/stable/sysfs-block, Documentation/block/stat.rst).
package backing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Fault says which part of the path to the data has failed.
type Fault string

// The faults. FaultNone means that nothing that was read shows a fault. That proves nothing.
const (
	FaultNone        Fault = ""
	FaultUnreachable Fault = "unreachable"   // the server's host does not acknowledge data: the host or the network is down
	FaultRefused     Fault = "refused"       // no connection, and none is being made: the host is up, no service listens
	FaultLost        Fault = "no-connection" // no connection, and no attempt to make one was seen: the host or only its service is down
	FaultSilent      Fault = "silent"        // the host acknowledges data, the service does not respond
	FaultBlocklisted Fault = "blocklisted"   // the server has blocklisted this client
	FaultRejected    Fault = "session"       // the session with the server is hung or closed
	FaultOffline     Fault = "offline"       // the disk is lost or was taken offline
	FaultSuspended   Fault = "suspended"     // the device delays requests on purpose
	FaultNoPath      Fault = "no-path"       // multipath has no path left
	FaultBusy        Fault = "in-flight"     // requests to the disk are in flight
)

// A Backing is the server of a file system and the connection to it, or its disk, as the kernel's own tables show them. Reading
// these tables sends nothing to either.
type Backing struct {
	// Device is the superblock.
	Device string `json:"device"`
	// NFS, Ceph and CIFS have the details of their kind; the others are absent. Disks are the device and those that it consists of.
	NFS   *NFSState   `json:"nfs,omitempty"`
	Ceph  *CephState  `json:"ceph,omitempty"`
	CIFS  *CIFSState  `json:"cifs,omitempty"`
	Disks []DiskState `json:"disks"`
	// Connections are the TCP connections to the server.
	Connections []Connection `json:"connections"`
	// Fault is what they show, and Why is the evidence.
	Fault Fault  `json:"fault,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Read reads the servers and disks of the file systems of a table for which want is true: NFS, CephFS (kernel client), CIFS
// and disks. It touches no mounted file system; the files are those of procfs, sysfs and debugfs:
//
//	/proc/PID/mountstats, /proc/PID/net/tcp, tcp6 and arp, /sys/kernel/debug/sunrpc and ceph, /proc/fs/cifs/DebugData,
//	/sys/dev/block
//
// Some take locks of the file system's client, so callers that must not wait call it under package probe. Errors are those
// of files that are there and cannot be read.
func Read(ctx context.Context, fsys nodefs.FS, table *mounts.Table, want func(*mounts.Mount) bool) ([]Backing, []error) {
	b := backings{fsys: fsys, index: table.Index(), proc: "/proc/self/"}
	if table.PID != 0 {
		b.proc = fmt.Sprintf("/proc/%d/", table.PID)
	}
	b.stats = sync.OnceValue(func() []NFSState { return parseMountStats(b.read("nfs", b.proc+"mountstats", maxStats)) })
	b.clients = sync.OnceValue(b.readCeph)
	b.shares = sync.OnceValue(func() []CIFSState { return parseCIFS(b.read("cifs", "/proc/fs/cifs/DebugData", maxStats)) })
	b.tcp = sync.OnceValue(b.readTCP)
	b.rpc = sync.OnceValue(b.readRPC)
	list, seen := []Backing{}, map[string]bool{}
	for i := range table.Mounts {
		m := &table.Mounts[i]
		if ctx.Err() != nil {
			b.errs = append(b.errs, fmt.Errorf("servers and disks: %w", ctx.Err()))
			break
		}
		if seen[m.Device] || want != nil && !want(m) {
			continue
		}
		one := Backing{Device: m.Device, Disks: []DiskState{}, Connections: []Connection{}}
		switch family := fsfamily.Of(m.FSType).Name; {
		case family == fsfamily.NameNFS:
			one.NFS = b.nfs(m)
		case family == fsfamily.NameCeph:
			one.Ceph = b.ceph(m)
		case family == fsfamily.NameCIFS:
			one.CIFS = b.cifs(m)
		case m.Class == mounts.ClassBlock:
			one.Disks = append(one.Disks, b.disks(m.Device, "", maxStack)...)
			for i := 0; i < len(one.Disks) && one.Ceph == nil; i++ {
				one.Ceph = b.rbd(one.Disks[i].Name)
			}
		}
		if one.NFS == nil && one.Ceph == nil && one.CIFS == nil && len(one.Disks) == 0 {
			continue
		}
		seen[m.Device] = true
		switch {
		case one.Ceph != nil && len(one.Ceph.Owing) > 0:
			one.Connections = b.connections(one.Ceph.servers())
		case m.Class == mounts.ClassNetwork:
			one.Connections = b.connections(serversOf(m))
		}
		if one.NFS != nil {
			b.judgeNFS(&one, m)
		} else {
			one.judge()
		}
		list = append(list, one)
	}
	return list, b.errs
}

// backings reads each file once, when it is needed.
type backings struct {
	fsys  nodefs.FS
	index *mounts.Index
	proc  string // the directory of the process that has the table
	errs  []error

	stats   func() []NFSState
	clients func() []cephClient
	shares  func() []CIFSState
	tcp     func() []Connection
	rpc     func() []rpcClient // nil where they are not to be read
}

// read reads a file that may be missing.
func (b *backings) read(what, name string, limit int64) []byte {
	text, err := b.fsys.ReadFile(name, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.errs = append(b.errs, fmt.Errorf("%s: %w", what, err))
	}
	return text
}

// judge says what the parts show together.
func (b *Backing) judge() {
	if len(b.Disks) > 0 {
		b.Fault, b.Why = diskFault(b.Disks, 0)
		if b.Ceph == nil || b.Fault != FaultNone && b.Fault != FaultBusy {
			return
		}
	}
	disk, busy := b.Why, b.Fault
	b.Fault, b.Why = FaultNone, ""
	if b.Ceph != nil {
		b.Fault, b.Why = b.Ceph.fault()
	}
	if b.Fault == FaultNone || b.Fault == FaultSilent {
		b.judgeServer()
	}
	switch {
	case b.Fault == FaultNone:
		b.Fault, b.Why = busy, disk
	case b.Ceph != nil && b.Ceph.Alike > 0:
		b.Why += fmt.Sprintf("; read from one of %d clients of this cluster that cannot be distinguished", b.Ceph.Alike)
	}
}

// judgeServer says what the connections and requests show.
func (b *Backing) judgeServer() {
	outstanding := b.outstanding()
	fault, why := connectionFault(b.Connections, outstanding > 0)
	switch owing := b.Ceph.servers(); {
	case b.Ceph == nil:
	case len(owing) > 0 && len(b.Connections) == 0:
		fault, why = FaultLost, fmt.Sprintf("there is no connection to %s: the service or its host is down", b.Ceph.OwingNames())
	case len(owing) == 0 && fault != FaultUnreachable && b.Ceph.MonitorRequests == 0:
		fault = FaultNone // those are the monitors, which owe nothing
	}
	if fault != FaultNone {
		b.Fault, b.Why = fault, strings.TrimPrefix(b.Why+"; "+why, "; ")
	}
	switch {
	case b.CIFS != nil && !b.CIFS.Connected && (b.Fault == FaultNone || b.Fault == FaultRefused):
		b.Fault, b.Why = FaultLost, "the client has lost its connection and tries to reconnect every few seconds; no attempt to connect was seen"
	case b.Fault == FaultNone && outstanding > 0:
		b.Fault = FaultSilent
	}
	if outstanding > 0 {
		b.Why = strings.TrimPrefix(b.Why+"; "+text.Plural(outstanding, "request")+" in flight", "; ")
	}
}

// Answered removes a fault that only waiting requests suggest. The file system has just answered, and requests of others are in
// flight at any time.
func (b *Backing) Answered() {
	switch b.Fault {
	case FaultSilent, FaultRefused, FaultLost:
		b.Fault, b.Why = FaultNone, ""
	}
}

// outstanding counts the requests that have not been answered.
func (b *Backing) outstanding() int {
	switch {
	case b.Ceph != nil:
		return b.Ceph.MDSRequests + b.Ceph.OSDRequests + b.Ceph.MonitorRequests
	case b.CIFS != nil:
		return b.CIFS.Outstanding
	}
	return 0
}

// option returns the value of an option of the superblock, "" if it is not there.
func option(m *mounts.Mount, name string) string {
	value, _ := m.SuperOption(name)
	return value
}
