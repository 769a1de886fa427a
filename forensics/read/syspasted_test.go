package read

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

const (
	aUID     = "6f0c7b1e-52aa-4c0e-9d53-9e8f1a2b3c08"
	aVolume  = "/var/lib/kubelet/pods/" + aUID + "/volumes/kubernetes.io~nfs/data"
	aRow     = "10.0.0.5:/export " + aVolume + " nfs4 rw,relatime,vers=4.1 0 0\n"
	anOther  = "/dev/sdc /var/lib/kubelet/pods/" + aUID + "/volumes/kubernetes.io~csi/pvc-1/mount ext4 rw,relatime 0 0\n"
	aSearch  = "# kubectl get pods -A -o json | grep -c " + aUID + "\n0\n"
	noZombie = "Tasks: 512 total,   1 running, 508 sleeping,   0 stopped,   3 zombie\n"
)

// systemIn is what a text says of the system.
func systemIn(text string) forensics.Evidence {
	x, e := &systemText{}, forensics.Evidence{}
	x.readText("paste.txt", strings.NewReader(text))
	x.addTo(&e)
	return e
}

// TestMemoryCgroupsInText reads /proc/cgroups.
func TestMemoryCgroupsInText(t *testing.T) {
	const heading = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
	for text, want := range map[string]int{
		heading + "cpu\t2\t131\t1\nmemory\t7\t65534\t1\npids\t6\t22\t1\n": 65534,
		heading + "memory\t0\t65534\t0\n":                                 0, // not enabled
		"memory\t7\t65534\t1\n# num_cgroups\n":                            0,
	} {
		e, n := systemIn(text), 0
		if e.CgroupTotals != nil {
			n = e.CgroupTotals.MemoryCgroups
		}
		if n != want {
			t.Errorf("%q: %d, want %d", text, n, want)
		}
	}
}

// TestStatusOfContainers reads /proc/PID/status of what has not become the program of a container.
func TestStatusOfContainers(t *testing.T) {
	const status = "$ cat /proc/71/status\nName:\trunc:[2:INIT]\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t71\nPid:\t71\nPPid:\t70\n"
	for text, want := range map[string]int{
		status: 1,
		strings.Replace(status, "D (disk", "S (", 1):                      0,
		strings.Replace(status, "runc:[2:INIT]", "postgres", 1):           0, // which may read from a disk at the moment
		status + "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n": 1,
	} {
		if e := systemIn(text); len(e.Threads) != want {
			t.Errorf("%q: %+v", text, e.Threads)
		}
	}
}

// TestFindmntWithoutAnswer has a command that findmnt(8) has not answered, and an empty line.
func TestFindmntWithoutAnswer(t *testing.T) {
	for _, answer := range []string{"", "nothing\n", "ext4\n\n"} {
		if e := systemIn("$ findmnt -no SOURCE,FSTYPE /mnt/x\n" + answer + "\nwhy?\n"); len(e.Mounts.Mounts) != 0 {
			t.Errorf("%q: %+v", answer, e.Mounts.Mounts)
		}
	}
}

// TestReaderThatPanics goes on with the other files.
func TestReaderThatPanics(t *testing.T) {
	bad := File{Name: "bad", Open: func() (Content, error) { panic("broken") }}
	good := FSFile(fstest.MapFS{"good.txt": {Data: []byte(aRow)}}, "good.txt")
	_, results := Files(t.Context(), Options{}, bad, good)
	if len(results) != 2 || results[0].Err == nil || results[0].Used || !results[1].Used {
		t.Errorf("%+v", results)
	}
}

