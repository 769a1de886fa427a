package forensics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// saved is evidence that was written to a file and read again.
func saved(t *testing.T, e forensics.Evidence) forensics.Evidence {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again forensics.Evidence
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

// TestSavedEvidenceIsJudgedAnew gives what was measured another meaning, as a newer version may: nothing that was judged before
// is in the evidence. Each case is one measurement, how it is judged, and how it is judged when a limit or another fact differs.
func TestSavedEvidenceIsJudgedAnew(t *testing.T) {
	asked := mounts.Probe{MountID: 59, Device: "0:46", MountPoint: deadPoint, Call: "statx"}
	pending := asked
	pending.Pending, pending.Seconds, pending.Awake = true, 20, 20
	slow := asked
	slow.Seconds = 3
	waited := mounts.Probe{MountID: 59, Device: "0:46", MountPoint: deadPoint, Skipped: mounts.SkipWaited}
	for name, c := range map[string]struct {
		probe  mounts.Probe
		before mounts.Status
		change func(*forensics.Evidence)
		after  mounts.Status
	}{
		"no answer, and more patience":                     {pending, mounts.StatusHung, func(e *forensics.Evidence) { e.Collector.HungAfterSeconds = 30 }, mounts.StatusUnanswered},
		"no answer, and it has come since":                 {pending, mounts.StatusHung, func(e *forensics.Evidence) { e.Probes[0].Returned = true }, mounts.StatusRecovered},
		"no answer, and the machine slept":                 {pending, mounts.StatusHung, func(e *forensics.Evidence) { e.Probes[0].Awake = 2 }, mounts.StatusUnanswered},
		"no answer, and a suspended disk":                  {pending, mounts.StatusHung, func(e *forensics.Evidence) { e.Probes[0].Suspended = true }, mounts.StatusFrozen},
		"a late answer":                                    {slow, mounts.StatusSlow, func(e *forensics.Evidence) { e.Collector.SlowAfterSeconds = 5 }, mounts.StatusOK},
		"an error":                                         {asked, mounts.StatusOK, func(e *forensics.Evidence) { e.Probes[0].Errno, e.Probes[0].Error = "ESTALE", "x" }, mounts.StatusStale},
		"an error that has no name yet":                    {asked, mounts.StatusOK, func(e *forensics.Evidence) { e.Probes[0].Errno, e.Probes[0].Error = "EDOOFUS", "x" }, mounts.StatusIOError},
		"a thread that waits":                              {waited, mounts.StatusHung, func(e *forensics.Evidence) { e.Collector.HungAfterSeconds = 3600 }, mounts.StatusNotProbed},
		"a thread that waits, and nothing was to be asked": {waited, mounts.StatusHung, func(e *forensics.Evidence) { e.Probes[0].Skipped = mounts.SkipOff }, mounts.StatusHung},
		"a thread that goes on":                            {waited, mounts.StatusHung, func(e *forensics.Evidence) { e.Threads[0].Gone = true }, mounts.StatusRecovered},
		"a thread elsewhere":                               {waited, mounts.StatusHung, func(e *forensics.Evidence) { e.Threads[0].Path = "/elsewhere" }, mounts.StatusNotProbed},
		"a thread, and no request":                         {waited, mounts.StatusHung, func(e *forensics.Evidence) { e.FUSEQueues[0].Requests = []int{0, 1} }, mounts.StatusNotProbed},
		"a thread, and a disk that works": {waited, mounts.StatusHung, func(e *forensics.Evidence) {
			e.DiskProgress = []mounts.DiskProgress{{Device: "0:46", Completed: 1}}
		}, mounts.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			e := saw(forensics.SourceMounts, forensics.SourceHealth)
			e.Collected, e.Collector.HungAfterSeconds = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), 15
			e.Mounts.Mounts = []mounts.Mount{fuseMount(59, "0:46", deadPoint)}
			e.Probes, e.FUSEQueues = []mounts.Probe{c.probe}, []mounts.FUSEQueue{{Device: "0:46", Requests: []int{1}}}
			if c.probe.Skipped != "" {
				e.Threads = []procs.Thread{deadThread(0, "0:46", deadPoint)}
			}
			e = saved(t, e)
			if got := forensics.NewModel(&e).MountHealth()[0]; got.Status != c.before {
				t.Errorf("before: %+v, want %q", got, c.before)
			}
			c.change(&e)
			if got := forensics.NewModel(&e).MountHealth()[0]; got.Status != c.after {
				t.Errorf("after: %+v, want %q", got, c.after)
			}
		})
	}
}

