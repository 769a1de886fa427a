package read

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
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
		r.config, r.number = path.Base(m[1]), number
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
			return volume
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

// addServed adds the FUSE clients whose command lines name another volume than the one that is mounted, by what the same text says.
func (x *systemText) addServed(e *forensics.Evidence) {
	for _, c := range x.served.clients {
		for _, m := range e.Mounts.Mounts {
			point := pointOf(c, m)
			if point < 1 {
				continue
			}
			started, shows := x.mismatch(c, point, m)
			if started == "" && c.Comm == "juicefs" {
				started, shows = x.swapped(e, c, m)
			}
			if started == "" {
				continue
			}
			if e.MountUse == nil {
				e.MountUse = &forensics.MountUse{}
			}
			e.MountUse.FUSE.Named = append(e.MountUse.FUSE.Named, forensics.FUSENamed{PID: c.PID, Device: m.Device, Started: started, Shows: shows})
			if !slices.ContainsFunc(e.Processes, func(p procs.Process) bool { return p.PID == c.PID }) {
				e.Processes = append(e.Processes, c)
			}
		}
	}
}

// pointOf is which argument of a client is the mount point, 0 where none is. A pod has its volume at another path, by the same name.
func pointOf(c procs.Process, m mounts.Mount) int {
	return max(0, slices.IndexFunc(c.Command, func(a string) bool {
		return m.Class == mounts.ClassFUSE && (a == m.MountPoint || strings.HasPrefix(a, "/") && ofVolume(path.Base(a)) && path.Base(a) == path.Base(m.MountPoint))
	}))
}

// swapped finds a mount with the name of the file system that another client was started for: its mount point has that name, this one has not,
// and both have metadata of their own.
func (x *systemText) swapped(e *forensics.Evidence, c procs.Process, m mounts.Mount) (started, shows string) {
	_, name, _ := strings.Cut(m.Source, ":")
	if name == "" || strings.Contains(m.MountPoint, name) {
		return "", ""
	}
	for _, other := range x.served.clients {
		for _, n := range e.Mounts.Mounts {
			at := pointOf(other, n)
			if at > 1 && other.PID != c.PID && n.Source == m.Source && strings.Contains(n.MountPoint, name) && other.Command[at-1] != c.Command[pointOf(c, m)-1] {
				return path.Base(m.MountPoint), name
			}
		}
	}
	return "", ""
}

// mismatch is what a client was started for and what its mount shows; "" where both are the same, or one is unknown.
func (x *systemText) mismatch(c procs.Process, point int, m mounts.Mount) (started, shows string) {
	started = startedFor[c.Comm](c.Command, point)
	config := x.served.configs[path.Base(m.MountPoint)]
	switch c.Comm {
	case "juicefs":
		if at := config["MountPoint"]; at != "" && path.Base(at) != path.Base(m.MountPoint) {
			return path.Base(m.MountPoint), path.Base(at)
		}
		shows = strings.Trim(config["Subdir"], "/")
		if _, name, _ := strings.Cut(m.Source, ":"); shows == "" && ofVolume(name) && !strings.Contains(m.MountPoint, name) && ofVolume(path.Base(m.MountPoint)) {
			return path.Base(m.MountPoint), name
		}
	case "glusterfs":
		_, shows, _ = strings.Cut(m.Source, ":")
		shows, _, _ = strings.Cut(strings.TrimPrefix(shows, "/"), "/")
	default:
		if shows, _, _ = strings.Cut(m.Source, ":"); shows == c.Comm || shows == "fuse" || shows == "none" {
			return "", ""
		}
	}
	if started == "" || shows == "" || started == shows {
		return "", ""
	}
	return started, shows
}

// ofVolume says whether a name is that of a volume that was provisioned for a claim.
func ofVolume(name string) bool { return strings.HasPrefix(name, "pvc-") }
