package read

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/logline"
	"github.com/nodeforensics/nodeforensics/internal/pasted"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// What is taken of one text at most, and how long a line is, in bytes.
const (
	mostSaved   = 2000
	longestLine = 8 << 10 // of a mount table: options of an overlay
)

// A systemText is what tools of the system have printed in texts that somebody saved or pasted: tables of mounts, disks and
// processes, errors of calls on a path, kernel stacks. They stand alone or between other lines.
type systemText struct {
	mounts []mounts.Mount
	// processMounts are rows of tables of other mount namespaces, or of processes of which that is not known.
	processMounts []processMount
	disks         []diskRow
	errors        []pathCall
	rows          []processRow // of processes in state D, and of those that have a kernel stack
	stacks        []savedStack
	hung          map[int]float64 // for how many seconds the kernel has reported tasks as hung
	// config is the kubelet's configuration, nil if none was given; effective says that it is what the kubelet has, flags applied.
	config    *kubelet.Config
	effective bool
	stats     *kubeletDisks // of /stats/summary; nil if that was not given
	// leftovers are volumes below the directories of pods, deleted are files that owners have open.
	leftovers []csiLeftover
	deleted   []holders.DeletedFile
	owners    []procs.Process
	// kubelet is one that does not run, frozen are cgroups of pods.
	kubelet *kubelet.Instance
	frozen  []runtimes.PodCgroup

	memoryCgroups int // that the kernel has; 0 is unknown
	zombies       zombies
	tables        mountTables
	// goroutines is how many the kubelet has by its metrics, the last time; 0 where none were given.
	goroutines float64
	// searched are UIDs that no pod of the cluster has, with the command that has searched for them.
	searched map[string]string
	searches []tableSearch // of mounts
	lazy     lazyUnmounts
	served   fuseVolumes
	// seen are the sorts of output that were found, by source, with the name of the first text.
	seen map[string]string
}

// take adds what another text has.
func (x *systemText) take(y *systemText) {
	if y == nil {
		return
	}
	x.mounts, x.disks, x.errors = append(x.mounts, y.mounts...), append(x.disks, y.disks...), append(x.errors, y.errors...)
	x.processMounts = append(x.processMounts, y.processMounts...)
	x.rows, x.stacks = append(x.rows, y.rows...), append(x.stacks, y.stacks...)
	if y.config != nil && (x.config == nil || !x.effective) {
		x.config, x.effective = y.config, y.effective
	}
	if y.stats != nil {
		x.stats = y.stats
	}
	x.leftovers, x.deleted, x.owners = append(x.leftovers, y.leftovers...), append(x.deleted, y.deleted...), append(x.owners, y.owners...)
	x.kubelet, x.frozen = cmp.Or(x.kubelet, y.kubelet), append(x.frozen, y.frozen...)
	x.zombies.take(y.zombies)
	x.tables, x.searches = append(x.tables, y.tables...), append(x.searches, y.searches...)
	x.lazy.take(y.lazy)
	x.served.take(y.served)
	if y.goroutines > 0 {
		x.goroutines = y.goroutines
	}
	x.memoryCgroups = max(x.memoryCgroups, y.memoryCgroups)
	for pid, seconds := range y.hung {
		if x.hung == nil {
			x.hung = map[int]float64{}
		}
		x.hung[pid] = max(x.hung[pid], seconds)
	}
	for uid, command := range y.searched {
		x.searchedFor(uid, command)
	}
	for source, name := range y.seen {
		x.saw(source, name)
	}
}

// A pathCall is what a tool says of a path that it could not access, or that it had to wait for.
type pathCall struct {
	path, errno, text string
	call              string // of a tool that was measured
	seconds           float64
	pending           bool // it had not returned by then
	said              bool // by a sentence alone
}

// A lineReader takes one sort of output from a text, line by line.
type lineReader interface{ line(s string, number int) }

