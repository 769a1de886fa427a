package logs

import (
	"math"
	"strings"
)

// boot reads "Linux version 6.1.0-18-amd64 (builder@host) (gcc …) #1 SMP …" (init/version.c, linux_banner), which every kernel writes first,
// but for the number of the CPU that it starts on.
func boot(e *entry, o *occurrence) bool {
	version := word(e.Message, "Linux version ", " ")
	o.Subject = Subject{Reason: cut(version, maxName)}
	return strings.HasPrefix(e.Message, "Linux version ") && version != "" && version[0] >= '1' && version[0] <= '9'
}

// hungTask reads `INFO: task X:PID blocked for more than N seconds.`; newer kernels say "blocked in I/O wait for" where it
// is so. Names of tasks may hold colons and blanks.
func hungTask(e *entry, o *occurrence) bool {
	task := between(e.Message, "task ", " blocked")
	name, pid, ok := cutLast(task, ':')
	if !ok {
		return false
	}
	o.Process = cut(name+" ("+pid+")", maxName)
	o.Number = number(word(e.Message, " for more than ", " "))
	return true
}

func nfsServer(e *entry, o *occurrence) bool {
	for _, before := range []string{"nfs: server ", "lockd: server ", "on NFSv4 server "} {
		if server := word(e.Message, before, " "); server != "" {
			o.Server = cut(server, maxName)
			return true
		}
	}
	return false
}

// ceph reads "libceph: mds0 (1)10.0.0.5:6789 socket closed (con state OPEN)", "ceph: mds0 hung", and of newer kernels
// "libceph (FSID eEPOCH): osd2 down" and "ceph: [FSID CLIENT]: mds0 hung".
func ceph(e *entry, o *occurrence) bool {
	_, text, ok := strings.Cut(e.Message, "ceph")
	if ok && strings.HasPrefix(text, " (") {
		_, text, ok = strings.Cut(text, ")")
	}
	text = strings.TrimLeft(text, ": ")
	if strings.HasPrefix(text, "[") {
		_, text, ok = strings.Cut(text, "]")
		text = strings.TrimLeft(text, ": ")
	}
	o.Server = cut(firstWord(text), maxName)
	o.Reason = cut(text, maxReason)
	return ok && cephDaemon(o.Server)
}

// cephDaemon says whether a word is "mds0", "osd12" or "mon1".
func cephDaemon(s string) bool {
	if len(s) < 4 {
		return false
	}
	switch s[:3] {
	case "mds", "osd", "mon":
		return s[3] >= '0' && s[3] <= '9'
	}
	return false
}

