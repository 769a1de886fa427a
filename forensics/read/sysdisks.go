package read

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A diskReader reads what df(1) prints.
type diskReader struct {
	to     *systemText
	name   string
	inodes bool   // the heading is one of df -i
	unit   uint64 // bytes of a number without a letter
	source string // a long name that has a line of its own
}

// A diskRow is one line of df, or two: of df and df -i. Its Device is the mount point.
type diskRow struct{ eviction.FileSystem }

var (
	dfRow  = pattern.New(`^(\S+)\s+(?:([a-z][\w.-]*)\s+)?(\d[\d.,]*[KMGTPEkB]?i?|-)\s+(\d[\d.,]*[KMGTPEkB]?i?|-)\s+(-?\d[\d.,]*[KMGTPEkB]?i?|-)\s+(\d+)%\s+(/.*)$`)
	dfUnit = pattern.New(`\b(1|512|1024|[1-9]\d*)([KMGB]?)B?-[Bb]l`)
	alone  = pattern.New(`^/\S{9,}$|^\S{9,}:/\S*$`)
)

func (r *diskReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	percent := strings.Contains(text, "%")
	if !percent && (r.source == "" && (text == "" || len(text) > 200 || strings.Contains(text, " "))) {
		return
	}
	if percent && !strings.Contains(text, "% /") && !dfRow.MatchString(text) && len(strings.Fields(text)) >= 5 {
		r.inodes, r.unit = strings.Contains(text, "node") || strings.Contains(text, "IUse%"), 1024
		if m := dfUnit.FindStringSubmatch(text); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			r.unit = n * letters[m[2]]
		}
		return
	}
	if r.source != "" {
		text, r.source = r.source+" "+text, ""
	}
	m := dfRow.FindStringSubmatch(text)
	switch {
	case m != nil:
		r.add(m)
	case alone.MatchString(text):
		r.source = text
	}
}

var letters = map[string]uint64{"": 1, "B": 1, "K": 1 << 10, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}

// number is "118G" or "6.4G" in bytes, or 1024 times 83873772.
func (r *diskReader) number(s string) (uint64, bool) {
	s = strings.TrimSuffix(strings.ReplaceAll(s, ",", "."), "i")
	digits := strings.TrimRight(s, "KMGTPEkB")
	unit, bare := letters[s[len(digits):]], digits == s
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 {
		return 0, err == nil // df -i of btrfs, and what is reserved for root
	}
	if bare && !r.inodes {
		unit = max(r.unit, 1)
	}
	return uint64(n * float64(unit)), true
}

func (r *diskReader) add(m []string) {
	total, ok1 := r.number(m[3])
	used, ok2 := r.number(m[4])
	left, ok3 := r.number(m[5])
	if !ok1 || !ok2 || !ok3 || total == 0 || len(r.to.disks) >= mostSaved {
		return
	}
	point := path.Clean(m[7])
	row := -1
	for i, d := range r.to.disks {
		if d.MountPoint == point {
			row = i
		}
	}
	if row < 0 {
		row = len(r.to.disks)
		r.to.disks = append(r.to.disks, diskRow{eviction.FileSystem{Device: point, MountPoint: point, Source: m[1], FSType: m[2]}})
	}
	f := &r.to.disks[row].FileSystem
	if r.inodes {
		f.Inodes, f.InodesFree = total, left
	} else {
		f.CapacityBytes, f.FreeBytes, f.AvailableBytes = total, total-min(used, total), left
	}
	r.to.saw(forensics.SourceDisks, r.name)
}

// runtimeRoots are where container runtimes keep images.
var runtimeRoots = []string{
	"/var/lib/containerd", "/var/lib/docker", "/var/lib/containers", "/var/lib/rancher/k3s/agent/containerd", "/var/lib/rancher/rke2/agent/containerd",
}

// places are the kubelet's directory and the runtime's, as far as it is known on which disk each is: a table from which lines were
// cut may lack the disk, and then a directory above it is not asked.
func (x *systemText) places() []eviction.Place {
	list := []eviction.Place{}
	if point := x.diskOf("/var/lib/kubelet"); point != "" {
		list = append(list, eviction.Place{Role: eviction.RoleNode, Path: "/var/lib/kubelet", Device: point, Why: "the usual place"})
	}
	images := eviction.Place{Role: eviction.RoleImage, Why: "the usual place"}
	for _, root := range runtimeRoots {
		if point := x.diskOf(root); len(point) > len(images.Device) {
			images.Path, images.Device = root, point
		}
	}
	if images.Device != "" {
		list = append(list, images)
	}
	return list
}

// rounding is by how much a figure of df may be wrong, in percent of the capacity.
const rounding = 1

// certain are the file systems of a state that are past a threshold, surely near one, or far from all: df rounds what it prints. Near is
// judged by thresholds that are known alone.
func certain(s *eviction.State, known bool) []eviction.FileSystem {
	index := s.Index()
	return sorting.Delete(slices.Clone(s.FileSystems), func(f eviction.FileSystem) bool {
		if _, full := f.Full(); full {
			return false
		}
		list := index.Reaches(f.Device)
		if len(list) == 0 || list[0].Met || list[0].Left() >= eviction.Near {
			return false
		}
		return !known || list[0].Left() < rounding || list[0].Left() > eviction.Near-rounding
	})
}

// diskOf is the mount point of the disk that a directory is on, "" if the table has none.
func (x *systemText) diskOf(dir string) string {
	best := ""
	for _, d := range x.disks {
		if point := d.MountPoint; (dir == point || point == "/" || strings.HasPrefix(dir, point+"/")) && len(point) > len(best) {
			best = point
		}
	}
	return best
}
