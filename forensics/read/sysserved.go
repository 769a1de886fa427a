package read

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A servedReader finds the command lines of FUSE clients, wherever they stand, and what JuiceFS says of itself in ".config".
type servedReader struct {
	to   *systemText
	name string
	// pid is that of /proc/PID/cmdline in the line above; config is the name of the mount point of which ".config" is printed.
	pid    int
	config string
	// number is that of the line with the command that prints it.
	number int
}

// fuseVolumes is what a text shows of the volumes of FUSE clients.
type fuseVolumes struct {
	clients []procs.Process
	configs map[string]map[string]string // by the last name of a mount point: of ".config", the keys that tell the volume
}

var (
	cmdlineOf  = pattern.New(`/proc/(\d+)/cmdline\b`)
	pidOfRow   = pattern.New(`^(?:[a-z_][\w+-]*\s+)?(\d+)\s`) // of "ps -ef", "ps -o pid,args", "pgrep -a"
	configFile = pattern.New(`\s(/\S+)/\.config\b`)
	volume     = pattern.New(`^pvc-(?:` + poduid.Pattern + `)`)
	configPair = pattern.New(`^"(MountPoint|Subdir|Name)":\s*"([^"]+)",?$`)
)

// nearConfig is how many lines of ".config" are looked at.
const nearConfig = 20

func (r *servedReader) line(s string, number int) {
	text := strings.TrimSpace(s)
	pid := r.pid
	r.pid = 0
	if m := cmdlineOf.FindStringSubmatch(text); m != nil {
		r.pid = atoi(m[1])
		return
	}
	if m := configFile.FindStringSubmatch(text); m != nil {
		r.config, r.number = volumeName(m[1]), number
		return
	}
	if m := configPair.FindStringSubmatch(text); m != nil && r.config != "" && number <= r.number+nearConfig {
		r.to.served.set(r.config, m[1], m[2])
		return
	}
	if m := pidOfRow.FindStringSubmatch(text); m != nil {
		pid = atoi(m[1])
	}
	words := strings.Fields(text)
	at := slices.IndexFunc(words, func(w string) bool { return startedFor[clientName(w)] != nil })
	if pid == 0 || at < 0 || len(words) < at+2 || len(r.to.served.clients) >= mostSaved {
		return
	}
	r.to.served.clients = append(r.to.served.clients, procs.Process{PID: pid, Comm: clientName(words[at]), State: "S", Command: words[at:], UID: -1})
	r.to.saw(forensics.SourceHolders, r.name)
	r.to.saw(forensics.SourceProcesses, r.name)
}

func clientName(word string) string { return strings.TrimPrefix(path.Base(word), "mount.") }

func (v *fuseVolumes) set(point, key, value string) {
	if v.configs == nil {
		v.configs = map[string]map[string]string{}
	}
	if v.configs[point] == nil {
		v.configs[point] = map[string]string{}
	}
	v.configs[point][key] = value
}

func (v *fuseVolumes) take(other fuseVolumes) {
	v.clients = append(v.clients, other.clients...)
	for point, pairs := range other.configs {
		for key, value := range pairs {
			v.set(point, key, value)
		}
	}
}

// startedFor tells by the arguments of a client, of which one is the mount point, which volume it was started for; "" is unknown.
var startedFor = map[string]func(args []string, point int) string{
	"geesefs": wordBefore, "goofys": wordBefore, "gcsfuse": wordBefore, "glusterfs": volfile, "juicefs": subdirectory,
}

// wordBefore is a bucket, without the prefix in it.
func wordBefore(args []string, point int) string {
	bucket, _, _ := strings.Cut(args[point-1], ":")
	if point < 2 || strings.ContainsAny(bucket[:min(len(bucket), 1)], "-/") || strings.Contains(bucket, "=") {
		return ""
	}
	return bucket
}

// volfile is a volume of Gluster.
func volfile(args []string, _ int) string {
	for i, a := range args {
		name, ok := strings.CutPrefix(a, "--volfile-id=")
		if !ok && a == "--volfile-id" && i+1 < len(args) {
			name, ok = args[i+1], true
		}
		if ok {
			volume, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
			return strings.TrimSuffix(strings.TrimSuffix(volume, ".tcp"), ".rdma")
		}
	}
	return ""
}

// subdirectory is that of a file system of JuiceFS.
func subdirectory(args []string, _ int) string {
	for _, a := range args {
		for option := range strings.SplitSeq(a, ",") {
			if name, ok := strings.CutPrefix(strings.TrimPrefix(option, "--"), "subdir="); ok {
				return strings.Trim(name, "/")
			}
		}
	}
	return ""
}