// readText takes all sorts of output from a small text.
func (x *systemText) readText(name string, in io.Reader) {
	text, _ := io.ReadAll(io.LimitReader(in, pasted.MaxSize))
	text = wholeUIDs(text)
	x.kubeletIn(name, text)
	stacks, calls := &stackReader{to: x, name: name}, &straceReader{to: x, name: name}
	var readers []lineReader
	for _, r := range []struct {
		lineReader
		marks []string
	}{
		{stacks, []string{"+0x", " at ffff", "/wchan", "INFO: task "}},
		{&mountReader{to: x, name: name}, []string{" type ", "rw", " ro", "findmnt", "uniq -", "lsof: WARNING"}},
		{&diskReader{to: x, name: name}, []string{"%"}},
		{&processReader{to: x, name: name}, []string{" D", " T", "PID", "ps "}},
		{&zombieReader{to: x, name: name}, []string{"zombie", "defunct", "Z"}},
		{&fileReader{to: x, name: name}, []string{"vol_data.json", "(deleted)", "NLINK"}},
		{&serviceReader{to: x, name: name}, []string{"kubelet", "k3s", "rke2", "kubelite"}},
		{&searchReader{to: x, name: name}, []string{"kubectl", "oc "}},
		{&leakReader{to: x, name: name}, []string{"/mountinfo", "/mounts", "findmnt "}},
		{&timeReader{to: x, name: name}, []string{"time "}},
		{calls, []string{"stat", "timeout ", "AT_FDCWD", "getdents", "access(", "chdir(", "readlink("}},
		{&statusReader{processReader: processReader{to: x, name: name}}, []string{"Pnd:", "runc:[", "(disk sleep)"}},
		{&detachedReader{to: x, name: name}, []string{"umount", "unmap", "rmdir", "cannot remove"}},
		{&servedReader{to: x, name: name}, []string{"geesefs", "goofys", "gcsfuse", "glusterfs", "juicefs"}},
		{&metricReader{to: x, name: name}, []string{goroutineMetric, "goroutine profile: total "}},
		{&hearsayReader{to: x, name: name}, []string{"ndpoint is not", "hang", "hung", "stuck", "freez", "froz", "never ", "return", "respond", "卡", "夯", "响应", "没反应", "hängt", "завис", "응답", "멈", "返って", "固ま"}},
		{&freezerReader{to: x, name: name}, []string{"FROZEN"}},
		{&cgroupReader{to: x, name: name}, []string{"num_cgroups"}},
		{&errorReader{to: x, name: name}, []string{"errno=512", "tale ", "endpoint", "ost is down", "nput/output", "\xc3", "\xd0", "\xe3", "\xe4", "\xe5", "\xe6", "\xe7", "\xe8", "\xe9", "icht verbunden", "eraltet"}},
	} {
		if !slices.ContainsFunc(r.marks, func(mark string) bool { return bytes.Contains(text, []byte(mark)) }) {
			continue
		}
		if _, sentences := r.lineReader.(*hearsayReader); !sentences || !hearsay.ShowsMore(text) {
			readers = append(readers, r.lineReader)
		}
	}
	if len(readers) == 0 {
		return
	}
	number, quotation := 0, logline.Quotation{}
	for line := range bytes.Lines(text) {
		number++
		if quotation.Has(string(line)) || len(line) > longestLine {
			continue
		}
		s := strings.ReplaceAll(strings.TrimRight(string(line), "\r\n\t "), "**", "") // Markdown's for what is important
		for _, r := range readers {
			r.line(s, number)
		}
	}
	stacks.end()
	calls.end()
}

// logStacks takes the kernel stacks from a log, which may be large.
type logStacks struct {
	*stackReader
	rest   *[]byte // of a line
	number *int
}

func newLogStacks(name string) logStacks {
	return logStacks{&stackReader{to: &systemText{}, name: name, ofLog: true}, new([]byte), new(int)}
}

func (l logStacks) write(text []byte) {
	for len(text) > 0 {
		line, after, whole := bytes.Cut(text, []byte("\n"))
		text = after
		if len(*l.rest) > 0 || !whole {
			*l.rest = append(*l.rest, line[:min(len(line), max(0, longestLine+1-len(*l.rest)))]...)
			line = *l.rest
		}
		if !whole {
			return
		}
		*l.number++
		if len(line) <= longestLine && ofTrace(line) {
			l.line(strings.TrimRight(string(line), "\r\t "), *l.number)
		}
		*l.rest = (*l.rest)[:0]
	}
}

// skip is told of lines that are left out, after whole ones.
func (l logStacks) skip(lines int) {
	*l.number += lines
	*l.rest = (*l.rest)[:0]
}

