package read

import (
	"slices"
	"strings"
	"testing"
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

// TestMountsOfOthers takes a mount for one of another namespace only if the table of the host lacks it.
func TestMountsOfOthers(t *testing.T) {
	const all, none = "# grep -l a0d1b1b5ab8f /proc/*/mountinfo\n/proc/71/mountinfo\n", "# grep a0d1b1b5ab8f /proc/mounts\n# date\n"
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"the host lacks it":     {all + none, true},
		"searched before":       {none + all, true},
		"counted":               {all + "# grep -c a0d1b1b5ab8f /proc/1/mountinfo\n0\n", true},
		"the host has it":       {all + "# grep -c a0d1b1b5ab8f /proc/1/mountinfo\n1\n", false},
		"the first process":     {all + "/proc/1/mountinfo\n" + none, false},
		"the host was not seen": {all, false},
		"another was searched":  {all + strings.Replace(none, "a0d1", "b0d1", 1), false},
	} {
		use := systemIn(tt.text).MountUse
		if got := use != nil && len(use.Found) > 0; got != tt.want {
			t.Errorf("%s: another namespace has it: %v", name, got)
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