// A servedMount is a mount and the client whose command line names it, by which argument.
type servedMount struct {
	mounts.Mount
	client procs.Process
	at     int
}

// addServed adds the FUSE clients whose command lines name another volume than the one that is mounted, by what the same text says.
func (x *systemText) addServed(e *forensics.Evidence) {
	list, sources := x.servedMounts(e.Mounts.Mounts), map[string][]servedMount{}
	for _, m := range list {
		sources[m.Source] = append(sources[m.Source], m)
	}
	for _, m := range list {
		started, shows := x.mismatch(m)
		if started == "" && m.client.Comm == "juicefs" {
			started, shows = swapped(m, sources[m.Source])
		}
		if started == "" {
			continue
		}
		if e.MountUse == nil {
			e.MountUse = &forensics.MountUse{}
		}
		e.MountUse.FUSE.Named = append(e.MountUse.FUSE.Named, forensics.FUSENamed{PID: m.client.PID, Device: m.Device, Started: started, Shows: shows})
		if !slices.ContainsFunc(e.Processes, func(p procs.Process) bool { return p.PID == m.client.PID }) {
			e.Processes = append(e.Processes, m.client)
		}
	}
}

// servedMounts finds the mount of each client. A pod has its volume at another path, by the same name.
func (x *systemText) servedMounts(list []mounts.Mount) []servedMount {
	at := map[string]mounts.Mount{}
	for _, m := range list {
		if m.Class == mounts.ClassFUSE {
			at[m.MountPoint] = m
			if name := volumeName(m.MountPoint); ofVolume(name) {
				at[name] = m
			}
		}
	}
	var found []servedMount
	for _, c := range x.served.clients {
		for i, a := range c.Command[1:] {
			m, ok := at[a]
			if !ok && strings.HasPrefix(a, "/") {
				m, ok = at[volumeName(a)]
			}
			if ok {
				found = append(found, servedMount{m, c, i + 1})
				break
			}
		}
	}
	return found
}

// swapped finds a mount with the name of the file system that another client was started for: its mount point has that name, this one has not,
// and both have metadata of their own.
func swapped(m servedMount, sameSource []servedMount) (started, shows string) {
	_, name, _ := strings.Cut(m.Source, ":")
	if name == "" || strings.Contains(m.MountPoint, name) {
		return "", ""
	}
	for _, other := range sameSource {
		if strings.Contains(other.MountPoint, name) && other.client.Command[other.at-1] != m.client.Command[m.at-1] {
			return path.Base(m.MountPoint), name
		}
	}
	return "", ""
}

// mismatch is what a client was started for and what its mount shows; "" where both are the same, or one is unknown.
func (x *systemText) mismatch(m servedMount) (started, shows string) {
	c := m.client
	started = startedFor[c.Comm](c.Command, m.at)
	config := x.served.configs[volumeName(m.MountPoint)]
	switch c.Comm {
	case "juicefs":
		if at := config["MountPoint"]; at != "" && volumeName(at) != volumeName(m.MountPoint) {
			return volumeName(m.MountPoint), volumeName(at)
		}
		shows = strings.Trim(config["Subdir"], "/")
		if _, name, _ := strings.Cut(m.Source, ":"); shows == "" && ofVolume(name) && !strings.Contains(m.MountPoint, name) && ofVolume(path.Base(m.MountPoint)) {
			return path.Base(m.MountPoint), name
		}
	case "glusterfs":
		shows = m.Source[strings.LastIndexByte(m.Source, ':')+1:] // servers may stand before it
		shows, _, _ = strings.Cut(strings.TrimPrefix(shows, "/"), "/")
	default:
		named := slices.ContainsFunc(c.Command, func(a string) bool { return strings.Contains(a, "fsname=") }) // what the mount is to be called
		if shows, _, _ = strings.Cut(m.Source, ":"); shows == c.Comm || shows == "fuse" || shows == "none" || named {
			return "", ""
		}
	}
	if started == "" || shows == "" || started == shows {
		return "", ""
	}
	return started, shows
}

// volumeName is the last name of a mount point: that of the volume of a pod, and of what JuiceFS has mounted, without the random letters behind it.
func volumeName(point string) string {
	name := path.Base(point)
	if name == "mount" {
		name = path.Base(path.Dir(point))
	}
	if m := volume.FindString(name); m != "" {
		return m
	}
	return name
}

// ofVolume says whether a name is that of a volume that was provisioned for a claim.
func ofVolume(name string) bool { return strings.HasPrefix(name, "pvc-") }