// ofTrace says whether a line may be part of a kernel stack in a log.
func ofTrace(line []byte) bool {
	for _, mark := range [...]string{"+0x", "task", "Call Trace", "Call trace", " D ", "BUG: ", "WARNING: "} {
		if bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}

func (x *systemText) saw(source, name string) {
	if x.seen == nil {
		x.seen = map[string]string{}
	}
	x.seen[source] = cmp.Or(x.seen[source], name)
}

// addTo adds what was found to the evidence. What a run of this program, or the kernel's own table, says is not changed.
func (x *systemText) addTo(e *forensics.Evidence) {
	if x.seen == nil || e.Collector.PID != 0 {
		return
	}
	if len(e.Mounts.Mounts) == 0 {
		x.addMounts(e)
	}
	x.addErrors(e)
	if e.Disks == nil {
		e.Disks = x.state(e)
	}
	x.addThreads(e)
	x.addServers(e)
	x.addZombies(e)
	x.addOrphans(e)
	x.addFiles(e)
	x.addLeaks(e)
	x.addDetached(e)
	x.addServed(e)
	if k := x.stopped(); e.Kubelet == nil && k != nil {
		e.Kubelet = k
	}
	x.addMetrics(e)
	if len(e.Cgroups) == 0 {
		e.Cgroups = x.frozen
	}
	if e.CgroupTotals == nil && x.memoryCgroups > 0 {
		e.CgroupTotals = &runtimes.CgroupTotals{MemoryCgroups: x.memoryCgroups}
	}
	for _, source := range []string{
		forensics.SourceMounts, forensics.SourceHealth, forensics.SourceDisks, forensics.SourceThreads, forensics.SourcePodDirs, forensics.SourceHolders,
		forensics.SourceProcesses, forensics.SourceKubelet, forensics.SourceMetrics, forensics.SourceCgroups,
	} {
		has := map[string]bool{
			forensics.SourceMounts: len(e.Mounts.Mounts) > 0, forensics.SourceHealth: len(e.Probes) > 0,
			forensics.SourceDisks: e.Disks != nil, forensics.SourceThreads: true,
			forensics.SourcePodDirs: len(e.PodDirs) > 0, forensics.SourceHolders: e.MountUse != nil,
			forensics.SourceProcesses: len(e.Processes) > 0, forensics.SourceKubelet: e.Kubelet != nil, forensics.SourceMetrics: e.Kubelet != nil, forensics.SourceCgroups: len(e.Cgroups) > 0 || e.CgroupTotals != nil,
		}[source]
		known := slices.ContainsFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source })
		if name, ok := x.seen[source]; ok && has && !known {
			e.Cover(forensics.Source{Source: source, Status: forensics.SourceTruncated, Detail: "only what " + name + " shows"})
		}
	}
}

// addMounts takes over the mounts, each once. They get negative ids where the kernel's are not in the text. Two at one place may be of two
// namespaces, unless one is the parent of the other.
func (x *systemText) addMounts(e *forensics.Evidence) {
	known, stacked := map[mountRow]bool{}, map[mountRow]map[int]bool{}
	listed, list := map[string]bool{}, x.ofHost()
	for _, m := range list {
		listed[m.MountPoint] = listed[m.MountPoint] || m.FSType != ""
	}
	for _, m := range list {
		if m.FSType == "" && listed[m.MountPoint] { // counted, and known better
			continue
		}
		at := mountRow{m.MountPoint, m.Source, m.FSType}
		if ids := stacked[at]; known[at] && (m.ID == 0 || !ids[m.ParentID] || ids[m.ID]) {
			continue
		}
		known[at] = true
		if m.ID != 0 {
			if stacked[at] == nil {
				stacked[at] = map[int]bool{}
			}
			stacked[at][m.ID] = true
		}
		if m.ID == 0 {
			m.ID, m.Alike = -len(known), x.tables.stacked(at)-1
		}
		e.Mounts.Mounts = append(e.Mounts.Mounts, m)
	}
}

// superblock names the file system of a mount where the device number is not known: by its source if that can be one file system
// alone, else by its mount point.
func superblock(m mounts.Mount) string {
	if (m.Class == mounts.ClassNetwork || m.Class == mounts.ClassBlock) && strings.ContainsAny(m.Source, ":/") {
		return m.Source
	}
	return m.MountPoint
}

// addErrors makes an answer of a mount of each error, and of each call that took long or did not return.
func (x *systemText) addErrors(e *forensics.Evidence) {
	done := map[string]bool{}
	for i, failed := range x.errors {
		m, ok := e.Mounts.Index().Covering(failed.path)
		if x.wellLater(i) || failed.errno == "" && ok && m.Class == mounts.ClassAutofs { // which mounts first
			continue
		}
		if !ok || m.MountPoint != failed.path && (m.Class == mounts.ClassBlock || m.Class == mounts.ClassMemory || m.Class == mounts.ClassOverlay) {
			m = mounts.Mount{ID: -len(e.Mounts.Mounts) - 1, Device: failed.path, MountPoint: failed.path, Root: "/", Class: mounts.ClassUnknown}
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
			x.saw(forensics.SourceMounts, x.seen[forensics.SourceHealth])
		}
		if !done[m.Device] {
			done[m.Device] = failed.errno != ""
			p := mounts.Probe{
				MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Call: cmp.Or(failed.call, "statfs"), Errno: failed.errno, Error: failed.text,
				Seconds: failed.seconds, Pending: failed.pending, Said: failed.said,
			}
			if p.Pending {
				p.Awake = p.Seconds
			}
			e.Probes = append(e.Probes, p)
		}
	}
}

