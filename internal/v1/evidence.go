package v1

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// Schema is the schema of evidence, version 1.
const Schema = "nodeforensics.evidence/v1"

// Evidence is the evidence of a document, of version 1 or of the current version.
type Evidence struct {
	forensics.Evidence
	Health     []mounts.Health `json:"health,omitempty"`
	MountUseV1 *mountUse       `json:"held,omitempty"`
}

// mountUse is forensics.MountUse of version 1.
type mountUse struct {
	forensics.MountUse
	Servers []forensics.FUSEServer   `json:"fuse_servers"`
	Leaked  []forensics.ForeignMount `json:"leaked"`
	Private []forensics.ForeignMount `json:"copies_apart"`
	Copies  []mounts.Copy            `json:"copies"`
}

// Current is the evidence in the current version. Evidence of another schema is returned unchanged.
func (e Evidence) Current() forensics.Evidence {
	if e.Schema != Schema {
		return e.Evidence
	}
	now := e.Evidence
	now.Schema = forensics.EvidenceSchema
	AddHealth(&now, e.Health...)
	if e.MountUseV1 != nil {
		use := e.MountUseV1.MountUse
		use.AllProcesses = true // otherwise the current version reports no mount as detached
		use.Foreign = append(append([]forensics.ForeignMount{}, e.MountUseV1.Leaked...), e.MountUseV1.Private...)
		for _, c := range e.MountUseV1.Copies {
			c.OnGroup, c.Groups = 1, []int{1}
			use.Copies = append(use.Copies, c)
		}
		AddServers(&use, e.MountUseV1.Servers...)
		now.MountUse = &use
	}
	return now
}

// AddServers adds the measurements behind the servers of FUSE file systems to the evidence.
func AddServers(use *forensics.MountUse, list ...forensics.FUSEServer) {
	f := &use.FUSE
	superblocks, devices := map[string]bool{}, map[holders.FUSEDevice]bool{}
	for _, device := range f.Superblocks {
		superblocks[device] = true
	}
	for _, d := range f.Devices {
		devices[d] = true
	}
	for _, s := range list {
		if !superblocks[s.Device] && !s.Detached {
			superblocks[s.Device] = true
			f.Superblocks = append(f.Superblocks, s.Device)
		}
		if s.Waiting != nil {
			f.Queues = append(f.Queues, mounts.FUSEQueue{Device: s.Device, Requests: []int{*s.Waiting}})
		}
		if s.PID == 0 {
			f.Complete = true
			continue
		}
		d := holders.FUSEDevice{PID: s.PID, FD: 3}
		if s.Guess {
			f.Named = append(f.Named, forensics.FUSENamed{PID: s.PID, Device: s.Device, Own: true})
		} else {
			_, _ = fmt.Sscanf(s.Why, "descriptor %d", &d.FD)
			d.Connection = uint32(mounts.FUSEConnection(s.Device))
		}
		if !devices[d] {
			devices[d] = true
			f.Devices = append(f.Devices, d)
		}
		if s.Detached && s.Waiting == nil {
			f.Queues = append(f.Queues, mounts.FUSEQueue{Device: s.Device, Requests: []int{1}})
		}
		if s.Detached && !s.OnlyWaiting { // also by processes that version 1 does not name
			f.Queues = append(f.Queues, mounts.FUSEQueue{Device: "0:1048575", Requests: []int{1}})
		}
	}
}