// TestZombiesInText counts the zombies of a parent.
func TestZombiesInText(t *testing.T) {
	listed := "Z 71 801 sh\nZ 71 802 sh\nZ 71 803 sh\nZ 71 804 sh\n"
	for name, tt := range map[string]struct {
		text string
		want int // of process 71
	}{
		"counted by parent":              {"$ ps -eo ppid,stat | awk '$2 ~ /^Z/ {print $1}' | sort | uniq -c\n 400 71\n   3 1\n", 400},
		"the parent is not first":        {"$ ps -eo stat,ppid,comm | grep ^Z | sort | uniq -c\n 210 Z 71 sh\n 190 Zs 71 sh\n   9 Z 1 sh\n", 400},
		"a number and rows of one":       {"$ ps -eo stat | grep -c ^Z\n400\n$ ps -eo stat,ppid,pid,comm | grep ^Z\n" + listed, 400},
		"the head of top and rows":       {strings.Replace(noZombie, "  3", "400", 1) + "$ ps -eo stat,ppid,pid,comm | grep ^Z\n" + listed, 400},
		"a number and rows of two":       {"$ ps -eo stat | grep -c ^Z\n400\n$ ps -eo stat,ppid,pid,comm | grep ^Z\n" + listed + "Z 72 805 sh\n", 0},
		"all but zombies are counted":    {"$ ps -eo stat,ppid | grep -v ^Z | wc -l\n400\n$ ps -eo stat,ppid,pid,comm | grep ^Z\n" + listed, 0},
		"other states are counted":       {"$ ps -eo ppid,stat | sort | uniq -c\n 400 71 S\n", 0},
		"they have gone":                 {"$ ps -eo ppid,stat | awk '$2 ~ /^Z/ {print $1}' | sort | uniq -c\n 400 71\n" + noZombie, 0},
		"counted by awk":                 {"$ ps -eo ppid,stat | awk '$2~/^Z/{c[$1]++} END{for(p in c)print c[p],p}' | sort -rn | head -3\n400 71\n2 1\n", 400},
		"the parent before the count":    {"$ ps -eo ppid,stat | awk '$2~/^Z/{c[$1]++} END{for(p in c)print p, c[p]}'\n71 400\n1 2\n", 400},
		"children are counted by awk":    {"$ ps -eo ppid,stat | awk '{c[$1]++} END{for(p in c)print c[p],p}' | sort -rn\n400 71\n2 1\n", 0},
		"awk counts all but zombies":     {"$ ps -eo ppid,stat | awk '$2!~/^Z/{c[$1]++} END{for(p in c)print c[p],p}'\n400 71\n2 1\n", 0},
		"counted by two columns":         {"$ ps -eo ppid=,stat=,comm= | awk '$2~/^Z/{c[$1\" \"$3]++} END{for(k in c) print c[k],k}' | sort -rn\n390 71 sh\n10 71 timeout\n2 1 sh\n", 400},
		"two columns of all children":    {"$ ps -eo ppid=,stat=,comm= | awk '{c[$1\" \"$3]++} END{for(k in c) print c[k],k}' | sort -rn\n390 71 sh\n2 1 sh\n", 0},
		"states are counted":             {"$ ps -eo stat= | cut -c1 | sort | uniq -c\n 71 I\n 400 Z\n$ ps -eo stat,ppid,pid,comm | grep ^Z\n" + listed, 400},
		"another column is the parent's": {"$ ps -eo pid,stat | awk '$2 ~ /^Z/ {print $1}' | sort | uniq -c\n 400 71\n", 0},
	} {
		n := 0
		for _, p := range systemIn(tt.text).Processes {
			if p.PPID == 71 && p.State == "Z" {
				n += 1 + p.Alike
			}
		}
		if n != tt.want {
			t.Errorf("%s: %d zombies of process 71, want %d", name, n, tt.want)
		}
	}
}

