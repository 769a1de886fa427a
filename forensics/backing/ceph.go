package backing

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// CephState is what the kernel's client of Ceph knows of one file system or RBD.
type CephState struct {
	// Client is its directory below /sys/kernel/debug/ceph, "<fsid>.client<number>".
	Client string `json:"client"`
	// Alike is the number of clients that this may be; all of them with trouble show the same fault. It is 0 if the client is certain.
	// Each superblock has a client of its own, and nothing shows which.
	Alike int `json:"clients_alike,omitempty"`
	// Blocklisted says that the cluster has blocklisted this client; absent where the kernel does not show it (before 5.9).
	Blocklisted *bool `json:"blocklisted,omitempty"`
	// Sessions are those with metadata servers.
	Sessions []CephSession `json:"sessions"`
	// Requests without an answer, by the kind of daemon. Homeless are those of OSDRequests that have no daemon that is up. Unsafe
	// are those of MDSRequests that were answered and wait to be written by the storage daemons.
	MDSRequests     int `json:"mds_requests"`
	Unsafe          int `json:"unsafe_mds_requests"`
	OSDRequests     int `json:"osd_requests"`
	Homeless        int `json:"homeless_osd_requests"`
	MonitorRequests int `json:"monitor_requests"`
	// Oldest is the first request to a metadata server, as the kernel prints it.
	Oldest string `json:"oldest_mds_request,omitempty"`
	// Owing are the daemons that have not answered, as far as the client knows their addresses.
	Owing []CephDaemon `json:"owing,omitempty"`
}

// A CephDaemon is one that has not answered a request.
type CephDaemon struct {
	Name    string `json:"name"`              // "mds0", "osd3"
	Address string `json:"address,omitempty"` // "10.0.0.5:6801"; empty if the client's maps have none
}

// A CephSession is one with a metadata server. The states are those of ceph_session_state_name in fs/ceph/mds_client.c:
// "open" is healthy, "hung" and "closed" are not, "opening" and "reconnecting" wait for the server.
type CephSession struct {
	MDS   int    `json:"mds"`
	State string `json:"state"`
}

const (
	cephDebug   = "/sys/kernel/debug/ceph"
	maxCeph     = 1 << 20
	maxClients  = 256
	maxSessions = 64
)

// ceph finds the client of a mount. If several file systems of one cluster are mounted, several clients match. Then those with trouble
// decide, if all of them show the same; otherwise the result is nil.
func (b *backings) ceph(m *mounts.Mount) *CephState {
	clients := b.clients()
	var found []*CephState
	for i := range clients {
		if c := &clients[i]; c.files && c.may(m) {
			found = append(found, &c.CephState)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	var first *CephState
	for _, c := range found {
		fault, _ := c.fault()
		if fault == FaultNone {
			continue
		}
		if first == nil {
			first = c
		}
		if other, _ := first.fault(); other != fault {
			return nil
		}
	}
	if len(found) == 0 {
		return nil
	}
	if first == nil {
		first = found[0] // all are healthy
	}
	alike := *first
	alike.Alike = len(found)
	return &alike
}

// rbd finds the client of a mapped RBD by what its driver says of it.
func (b *backings) rbd(device string) *CephState {
	number, ok := strings.CutPrefix(device, "rbd")
	number, _, _ = strings.Cut(number, "p") // a partition
	if !ok {
		return nil
	}
	read := func(name string) string {
		text, _ := b.fsys.ReadFile("/sys/bus/rbd/devices/"+number+"/"+name, 256)
		return string(bytes.TrimSpace(text))
	}
	clients := b.clients()
	client := read("cluster_fsid") + "." + read("client_id")
	for i := range clients {
		if clients[i].Client == client {
			return &clients[i].CephState
		}
	}
	return nil
}

// OwingNames are the daemons that have not answered, "mds0 at 10.0.0.5:6809, osd3 at 10.0.0.6:6801".
func (c *CephState) OwingNames() string {
	var names []string
	for _, d := range c.Owing[:min(len(c.Owing), 4)] {
		names = append(names, d.Name+" at "+cmp.Or(d.Address, "no known address"))
	}
	return strings.Join(names, ", ")
}

func (c *CephState) fault() (Fault, string) {
	if c.Blocklisted != nil && *c.Blocklisted {
		return FaultBlocklisted, "the cluster has blocklisted this client: unmount and mount again, unless recover_session=clean is set"
	}
	for _, s := range c.Sessions {
		switch s.State {
		case "hung", "closed", "rejected", "closing":
			return FaultRejected, fmt.Sprintf("the session with mds.%d is %s", s.MDS, s.State)
		}
	}
	mds := c.MDSRequests - c.Unsafe
	switch {
	case c.Homeless > 0:
		return FaultSilent, fmt.Sprintf("no storage daemon (OSD) is up for %s", text.Plural(c.Homeless, "request"))
	case mds > 0 && c.OSDRequests == 0:
		return FaultSilent, "metadata servers (MDS) do not respond, storage daemons have no open request: " + c.Oldest
	case c.OSDRequests > 0 && mds == 0:
		return FaultSilent, "storage daemons (OSD) do not respond, metadata servers have no open request"
	case mds+c.OSDRequests > 0:
		return FaultSilent, "neither metadata servers nor storage daemons respond"
	case c.Unsafe > 0:
		return FaultSilent, "metadata servers (MDS) have answered, but their changes are not yet written to storage: " + c.Oldest
	case c.MonitorRequests > 0:
		return FaultSilent, "monitors do not respond, other daemons have no open request"
	}
	return FaultNone, ""
}