// state are the disks as the kubelet sees them; nil if none that it uses was seen, nor its configuration.
func (x *systemText) state(e *forensics.Evidence) *eviction.State {
	if len(x.disks) == 0 && x.stats == nil && x.config == nil {
		return nil
	}
	settings := (&forensics.Evidence{Kubelet: &kubelet.Instance{Config: x.config}}).DiskSettings(forensics.NewModel(e).KubeletMinor())
	if slices.ContainsFunc(x.disks, func(d diskRow) bool { return strings.HasPrefix(d.MountPoint, "/var/lib/rancher/") }) {
		settings.Program = "k3s"
	}
	s := &eviction.State{
		Thresholds: settings.Thresholds(), ImageGC: settings.ImageGC(), Problems: []eviction.Problem{}, Usage: []eviction.Usage{},
		FileSystems: []eviction.FileSystem{}, Places: []eviction.Place{}, NotWalked: "only the output of df was given",
	}
	switch {
	case x.config == nil:
		s.Assumed = "the kubelet's configuration was not given"
	case !x.effective:
		s.Assumed = "the kubelet's flags were not given"
	}
	if x.config != nil {
		s.Problems = settings.Problems()
	}
	if x.stats != nil {
		s.NotWalked = "only the kubelet's statistics were given"
		x.stats.addTo(s)
		return s
	}
	s.Places = x.places()
	for _, p := range s.Places {
		if !slices.ContainsFunc(s.FileSystems, func(f eviction.FileSystem) bool { return f.Device == p.Device }) {
			at := slices.IndexFunc(x.disks, func(d diskRow) bool { return d.MountPoint == p.Device })
			s.FileSystems = append(s.FileSystems, x.disks[at].FileSystem)
		}
	}
	for _, d := range x.disks {
		if _, full := d.Full(); full && d.MountPoint == "/run" { // where runtimes keep the state of containers
			s.FileSystems = append(s.FileSystems, d.FileSystem)
		}
	}
	if s.FileSystems = certain(s, x.config != nil); len(s.FileSystems) == 0 && x.config == nil {
		return nil
	}
	return s
}

// addThreads adds what waits. A stack or a process that is there twice is one.
func (x *systemText) addThreads(e *forensics.Evidence) {
	type id struct{ pid, tid int }
	known := map[id]bool{}
	for _, t := range e.Threads {
		known[id{t.PID, t.TID}] = true
	}
	for _, t := range x.waiting() {
		if at := (id{t.PID, t.TID}); t.PID == 0 || !known[at] {
			known[at] = true
			placeThread(&t, e, x.arguments(t.PID))
			e.Threads = append(e.Threads, t)
		}
	}
}

// arguments are those of a process that are absolute paths, and the command.
func (x *systemText) arguments(pid int) processRow {
	for _, r := range x.rows {
		if r.pid == pid && pid != 0 {
			return r
		}
	}
	for _, r := range x.zombies.names { // without a state
		if r.pid == pid && pid != 0 {
			return r
		}
	}
	return processRow{}
}

// placeThread finds the mount that a thread waits for: the only one that its paths are on, or else the only file system of
// which the wait can be.
func placeThread(t *procs.Thread, e *forensics.Evidence, row processRow) {
	index := e.Mounts.Index()
	var on []mounts.Mount
	paths := row.paths()
	for _, p := range paths {
		if m, ok := index.Covering(p); ok && (forensics.WaitsFor(t.Wait, m) || waitsSomewhere(t.Wait) && (m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE)) {
			on = append(on, m)
		}
	}
	if len(paths) == 1 {
		t.Path, t.PathFrom = paths[0], "command"
	}
	if len(on) == 0 && len(paths) == 0 {
		for _, m := range e.Mounts.Mounts {
			asksAll := row.comm() == "df" && waitsSomewhere(t.Wait) && (m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE)
			if (asksAll || forensics.WaitsFor(t.Wait, m)) && m.Class != mounts.ClassBlock && m.FSType != "fuse.lxcfs" && m.FSType != "fuse.gvfsd-fuse" {
				on = append(on, m)
			}
		}
		sorting.Stable(on, func(a, b mounts.Mount) int { return cmp.Compare(podVolumes(b), podVolumes(a)) })
	}
	if len(on) == 0 || slices.ContainsFunc(on, func(m mounts.Mount) bool { return m.Device != on[0].Device }) {
		return
	}
	t.MountID, t.Device = on[0].ID, on[0].Device
}

// podVolumes orders the volumes of pods before other mounts.
func podVolumes(m mounts.Mount) int {
	if poduid.Path.MatchString(m.MountPoint) {
		return 1
	}
	return 0
}

// waitsSomewhere says that it is not known what a thread waits for, or that it waits for a lock.
func waitsSomewhere(w procs.Wait) bool {
	return w.Kind == procs.WaitOtherDisk || w.Kind == procs.WaitFSLock
}

// savedAt is where a text shows something.
func savedAt(name string, line int) string { return fmt.Sprintf("%s:%d", name, line) }