// TestSlowCalls takes how long a call took from what time(1) and strace(1) print, and leaves out what takes long anyway.
func TestSlowCalls(t *testing.T) {
	const took = "\nreal\t0m41.377s\nuser\t0m0.004s\nsys\t0m0.019s\n"
	for name, tt := range map[string]struct {
		text    string
		seconds float64 // at least; 0 for none
		pending bool
	}{
		"ls":               {"$ time sudo ls " + aVolume + " | wc -l\n212\n" + took, 41, false},
		"of a chat":        {"maria: time stat -f " + aVolume + "\n" + took, 41, false},
		"a comma":          {"$ time stat " + aVolume + "\n" + strings.ReplaceAll(took, ".", ","), 41, false},
		"time -p":          {"$ time -p stat " + aVolume + "\nreal 61.20\nuser 0.00\nsys 0.00\n", 61, false},
		"GNU time":         {"$ /usr/bin/time ls " + aVolume + "\n0.00user 0.01system 1:01.37elapsed 0%CPU (0avgtext)\n", 61, false},
		"ended by timeout": {"# time timeout -s KILL 40 stat " + aVolume + "\nKilled\n" + took, 41, true},
		"said by a probe of a pod": {
			"E1124 10:00:00.000000    1200 prober.go:107] \"Probe failed\" pod=\"a/b\" output=<\n\t$ time ls " + aVolume + strings.ReplaceAll(took, "\n", "\n\t") +
				"\n\tstatfs(\"" + aVolume + "\", \n >\n", 0, false,
		},
		"fast":                          {"$ time ls " + aVolume + "\n" + strings.Replace(took, "41.", "1.", 1), 0, false},
		"fast in the end":               {"$ time ls " + aVolume + "\n" + took + "$ time ls " + aVolume + "\n" + strings.Replace(took, "41.", "0.", 1), 0, false},
		"many names":                    {"$ time ls -l " + aVolume + " | wc -l\n48211\n" + took, 0, false},
		"a tree":                        {"$ time ls -R " + aVolume + " >/dev/null\n" + took, 0, false},
		"du":                            {"$ time ls " + aVolume + "\n$ time du -s " + aVolume + "\n" + took, 0, false},
		"work of the processor":         {"$ time ls " + aVolume + "\n" + strings.Replace(took, "0.004", "38.2", 1), 0, false},
		"another program":               {"$ time kubectl exec a -- ls " + aVolume + "\n" + took, 0, false},
		"strace -T":                     {`statfs("` + aVolume + `", {f_type=NFS_SUPER_MAGIC}) = 0 <41.02>` + "\n", 41, false},
		"strace -T, an error":           {`stat("` + aVolume + `/x", 0x7ffd2c) = -1 ENOENT (No such file or directory) <9.02>` + "\n", 9, false},
		"strace without an end":         {`statfs("` + aVolume + "\",\n^C\n", 0, true},
		"strace that was detached":      {`newfstatat(AT_FDCWD, "` + aVolume + "\", ^Cstrace: Process 71 detached\n <detached ...>\n", 0, true},
		"strace that was killed":        {`statfs("` + aVolume + "\", Killed\n", 0, true},
		"strace of a killed process":    {`statx(AT_FDCWD, "` + aVolume + "\", AT_STATX_SYNC_AS_STAT, STATX_MODE,  <unfinished ...>) = ?\n+++ killed by SIGKILL +++\n", 0, true},
		"it returned":                   {`statfs("` + aVolume + `", {f_type=NFS_SUPER_MAGIC}) = 0` + "\n", 0, false},
		"it returned later":             {`[pid 71] statfs("` + aVolume + "\",  <unfinished ...>\n[pid 71] <... statfs resumed>{}) = 0\n^C\n", 0, false},
		"another call follows":          {`statfs("` + aVolume + "\",\nwrite(1, \"x\", 1) = 1\n", 0, false},
		"its answer is cut off":         {`statfs("` + aVolume + "\", {f_type=NFS_SUP\n", 0, false},
		"a trace of several is cut off": {`[pid 71] statfs("` + aVolume + "\",  <unfinished ...>\n", 0, false},
		"a pipe":                        {"openat(AT_FDCWD, \"/run/x\", O_WRONLY^Cstrace: Process 71 detached\n", 0, false},
	} {
		probes := systemIn(tt.text).Probes
		if len(probes) == 0 && tt.seconds == 0 && !tt.pending {
			continue
		}
		if len(probes) != 1 || probes[0].Seconds < tt.seconds || probes[0].Pending != tt.pending || tt.seconds == 0 && !tt.pending {
			t.Errorf("%s: %+v", name, probes)
		}
	}
}

