package collect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// guessServers finds the server of each FUSE file system. list are its mounts in all tables that are known, devices what
// processes have open; complete says that all processes could be looked at.
func guessServers(list []fuseMount, devices []holders.FUSEDevice, command func(pid int) []string, complete bool) []forensics.FUSEServer {
	servers := []forensics.FUSEServer{}
	connections := slices.ContainsFunc(devices, func(d holders.FUSEDevice) bool { return d.Connection != 0 })
	var claims []claim
	if !connections {
		claims = claimsOf(list, devices, command)
	}
	done, by, claimed := map[string]bool{}, byConnection(devices), byDevice(claims)
	for _, m := range list {
		if done[m.Device] || m.FSType == "fusectl" {
			continue
		}
		done[m.Device] = true
		found := connected(m.Device, by)
		if !connections {
			found = guess(m.Device, claimed[m.Device])
		}
		if len(found) == 0 && complete && (connections || len(devices) == 0) {
			found = []forensics.FUSEServer{{Device: m.Device, Why: "no process has its connection open"}}
		}
		servers = append(servers, found...)
	}
	return servers
}

// A fuseMount is a mount of a FUSE file system in the table of a mount namespace.
type fuseMount struct {
	mounts.Mount
	ns uint64
}

// connected lists the processes that by the kernel's word have the connection of a superblock open, each once.
func connected(device string, by map[uint64][]holders.FUSEDevice) []forensics.FUSEServer {
	var found []forensics.FUSEServer
	seen := map[int]bool{}
	for _, d := range by[mounts.FUSEConnection(device)] {
		if seen[d.PID] {
			continue
		}
		seen[d.PID] = true
		found = append(found, forensics.FUSEServer{
			Device: device, PID: d.PID, Why: fmt.Sprintf("descriptor %d of process %d is connection %d", d.FD, d.PID, d.Connection),
		})
	}
	return found
}

// byConnection are the descriptors of which the kernel tells the connection.
func byConnection(devices []holders.FUSEDevice) map[uint64][]holders.FUSEDevice {
	by := map[uint64][]holders.FUSEDevice{}
	for _, d := range devices {
		if d.Connection != 0 {
			by[uint64(d.Connection)] = append(by[uint64(d.Connection)], d)
		}
	}
	return by
}

// detachedServers are those of FUSE file systems that callers wait for and that are in no table. waiting are the requests of
// all connections.
func detachedServers(list []fuseMount, devices []holders.FUSEDevice, waiting map[uint64]int) []forensics.FUSEServer {
	mounted, waitedFor := map[uint64]bool{}, 0
	for _, m := range list {
		mounted[mounts.FUSEConnection(m.Device)] = true
	}
	for _, n := range waiting {
		if n > 0 {
			waitedFor++
		}
	}
	var found []forensics.FUSEServer
	by := byConnection(devices)
	for _, d := range devices {
		number := uint64(d.Connection)
		if number == 0 || mounted[number] || waiting[number] == 0 {
			continue
		}
		mounted[number] = true
		for _, s := range connected(mounts.ConnectionDevice(number), by) {
			s.Detached, s.OnlyWaiting = true, waitedFor == 1
			found = append(found, s)
		}
	}
	return found
}

// A claim is what FUSE file systems the command line of a process names, by their superblocks: by a mount point in the
// process's own mount namespace, by one in any namespace, by their source.
type claim struct {
	pid                   int
	own, anywhere, source []string
}

// claimsOf reads the command lines of the processes that have /dev/fuse open, each once.
func claimsOf(list []fuseMount, devices []holders.FUSEDevice, command func(pid int) []string) []claim {
	points, sources := map[string][]fuseMount{}, map[string][]string{}
	known := map[[2]string]bool{}
	for _, m := range list {
		points[m.MountPoint] = append(points[m.MountPoint], m)
		if of := [2]string{m.Source, m.Device}; len(m.Source) > 3 && !known[of] {
			known[of] = true
			sources[m.Source] = append(sources[m.Source], m.Device)
		}
	}
	var claims []claim
	seen := map[int]bool{}
	for _, d := range devices {
		if seen[d.PID] {
			continue
		}
		seen[d.PID] = true
		c := claim{pid: d.PID}
		for _, word := range operands(command(d.PID)) {
			for _, m := range points[word] {
				c.anywhere = append(c.anywhere, m.Device)
				if m.ns == d.MountNS {
					c.own = append(c.own, m.Device)
				}
			}
			c.source = append(c.source, sources[word]...)
		}
		claims = append(claims, c)
	}
	return claims
}

// byDevice are the claims to each superblock, in their order.
func byDevice(claims []claim) map[string][]claim {
	by := map[string][]claim{}
	for _, c := range claims {
		seen := map[string]bool{}
		for _, device := range slices.Concat(c.anywhere, c.source) {
			if !seen[device] {
				seen[device] = true
				by[device] = append(by[device], c)
			}
		}
	}
	return by
}

// guess finds the processes that most likely serve a superblock: those that name one of its mount points, in their own
// mount namespace if there are such. Only where there are none, those that name its source and no mount point of a FUSE
// file system: many mounts may have one source.
func guess(device string, claims []claim) []forensics.FUSEServer {
	for _, way := range []struct {
		fits func(claim) bool
		what string
	}{
		{func(c claim) bool { return slices.Contains(c.own, device) }, "mount point"},
		{func(c claim) bool { return len(c.own) == 0 && slices.Contains(c.anywhere, device) }, "mount point"},
		{func(c claim) bool { return len(c.anywhere) == 0 && slices.Contains(c.source, device) }, "source"},
	} {
		var found []forensics.FUSEServer
		for _, c := range claims {
			if way.fits(c) {
				found = append(found, forensics.FUSEServer{
					Device: device, PID: c.pid, Guess: true,
					Why: fmt.Sprintf("process %d has /dev/fuse open and its command line names the %s", c.pid, way.what),
				})
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
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
