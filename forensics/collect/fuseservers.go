package collect

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// fuseUse is what is seen of the processes behind FUSE file systems. list are the mounts of those in all tables that are known,
// devices what processes have open, waiting the requests in all connections.
func fuseUse(list []fuseMount, devices []holders.FUSEDevice, command func(pid int) []string, waiting map[uint64]int) forensics.FUSEUse {
	use := forensics.FUSEUse{Superblocks: []string{}, Devices: append([]holders.FUSEDevice{}, devices...), Named: []forensics.FUSENamed{}, Queues: []mounts.FUSEQueue{}}
	done := map[string]bool{}
	for _, m := range list {
		if !done[m.Device] && m.FSType != "fusectl" {
			done[m.Device] = true
			use.Superblocks = append(use.Superblocks, m.Device)
		}
	}
	if !slices.ContainsFunc(devices, func(d holders.FUSEDevice) bool { return d.Connection != 0 }) {
		use.Named = namedBy(list, devices, command)
	}
	for number, n := range waiting {
		use.Queues = append(use.Queues, mounts.FUSEQueue{Device: mounts.ConnectionDevice(number), Requests: []int{n}})
	}
	sorting.Stable(use.Queues, func(a, b mounts.FUSEQueue) int { return strings.Compare(a.Device, b.Device) })
	return use
}

// A fuseMount is a mount of a FUSE file system in the table of a mount namespace.
type fuseMount struct {
	mounts.Mount
	ns uint64
}

// namedBy reads what FUSE file systems the command lines of the processes name that have /dev/fuse open, each once.
func namedBy(list []fuseMount, devices []holders.FUSEDevice, command func(pid int) []string) []forensics.FUSENamed {
	points, sources := map[string][]fuseMount{}, map[string][]string{}
	known := map[[2]string]bool{}
	for _, m := range list {
		points[m.MountPoint] = append(points[m.MountPoint], m)
		if of := [2]string{m.Source, m.Device}; len(m.Source) > 3 && !known[of] {
			known[of] = true
			sources[m.Source] = append(sources[m.Source], m.Device)
		}
	}
	named, seen, read := []forensics.FUSENamed{}, map[forensics.FUSENamed]bool{}, map[int]bool{}
	add := func(n forensics.FUSENamed) {
		if !seen[n] {
			seen[n] = true
			named = append(named, n)
		}
	}
	for _, d := range devices {
		if read[d.PID] {
			continue
		}
		read[d.PID] = true
		for _, word := range operands(command(d.PID)) {
			for _, m := range points[word] {
				add(forensics.FUSENamed{PID: d.PID, Device: m.Device, Own: m.ns == d.MountNS})
			}
			for _, device := range sources[word] {
				add(forensics.FUSENamed{PID: d.PID, Device: device, Source: true})
			}
		}
	}
	return named
}

// operands are the words of a command line without the program's name, which is the source of all mounts of some programs
// (s3fs, squashfuse), and the values of options.
func operands(command []string) []string {
	var words []string
	for _, word := range command[min(1, len(command)):] {
		words = append(words, word)
		if _, value, found := strings.Cut(word, "="); found {
			words = append(words, value)
		}
	}
	return words
}