// TestPendingKill takes a process for one that cannot be killed if a SIGKILL waits for it, and it waits itself.
func TestPendingKill(t *testing.T) {
	const status = "Name:\tmysqld\nState:\tD (disk sleep)\nPid:\t71\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n"
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"all of the file":    {"# cat /proc/71/status\n" + status, true},
		"by its path":        {"# grep -E 'State|Pnd' /proc/71/status\nState:\tD (disk sleep)\nSigPnd:\t0000000000000100\n", true},
		"as grep names it":   {"/proc/71/status:State:\tD (disk sleep)\n/proc/71/status:ShdPnd:\t0000000000000100\n", true},
		"of a thread":        {"# cat /proc/71/task/72/status\n" + strings.Replace(status, "Pid:\t71", "Pid:\t72", 1), true},
		"another signal":     {strings.Replace(status, "0100", "4000", 1), false},
		"it sleeps":          {strings.Replace(status, "D (disk sleep)", "S (sleeping)", 1), false},
		"it has ended":       {strings.Replace(status, "D (disk sleep)", "Z (zombie)", 1), false},
		"nothing is pending": {strings.Replace(status, "0100", "0000", 1), false},
	} {
		threads := systemIn(tt.text).Threads
		if got := len(threads) == 1 && threads[0].PID == 71; got != tt.want || len(threads) > 1 {
			t.Errorf("%s: %+v", name, threads)
		}
	}
}

// TestAlikeRows counts the mounts that are stacked, and leaves out rows that the same mount has twice.
func TestAlikeRows(t *testing.T) {
	const root = "/dev/sda3 /var/lib/kubelet ext4 rw,relatime 0 0\n"
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"two rows alone":                 {aRow + aRow, 0},
		"three rows alone":               {aRow + aRow + aRow, 2},
		"beside another":                 {aRow + aRow + aRow + anOther, 2},
		"by uniq":                        {"$ findmnt -rno TARGET,SOURCE,FSTYPE | sort | uniq -c\n   8190 " + aVolume + " 10.0.0.5:/export nfs4\n", 8189},
		"all are there equally often":    {aRow + anOther + aRow + anOther, 0},
		"the directory above is a mount": {root + aRow + aRow, 0},
		"in two tables":                  {"# grep data /proc/mounts\n" + aRow + "\n# grep data /proc/mounts\n" + aRow, 0},
		"of several processes":           {"# cat /proc/[0-9]*/mounts | grep data\n" + aRow + aRow + aRow, 0},
		"of several nodes":               {"$ for n in n1 n2; do ssh $n grep data /proc/mounts; done\n" + aRow + aRow, 0},
	} {
		list := systemIn(tt.text).Mounts.Mounts
		i := slices.IndexFunc(list, func(m mounts.Mount) bool { return m.MountPoint == aVolume })
		if i < 0 || list[i].Alike != tt.want {
			t.Errorf("%s: %+v, want %d alike", name, list, tt.want)
		}
	}
}

// TestSearchedPods takes a pod for gone only if all pods were searched for its UID.
func TestSearchedPods(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"found none":            {aSearch + aRow, true},
		"an empty output":       {"n1 # kubectl get po --all-namespaces -o yaml | grep " + aUID + "\nn1 # cat /proc/mounts\n" + aRow, true},
		"by its beginning":      {strings.Replace(aSearch, aUID, aUID[:8], 1) + aRow, true},
		"begun, and unmounted":  {strings.Replace(aSearch, aUID, aUID[:8], 1) + aRow + "# umount " + aVolume + "\n", false},
		"found one":             {strings.Replace(aSearch, "\n0", "\n2", 1) + aRow, false},
		"one namespace":         {strings.Replace(aSearch, "-A", "-n shop", 1) + aRow, false},
		"without UIDs":          {strings.Replace(aSearch, "json", "wide", 1) + aRow, false},
		"all that do not match": {strings.Replace(aSearch, "-c", "-vc", 1) + aRow, false},
		"no mount":              {aSearch + "\n/dev/sdc /data ext4 rw,relatime 0 0\n", false},
		"it was unmounted":      {aSearch + aRow + "# umount " + aVolume + "\n", false},
		"later it is found":     {aSearch + aRow + strings.Replace(aSearch, "\n0", "\n1", 1), false},
	} {
		if got := len(systemIn(tt.text).PodDirs) > 0; got != tt.want {
			t.Errorf("%s: an orphan: %v", name, got)
		}
	}
}

