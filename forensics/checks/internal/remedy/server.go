package remedy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// ReviveFrom is the step that fits what is known of the server or disk.
func ReviveFrom(b backing.Backing, m mounts.Mount) forensics.Remedy {
	r, disk := Revive(m), ""
	if at := slices.IndexFunc(b.Disks, func(d backing.DiskState) bool { return d.Suspended || d.Kind == "multipath" }); at >= 0 {
		disk = cmp.Or(b.Disks[at].Map, b.Disks[at].Name)
	}
	named := mapName.MatchString(disk)
	switch b.Fault {
	case backing.FaultBlocklisted:
		r = Tell(r, ActionRepair, "Remove the client from the blocklist (ceph osd blocklist ls, ceph osd blocklist rm), then unmount and mount again")
		r.Why = "the cluster has evicted this client: no call returns by itself, and restoring servers does not help"
		r.OnlyIf = "the reason for the eviction is known: two clients that both write corrupt data"
		r.Risk = "unwritten data is lost"
	case backing.FaultRefused, backing.FaultSilent:
		if b.Ceph != nil {
			return checkCeph(r, "the daemons that are down or stalled")
		} else if m.Class == mounts.ClassNetwork {
			return Tell(r, ActionLook, "Check the service on the server of "+shellword.Quote(m.Source)+": the host responds, the service does not")
		}
	case backing.FaultLost:
		if b.Ceph != nil {
			return checkCeph(r, "the state of "+b.Ceph.OwingNames())
		}
		return Tell(r, ActionLook, "Check that the server of "+shellword.Quote(m.Source)+" is up and its service listens")
	case backing.FaultUnreachable:
		return Tell(r, ActionLook, "Check the network to the server of "+shellword.Quote(m.Source)+", and that its host is up")
	case backing.FaultNoPath:
		if named {
			r.Why = "shows the paths of the disk: " + r.Why
			return Run(r, ActionLook, "multipath", "-ll", disk)
		}
		return Tell(r, ActionRepair, "Restore a path of "+diskWords(disk, m)+": multipath -ll lists them")
	case backing.FaultSuspended:
		r.Why = "the device delays requests until it is resumed"
		r.OnlyIf = "no snapshot or resize is in progress: ask the owner of the program that suspended it"
		r.Risk = "a snapshot in progress becomes inconsistent"
		if named {
			return Run(r, ActionResume, "dmsetup", "resume", disk)
		}
		return Tell(r, ActionResume, "Resume "+diskWords(disk, m)+" (dmsetup resume)")
	}
	return r
}

// diskWords names a disk in an instruction: by what is mounted from it where its own name is not known.
func diskWords(disk string, m mounts.Mount) string {
	if disk == "" {
		return "the disk of " + shellword.Quote(m.Source)
	}
	return "the disk " + shellword.Quote(disk)
}

// checkCeph is to list the daemons of a cluster.
func checkCeph(r forensics.Remedy, shown string) forensics.Remedy {
	r.Why = "shows, with ceph fs status and ceph osd tree, " + shown + ". " + findings.Capital(r.Why)
	return Run(r, ActionLook, "ceph", "-s")
}

// Revive is to check or restore the server or disk of a mount, if nothing more is known about them.
func Revive(m mounts.Mount) forensics.Remedy {
	r := forensics.Remedy{
		Action: ActionRepair, Instruction: "Restore the server of " + shellword.Quote(cmp.Or(m.Source, m.MountPoint)) + ", or the network to it",
		Why:  "once the server responds, every waiting call returns by itself and the kubelet continues: nothing needs a restart",
		Risk: "none",
	}
	if fsfamily.Of(m.FSType).Name == fsfamily.NameCeph {
		r.Risk = "none; it does not help if the server has evicted the session of this client"
	}
	switch m.Class {
	case mounts.ClassFUSE:
		r = Tell(r, ActionLook, "Check the process that serves "+shellword.Quote(m.Source)+" ("+shellword.Quote(m.FSType)+"): is it stopped, blocked or waiting for its own server?")
		r.Why = "if it responds again, every waiting call returns by itself and the kubelet continues"
		r.Risk = "killing or restarting it ends the mount for every pod that uses it: the mount point then answers ENOTCONN until it is unmounted"
	case mounts.ClassBlock:
		r = Tell(r, ActionLook, "Check the disk: dmesg, multipath -ll, the device's state and in-flight requests below /sys/block")
		r.Why = "when a path is restored, all waiting requests finish"
		r.Risk = "reading is harmless; if queueing is disabled (multipath, dmsetup), requests fail and the file system may shut down"
	}
	return r
}

// Continue resumes a stopped process: by a signal, but not if it is traced (ptrace(2), state t).
func Continue(p *forensics.Pass, pid int) forensics.Remedy {
	if process, _ := p.Model.Process(pid); process.State == "t" {
		return forensics.Remedy{
			Action: ActionLook, Command: []string{"grep", "TracerPid", fmt.Sprintf("/proc/%d/status", pid)},
			Why:  "shows the pid of the debugger that has stopped it. When the debugger detaches, the process continues and answers all waiting requests. SIGCONT does not help",
			Risk: "none: read-only",
		}
	}
	return Signal(forensics.Remedy{
		Action: ActionResume,
		Why:    "the process continues and answers all waiting requests",
		OnlyIf: "it was not stopped on purpose (a debugger, a checkpoint)",
		Risk:   "none for the data; requests that have waited long are then executed",
	}, pid, "-CONT")
}
