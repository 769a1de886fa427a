package remedy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// ReviveFrom is the step that fits to what is known of the server or disk.
func ReviveFrom(b backing.Backing, m mounts.Mount) forensics.Remedy {
	r, disk := Revive(m), ""
	if at := slices.IndexFunc(b.Disks, func(d backing.DiskState) bool { return d.Suspended || d.Kind == "multipath" }); at >= 0 {
		disk = cmp.Or(b.Disks[at].Map, b.Disks[at].Name)
	}
	named := mapName.MatchString(disk)
	switch b.Fault {
	case backing.FaultBlocklisted:
		r = Tell(r, ActionRepair, "Take the client off the blocklist (ceph osd blocklist ls, … rm), then unmount and mount anew")
		r.Why = "the cluster has thrown this client out: no call returns by itself, and bringing servers back changes nothing"
		r.OnlyIf = "it is known why it was evicted: two clients that both write corrupt data"
		r.Risk = "what was not written is lost"
	case backing.FaultRefused, backing.FaultSilent:
		if b.Ceph != nil {
			return askCeph(r, "the daemons that are down or stand still; once they are back, ")
		} else if m.Class == mounts.ClassNetwork {
			return Tell(r, ActionLook, "Look at the service on the server of "+shellword.Quote(m.Source)+": its host answers, it does not")
		}
	case backing.FaultLost:
		if b.Ceph != nil {
			return askCeph(r, "what became of "+b.Ceph.OwingNames()+"; once that is back, ")
		}
		return Tell(r, ActionLook, "Look whether the server of "+shellword.Quote(m.Source)+" is up and its service listens")
	case backing.FaultUnreachable:
		return Tell(r, ActionLook, "Look at the network to the server of "+shellword.Quote(m.Source)+", and whether its host is up")
	case backing.FaultNoPath:
		if named {
			r.Why = "shows the paths of the disk: " + r.Why
			return Run(r, ActionLook, "multipath", "-ll", disk)
		}
		return Tell(r, ActionRepair, "Bring a path of the disk "+shellword.Quote(disk)+" back: multipath -ll shows them")
	case backing.FaultSuspended:
		r.Why = "the device holds requests back until it is resumed"
		r.OnlyIf, r.Risk = "no snapshot or resize is under way: ask whoever has suspended it", "a snapshot that is being taken becomes inconsistent"
		if named {
			return Run(r, ActionResume, "dmsetup", "resume", disk)
		}
		return Tell(r, ActionResume, "Resume the disk "+shellword.Quote(disk)+" (dmsetup resume)")
	}
	return r
}

// askCeph is to ask a cluster for its daemons.
func askCeph(r forensics.Remedy, shown string) forensics.Remedy {
	r.Why = "shows, with ceph fs status and ceph osd tree, " + shown + r.Why
	return Run(r, ActionLook, "ceph", "-s")
}

// Revive is to look at the server or disk of a mount of which nothing more is known.
func Revive(m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Action: ActionRepair, Instruction: "Bring the server of " + shellword.Quote(m.Source) + " back, or the network to it",
		Why:  "every waiting call then returns by itself and the kubelet goes on: nothing needs to be restarted",
		Risk: "none",
	}
	if fsfamily.Of(m.FSType).Name == fsfamily.NameCeph {
		r.Risk = "none; it does not help where the server has dropped this client for good (an evicted session)"
	}
	switch m.Class {
	case mounts.ClassFUSE:
		r = Tell(r, ActionLook, "Look at the process that serves "+shellword.Quote(m.Source)+" ("+shellword.Quote(m.FSType)+"): stopped, blocked or waiting for its own server?")
		r.Why = "if it answers again, every waiting call returns by itself and the kubelet goes on"
		r.Risk = "killing or restarting it ends the mount for every pod that uses it: the mount point then answers ENOTCONN until it is unmounted"
	case mounts.ClassBlock:
		r = Tell(r, ActionLook, "Look at the disk: dmesg, multipath -ll, the device's state and in-flight requests below /sys/block")
		r.Why = "a path that comes back lets all waiting requests finish"
		r.Risk = "reading is harmless; turning queueing off (multipath, dmsetup) makes requests fail and the file system may shut down"
	}
	return r
}

// Continue is how a stopped process goes on: by a signal, but not if it is traced (ptrace(2), state t).
func Continue(p *forensics.Pass, pid int) forensics.Remedy {
	if process, _ := p.Model.Process(pid); process.State == "t" {
		return forensics.Remedy{
			Action: ActionLook, Command: []string{"grep", "TracerPid", fmt.Sprintf("/proc/%d/status", pid)},
			Why:  "names the debugger that has stopped it; once that detaches, it goes on and answers all that waits. SIGCONT does not help",
			Risk: "none: it reads",
		}
	}
	return Signal(forensics.Remedy{
		Action: ActionResume,
		Why:    "it goes on and answers all that waits",
		OnlyIf: "nobody has stopped it on purpose (a debugger, a checkpoint)",
		Risk:   "none for the data; requests that have waited long are then carried out",
	}, pid, "-CONT")
}