// TestMountsOfOthers takes a mount for one of another namespace only if the table of the host lacks it, which the search of all tables by who can
// read them shows, too.
func TestMountsOfOthers(t *testing.T) {
	const all, none = "# grep -l a0d1b1b5ab8f /proc/*/mountinfo\n/proc/71/mountinfo\n", "# grep a0d1b1b5ab8f /proc/mounts\n# date\n"
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"the host lacks it":           {all + none, true},
		"searched before":             {none + all, true},
		"counted":                     {all + "# grep -c a0d1b1b5ab8f /proc/1/mountinfo\n0\n", true},
		"the host has it":             {all + "# grep -c a0d1b1b5ab8f /proc/1/mountinfo\n1\n", false},
		"the first process":           {all + "/proc/1/mountinfo\n" + none, false},
		"the host is not listed":      {all, true},
		"in a table that is not read": {strings.Replace(all, "#", "$", 1), false},
		"a list that was cut":         {all + "...\n", false},
		"the first of a list":         {strings.Replace(all, "\n", " | head -1\n", 1), false},
		"another was searched":        {strings.Replace(all, "#", "$", 1) + strings.Replace(none, "a0d1", "b0d1", 1), false},
	} {
		use := systemIn(tt.text).MountUse
		if got := use != nil && len(use.Found) > 0; got != tt.want {
			t.Errorf("%s: another namespace has it: %v", name, got)
		}
	}
}

// TestTableOfAProcess takes the mounts of a process for the host's only where the text does not show that they are not.
func TestTableOfAProcess(t *testing.T) {
	const ofProcess = "# grep data /proc/71/mounts\n" + aRow
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"of a process alone":          {ofProcess, true},
		"the host lacks it":           {"# grep data /proc/mounts\n# date\n" + ofProcess, false},
		"the host lacks another":      {"# grep tmp /proc/mounts\n# date\n" + ofProcess, true},
		"the host has another":        {"# cat /proc/1/mounts\n" + anOther + ofProcess, false},
		"the host has it":             {"# mount -t nfs4\n" + aRow + ofProcess, true},
		"within its namespace":        {"# mount -t nfs4\n" + anOther + "# nsenter -t 71 -m cat /proc/mounts\n" + aRow, false},
		"within that of init":         {"# mount -t nfs4\n" + anOther + "# nsenter -t 1 -m cat /proc/mounts\n" + aRow, true},
		"the host after the process":  {ofProcess + "# cat /proc/mounts\n" + anOther, false},
		"another process's, and this": {"# findmnt -N 71 /mnt\n" + anOther + "# mount -t nfs4\n" + aRow, true},
	} {
		list := systemIn(tt.text).Mounts.Mounts
		if got := slices.ContainsFunc(list, func(m mounts.Mount) bool { return m.MountPoint == aVolume }); got != tt.want {
			t.Errorf("%s: %+v, want one of the host: %v", name, list, tt.want)
		}
	}
}