// TestSavedUsesAreJudgedAnew does it for who uses a mount.
func TestSavedUsesAreJudgedAnew(t *testing.T) {
	point := strings.Replace(deadPoint, "cephfs-data", "other", 1)
	foreign := forensics.ForeignMount{Namespace: 9, Mount: fuseMount(90, "0:90", "/copy"), On: point}
	use := forensics.MountUse{
		AllProcesses: true,
		Holders:      []holders.Holder{{PID: 7, Kind: holders.HoldFD, MountID: 70, Device: "0:70", Detached: true}, {PID: 7, Kind: holders.HoldCwd, MountID: 80}},
		Copies:       []mounts.Copy{{Of: 59, MountID: 80, MountPoint: "/x", Namespace: 9, OnGroup: 4, Groups: []int{5, 4}}},
		Foreign:      []forensics.ForeignMount{foreign},
		FUSE: forensics.FUSEUse{
			Superblocks: []string{"0:46"}, Devices: []holders.FUSEDevice{{PID: 7, FD: 3, Connection: 46}, {PID: 8, FD: 3, Connection: 99}},
			Queues: []mounts.FUSEQueue{{Device: "0:99", Requests: []int{2}}}, Complete: true,
		},
	}
	describe := func(e *forensics.Evidence) []string {
		u, list := forensics.NewModel(e).Uses(), []string{}
		for _, s := range u.AllServers() {
			list = append(list, fmt.Sprintf("%s by %d detached %t guess %t", s.Device, s.PID, s.Detached, s.Guess))
		}
		return append(list, fmt.Sprintf("%d leaked, %d copies, detached %t", len(u.Leaked()), len(u.Copies(59)), u.Detached(e.MountUse.Holders[0])))
	}
	const all = "1 leaked, 1 copies, detached true"
	for name, c := range map[string]struct {
		change func(*forensics.Evidence)
		want   []string
	}{
		"as it was": {func(*forensics.Evidence) {}, []string{"0:46 by 7 detached false guess false", "0:99 by 8 detached true guess false", all}},
		"the kernel tells no connection": {func(e *forensics.Evidence) {
			e.MountUse.FUSE.Devices = []holders.FUSEDevice{{PID: 7}, {PID: 8}}
			e.MountUse.FUSE.Named = []forensics.FUSENamed{{PID: 8, Device: "0:46", Source: true}}
		}, []string{"0:46 by 8 detached false guess true", all}},
		"nobody has it open": {func(e *forensics.Evidence) { e.MountUse.FUSE.Devices = nil }, []string{"0:46 by 0 detached false guess false", all}},
		"nobody that was seen has it open": {func(e *forensics.Evidence) {
			e.MountUse.FUSE.Devices, e.MountUse.FUSE.Complete = nil, false
		}, []string{all}},
		"not all processes were seen": {func(e *forensics.Evidence) { e.MountUse.FUSE, e.MountUse.AllProcesses = forensics.FUSEUse{}, false }, []string{
			"1 leaked, 1 copies, detached false",
		}},
		"the host has the mount, too": {func(e *forensics.Evidence) {
			e.MountUse.FUSE = forensics.FUSEUse{}
			e.Mounts.Mounts = append(e.Mounts.Mounts, fuseMount(89, "0:90", "/here"))
		}, []string{"0 leaked, 1 copies, detached true"}},
		"the host has mounted it since": {func(e *forensics.Evidence) {
			e.MountUse.FUSE, e.MountUse.Foreign[0].MountedSince = forensics.FUSEUse{}, true
		}, []string{"0 leaked, 1 copies, detached true"}},
		"a private copy": {func(e *forensics.Evidence) {
			e.MountUse.FUSE, e.MountUse.Copies[0].Groups = forensics.FUSEUse{}, []int{5}
		}, []string{
			"1 leaked, 0 copies, detached true",
		}},
		"a copy that nobody uses": {func(e *forensics.Evidence) { e.MountUse.FUSE, e.MountUse.Holders[1].MountID = forensics.FUSEUse{}, 0 }, []string{
			"1 leaked, 0 copies, detached true",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := saw(forensics.SourceMounts, forensics.SourceHolders)
			e.Mounts.Mounts, e.MountUse = []mounts.Mount{fuseMount(59, "0:46", deadPoint)}, &use
			e = saved(t, e)
			c.change(&e)
			if diff := cmp.Diff(c.want, describe(&e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEvidenceOfTheFirstVersion reads a document that has judgements in the place of measurements.
func TestEvidenceOfTheFirstVersion(t *testing.T) {
	const text = `{"schema":"nodeforensics.evidence/v1","collected":"2026-11-20T10:00:00Z","collector":{"hung_after_seconds":15},
		"mounts":{"namespace":1,"mounts":[{"mount_id":59,"device":"0:46","mount_point":"/a","fstype":"fuse.x","class":"fuse"}]},
		"health":[{"mount_id":59,"device":"0:46","mount_point":"/a","status":"hung","method":"probe","duration_seconds":16,"fuse_waiting":[1,1]},
			{"mount_id":60,"device":"0:47","mount_point":"/b","status":"stale","method":"probe","error":"stale file handle"}],
		"held":{"holders":[{"pid":7,"kind":"fd","mount_id":70,"detached":true}],"copies":[{"of_mount_id":59,"mount_id":70}],
			"leaked":[{"namespace":9,"mount":{"mount_id":90,"device":"0:90","class":"nfs","mount_point":"/c"},"on":"/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/volumes/kubernetes.io~nfs/x"}],
			"fuse_servers":[{"device":"0:46","pid":7,"why":"descriptor 5 of process 7 is connection 46","requests_waiting":1}]}}`
	var old v1.Evidence
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := dec.Decode(&old); err != nil {
		t.Fatal(err)
	}
	e := old.Current()
	m := forensics.NewModel(&e)
	got := []string{e.Schema}
	for _, h := range m.MountHealth() {
		got = append(got, fmt.Sprintf("%s %s %q %v", h.Device, h.Status, h.Error, h.Waiting))
	}
	for _, s := range m.Uses().AllServers() {
		got = append(got, fmt.Sprintf("%s %d %s, %d waiting", s.Device, s.PID, s.Why, *s.Waiting))
	}
	got = append(got, fmt.Sprintf("%d leaked, %d copies, detached %t", len(m.Uses().Leaked()), len(m.Uses().Copies(59)), m.Uses().Detached(e.MountUse.Holders[0])))
	want := []string{
		forensics.EvidenceSchema, `0:46 hung "" [1 1]`, `0:47 stale "stale file handle" []`, "0:46 7 descriptor 5 of process 7 is connection 46, 1 waiting",
		"1 leaked, 1 copies, detached true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgesOfOneFactAgree has a thread that woke up a moment ago, by the kernel's clock, and runs a goroutine that has been stamped with
// 12 minutes, and a second thread: whatever speaks of the wait for that mount says the same.
func TestAgesOfOneFactAgree(t *testing.T) {
	e := sickNode(t, 1, 0)
	short, longest := 5.0, 1800.0
	e.Threads[0].WaitSeconds = &short
	other := deadThread(0, e.Threads[0].Device, e.Threads[0].Path)
	other.PID, other.TID, other.WaitSeconds, other.Syscall = 777, 777, &longest, e.Threads[0].Syscall
	e.Threads = append(e.Threads, other)
	e.Probes[0] = mounts.Probe{MountID: 100, Device: e.Threads[0].Device, MountPoint: e.Threads[0].Path, Skipped: mounts.SkipWaited}
	m := forensics.NewModel(&e)
	if h := m.MountHealth()[0]; h.Seconds != longest || h.Witness != "777/777" || !h.Since.Equal(e.Collected.Add(-30*time.Minute)) {
		t.Errorf("the mount: %+v, want the longest wait for it", h)
	}
	w := m.Waited(e.Threads[0])
	if got := forensics.Describe(m, forensics.ThreadEntity(e.Threads[0])); w.Seconds != 600 || !strings.HasSuffix(got, "for at least 10 min") {
		t.Errorf("the thread waits %+v, and is described as %q", w, got)
	}
	for _, f := range forensics.Analyze(&e, checks.All()).Findings {
		if text := f.Title + f.Detail; strings.Contains(text, "5 s") {
			t.Errorf("%s has the age of the last time that the thread woke up: %s", f.ID, text)
		}
	}
}