// cifs reads `CIFS: VFS: \\S has not responded in 180 seconds. Reconnecting...`, or "Server S has not …".
func cifs(e *entry, o *occurrence) bool {
	before, after, _ := strings.Cut(e.Message, " has not responded in ")
	_, server, _ := cutLast(before, ' ')
	o.Server = cut(strings.Trim(server, `\`), maxName)
	o.Number = number(after)
	return o.Server != ""
}

// cifsStuck reads `CIFS: VFS: \\S sends on sock 00000000f6a7b1c2 stuck for 15 seconds`.
func cifsStuck(e *entry, o *occurrence) bool {
	before, after, _ := strings.Cut(e.Message, " sends on sock ")
	_, server, _ := cutLast(" "+before, ' ')
	o.Server = cut(strings.Trim(server, `\`), maxName)
	o.Number = number(word(after, "stuck for ", " "))
	return strings.HasPrefix(server, `\`)
}

// deviceMarks stand before the name of a device in messages of the block layer, and after it.
var deviceMarks = []struct{ before, ends string }{
	{" dev ", " ,:"},
	{"on device ", " ,:"},
	{"device-mapper: thin: ", " "},
	{"device-mapper: multipath: ", " :"},
	{"Disk failure on ", " ,"},
	{"rbd: rbd", ": "},
	{"drbd ", ": "},
	{"Failing path ", ". "},
	{"nvme ", ": "},
	{"sd ", " "},
	{"connection", ":"},
	{"session", ": "},
}

// device names the disk of a message of the block layer. "sd 2:0:0:1: [sdc] …" has its name in brackets.
func device(e *entry, o *occurrence) bool {
	nameDevice(e, o)
	return o.Device != "fd0" && o.Device != "sr0" // a floppy drive that is only in the BIOS, a drive without a disc
}

// pathDown reads `mpatha: sdb - tur checker reports path is down`.
func pathDown(e *entry, o *occurrence) bool {
	name, _, _ := strings.Cut(e.Message, ": ")
	o.Device, o.Reason = cut(name, maxName), cut(e.Message, maxReason)
	return true
}

func nameDevice(e *entry, o *occurrence) {
	o.Reason = cut(e.Message, maxReason)
	o.Code = ""
	if d := between(e.Message, ": [", "]"); strings.HasPrefix(d, "sd") || strings.HasPrefix(d, "vd") {
		o.Device = cut(d, maxName)
		return
	}
	for _, after := range []string{": hard resetting link", ": remaining active paths"} {
		if before, _, ok := strings.Cut(e.Message, after); ok {
			_, o.Device, _ = cutLast(" "+before, ' ')
			o.Device = cut(o.Device, maxName)
			return
		}
	}
	if _, host, ok := strings.Cut(e.Message, " commands to complete for "); ok {
		o.Device = cut(firstWord(host), maxName)
		return
	}
	if name, _, ok := strings.Cut(e.Message, ".00: "); ok && strings.HasPrefix(name, "ata") { // "ata1.00: disabled"
		o.Device = cut(name, maxName)
		return
	}
	if name, _, ok := strings.Cut(e.Message, ": I/O Cmd("); ok && strings.HasPrefix(name, "nvme") { // "nvme1n1: I/O Cmd(0x2) @ LBA …"
		o.Device = cut(name, maxName)
		return
	}
	for _, m := range deviceMarks {
		if d := word(e.Message, m.before, m.ends); d != "" {
			if m.before == "rbd: rbd" {
				d = "rbd" + d
			}
			o.Device = cut(strings.TrimRight(d, ":."), maxName)
			return
		}
	}
}

// pathsBack reads "mpatha: remaining active paths: 2".
func pathsBack(e *entry, o *occurrence) bool {
	nameDevice(e, o)
	_, paths, _ := strings.Cut(e.Message, ": remaining active paths: ")
	o.Number, o.Reason = number(paths), ""
	return o.Number > 0
}

// scsiDisk reads "sd 8:0:0:1: [sde] Attached SCSI disk": the place of the disk, by host, channel, target and unit, and its name (drivers/scsi/sd.c).
func scsiDisk(e *entry, o *occurrence) bool {
	o.Path, o.Device = cut(between(e.Message, "sd ", ": ["), maxName), cut(between(e.Message, ": [", "]"), maxName)
	return strings.HasPrefix(o.Device, "sd") && strings.Count(o.Path, ":") == 3
}

// fileSystem reads the device in parentheses: "XFS (dm-3): …", "EXT4-fs error (device sda1): …", "EXT4-fs (sda1): …".
func fileSystem(e *entry, o *occurrence) bool {
	o.Reason = cut(e.Message, maxReason)
	o.Code = ""
	for _, before := range []string{"(device ", "XFS (", "EXT4-fs (", "on device "} {
		if d := word(e.Message, before, "): ."); d != "" {
			if before == "on device " { // "Aborting journal on device dm-3-8": the inode of the journal stands behind
				d = withoutJournal(d)
			}
			o.Device = cut(d, maxName)
			return true
		}
	}
	return true
}

// overlayFS reads an error of overlayfs, which does not say of which mount.
func overlayFS(e *entry, o *occurrence) bool {
	o.Reason, o.Code, o.Device = cut(e.Message, maxReason), "EIO", "overlay"
	return true
}

// withoutJournal is the device in the name of a journal, "sdb1" of "sdb1-8".
func withoutJournal(name string) string {
	if device, inode, ok := cutLast(name, '-'); ok && device != "dm" && inode != "" {
		return device
	}
	return name
}

// mounted reads "EXT4-fs (sda1): mounted filesystem <uuid> …": all mounts of one device are one event.
func mounted(e *entry, o *occurrence) bool {
	fileSystem(e, o)
	o.Reason = ""
	return true
}

// jbd2 reads "JBD2: Detected IO errors while flushing file data on sdb1-8".
func jbd2(e *entry, o *occurrence) bool {
	o.Reason = cut(e.Message, maxReason)
	_, d, _ := cutLast(e.Message, ' ')
	o.Device = cut(withoutJournal(strings.TrimRight(d, ".")), maxName)
	return true
}

// oom reads the three messages of a kill:
//
//	oom-kill:constraint=…,oom_memcg=/kubepods/…/pod<uid>,task_memcg=…,task=java,pid=123,uid=0
//	Memory cgroup out of memory: Killed process 123 (java) total-vm:…
//	Out of memory: Kill process 123 (java) score 999 or sacrifice child
//
// Number is the memory that the process had, in MB.
func oom(e *entry, o *occurrence) bool {
	m := e.Message
	if name := word(m, ",task=", ","); name != "" {
		o.Process = cut(name+" ("+word(m, ",pid=", ", ")+")", maxName)
	} else if _, rest, ok := strings.Cut(m, " process "); ok {
		pid, rest, _ := strings.Cut(rest, " ")
		o.Process = cut(between(rest, "(", ")")+" ("+strings.TrimRight(pid, ",")+")", maxName)
	}
	if o.Path = cut(word(m, "oom_memcg=", ", "), maxName); o.Path == "" {
		o.Path = cut(word(m, "task_memcg=", ", "), maxName)
	}
	if o.PodUID = podOfPath(word(m, "task_memcg=", ", ")); o.PodUID == "" {
		o.PodUID = podOfPath(o.Path)
	}
	o.Number = math.Floor(number(strings.TrimSuffix(word(m, "anon-rss:", ","), "kB")) / 1024)
	return o.Process != ""
}

// oomInvoked reads "python invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=-998".
func oomInvoked(e *entry, o *occurrence) bool {
	name, _, _ := strings.Cut(e.Message, " invoked oom-killer")
	o.Process, o.Reason, o.Code = cut(name, maxName), "", ""
	return name != ""
}

// memcgStats reads "Memory cgroup stats for /kubepods/burstable/podUID/ID: cache:0KB …", which the kernel prints of a cgroup that is out of memory.
func memcgStats(e *entry, o *occurrence) bool {
	o.Path, o.Reason, o.Code = cut(word(e.Message, "stats for ", ": "), maxName), "", ""
	o.PodUID = podOfPath(o.Path)
	return true
}

// tableOfTasks takes the title of the table of all tasks, "[ pid ]   uid  tgid total_vm      rss …", which the kernel prints before it kills one.
func tableOfTasks(_ *entry, o *occurrence) bool {
	o.Subject = Subject{}
	return true
}

// oomLimit reads the line that kernels before 4.19 write ahead of the kill, "Task in T killed as a result of limit of L":
// the only one that names the cgroup.
func oomLimit(e *entry, o *occurrence) bool {
	o.Path = cut(word(e.Message, "limit of ", " "), maxName)
	if o.PodUID = podOfPath(word(e.Message, "Task in ", " ")); o.PodUID == "" {
		o.PodUID = podOfPath(o.Path)
	}
	return true
}

// pidsController reads "cgroup: fork rejected by pids controller in /kubepods/…/pod<uid>/…".
func pidsController(e *entry, o *occurrence) bool {
	o.Path = cut(word(e.Message, "pids controller in ", " "), maxName)
	o.PodUID = podOfPath(o.Path)
	return true
}

// lockup reads "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [runc:[2:INIT]:1234]" and RCU stalls.
func lockup(e *entry, o *occurrence) bool {
	o.Reason = cut(e.Message, maxReason)
	o.Code = ""
	_, rest, ok := strings.Cut(e.Message, " stuck for ")
	if !ok {
		o.Number = jiffies(e.Message)
		return true
	}
	o.Number = number(rest)
	task := strings.TrimSuffix(strings.TrimSpace(rest), "]")
	if _, task, ok = strings.Cut(task, "["); ok {
		if name, pid, ok := cutLast(task, ':'); ok {
			o.Process = cut(name+" ("+pid+")", maxName)
		}
	}
	return true
}

// stallLength reads "(detected by 2, t=21003 jiffies, g=612407, q=72)" and "(t=21000 jiffies g=5005 q=33)": since when the CPUs that the line
// above names had not passed.
func stallLength(e *entry, o *occurrence) bool {
	o.Subject, o.Number = Subject{}, jiffies(e.Message)
	return o.Number > 0
}

// stallTicks reads "5-...: (14749 ticks this GP) idle=512/140000000000001/0": how often the clock of a stalled CPU has interrupted it since
// the grace period began.
func stallTicks(e *entry, o *occurrence) bool {
	_, n, _ := strings.Cut(e.Message, "(")
	o.Subject, o.Number = Subject{}, number(n)
	return o.Number > 0
}

// jiffies is how many seconds "t=21003 jiffies" are at least: no kernel counts more than 1000 a second.
func jiffies(s string) float64 {
	before, _, ok := strings.Cut(s, " jiffies")
	_, n, found := cutLast(before, '=')
	if !ok || !found || !strings.HasSuffix(before, "t="+n) {
		return 0
	}
	return number(n) / 1000
}

func netdev(e *entry, o *occurrence) bool {
	o.Device = cut(word(e.Message, "waiting for ", " "), maxName)
	_, n, _ := strings.Cut(e.Message, "Usage count = ")
	o.Number = number(n)
	return true
}