func FuzzZombies(f *testing.F) {
	for _, seed := range []string{"$ ps -eo ppid,stat,comm | awk '$2 ~ /^Z/ {print $1,$3}' | sort | uniq -c\n 400 71 sh\n", noZombie, "$ ps aux | grep -c defunct\n400\n", "root 31 911 0 10:01 ? 00:00:00 [wget] <defunct>\n", "  PID PPID S CMD\n 1 2 Z [x] <defunct>\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range systemIn(text).Processes {
			if p.Alike < 0 || p.PID < 0 && p.PPID < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

func FuzzMountTables(f *testing.F) {
	for _, seed := range []string{aRow + aRow, "$ findmnt -rno TARGET,SOURCE,FSTYPE | uniq -c\n  8190 /a b c\n", "# for p in 1 2; do nsenter -t $p -m mount; done\n", "a on /b type c (rw)\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range systemIn(text).Mounts.Mounts {
			if m.Alike < 0 || m.Alike > 0 && m.ID >= 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func FuzzSearches(f *testing.F) {
	for _, seed := range []string{aSearch + aRow, aSearch + aRow + "# umount " + aVolume + "\n", "$ kubectl get pod -A -o yaml | grep " + aUID + "\n$ mount | grep " + aUID + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		started := time.Now()
		for _, d := range systemIn(text).PodDirs {
			if d.Searched != "" && (d.UID == "" || !strings.Contains(d.Path, d.UID) || !strings.Contains(text, d.UID)) {
				t.Errorf("%+v", d)
			}
		}
		if len(text) < 1<<16 && time.Since(started) > 5*time.Second {
			t.Errorf("%d bytes took %s", len(text), time.Since(started))
		}
	})
}

// TestDetachedInText finds the users of a disk that stays busy after a lazy unmount.
func TestDetachedInText(t *testing.T) {
	const (
		lazy  = "# umount -l /data/pvc-1\n"
		clean = "# grep rbd4 /proc/mounts\n\n"
		busy  = "# rbd unmap /dev/rbd4\nrbd: sysfs write failed\nrbd: unmap failed: (16) Device or resource busy\n"
		open  = "# lsof | grep '252,64'\nrsync 71 root 3r REG 252,64 7340032 524377 /export/b.tar\n"
	)
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"all is shown":            {lazy + clean + busy + open, true},
		"picked by awk":           {lazy + clean + busy + strings.Replace(open, "grep '252,64'", `awk '$6=="252,64"'`, 1), true},
		"awk picks another disk":  {lazy + clean + busy + strings.Replace(open, "grep '252,64'", `awk '$6=="252,65"'`, 1), false},
		"formatted again":         {lazy + clean + "# mkfs.ext4 /dev/rbd4\n/dev/rbd4 is apparently in use by the system; will not make a filesystem here!\n" + open, true},
		"the file system lives":   {lazy + clean + "# ls -d /sys/fs/xfs/rbd4\n/sys/fs/xfs/rbd4\n" + open, true},
		"open links":              {lazy + clean + busy + "# ls -l /proc/71/fd | grep b.tar\nlr-x------ 1 root root 64 Feb 11 09:40 3 -> /export/b.tar\n", true},
		"searched by the path":    {lazy + "# grep pvc-1 /proc/mounts\n\n" + busy + open, true},
		"it was unmapped later":   {lazy + clean + busy + open + "# kill 71\n# rbd unmap /dev/rbd4\n", false},
		"the host has it":         {lazy + "# grep rbd4 /proc/mounts\n/dev/rbd4 /data/pvc-1 ext4 rw,relatime 0 0\n" + busy + open, false},
		"not unmounted lazily":    {"# umount /data/pvc-1\n" + clean + busy + open, false},
		"somebody asks":           {"Should I use umount -l /data/pvc-1?\n" + clean + busy + open, false},
		"nobody searched":         {lazy + busy + open, false},
		"another disk is in use":  {lazy + clean + strings.ReplaceAll(busy, "rbd4", "rbd5") + open, false},
		"files of another device": {lazy + clean + busy + strings.Replace(open, "REG 252,64", "REG 8,2", 1), false},
		"two disks are busy":      {lazy + clean + busy + strings.ReplaceAll(busy, "rbd4", "rbd5") + open, false},
	} {
		use := systemIn(tt.text).MountUse
		if got := use != nil && len(use.Found) > 0 && use.Found[0].Detached; got != tt.want {
			t.Errorf("%s: detached: %v", name, got)
		}
	}
}
