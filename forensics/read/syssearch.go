package read

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A searchReader finds commands that have searched all pods of the cluster for a UID and found none, and mounts that were looked for and
// are no more.
type searchReader struct {
	to      *systemText
	name    string
	uid     string // that the command above has searched for
	command string
	counts  bool   // it prints a number
	mounts  string // whose mounts the command above has searched for
}

var (
	// allPods is a command that prints all pods with their UIDs.
	allPods = pattern.New(`\b(?:kubectl|oc)\b(?:.*\s)?get\s+(?:po|pods?)\b`)
	ofAll   = pattern.New(`\s(?:-A|--all-namespaces)\b`)
	withUID = pattern.New(`\s-o[ =]?(?:json|yaml)\b|\s-o[ =]?\S*\buid\b|--output[ =](?:json|yaml)\b|metadata\.uid`)
	found   = pattern.New(`\|\s*grep\s+((?:-\w+\s+)*)["']?(` + poduid.Pattern + `|[0-9a-f]{8})["']?\s*$`)
	// mountSearch is a command that prints the mounts of a pod.
	mountSearch = pattern.New(`(?:\bgrep\b.*\s/proc/(?:self/|1/)?(?:mounts|mountinfo)\b|\b(?:mount|findmnt)\b.*\|\s*grep\b)`)
	unmounts    = pattern.New(`[#$>] (?:sudo )?umount\s`)
	prompt      = pattern.New(`^\S*(?: \S+)? ?[#$>](?: |$)`)
)

func (r *searchReader) line(s string, _ int) {
	text := strings.TrimSpace(s)
	if r.uid != "" {
		none := text == "" || prompt.MatchString(text)
		if r.counts {
			none = text == "0"
		}
		if none {
			r.to.searchedFor(r.uid, r.command)
		} else {
			delete(r.to.searched, r.uid)
		}
		r.uid = ""
	}
	if r.mounts != "" && (text == "" || prompt.MatchString(text)) {
		delete(r.to.searched, r.mounts)
		delete(r.to.searched, r.mounts[:8])
	}
	r.mounts = ""
	if uid := podUID.FindString(text); uid != "" && unmounts.MatchString(text) {
		delete(r.to.searched, uid)
		delete(r.to.searched, uid[:8])
	} else if uid != "" && mountSearch.MatchString(text) {
		r.mounts = uid
	}
	m := found.FindStringSubmatch(text)
	if m == nil || !allPods.MatchString(text) || !ofAll.MatchString(text) || !withUID.MatchString(text) || strings.Contains(m[1], "v") {
		return
	}
	command := text[allPods.FindStringIndex(text)[0]:]
	r.uid, r.command, r.counts = m[2], command, strings.Contains(m[1], "c")
}

func (x *systemText) searchedFor(uid, command string) {
	if x.searched == nil {
		x.searched = map[string]string{}
	}
	if len(x.searched) < mostSaved {
		x.searched[uid] = command
	}
}

// searchOf is the command that has searched for a UID, or for its beginning, and found none.
func (x *systemText) searchOf(uid string) string {
	return cmp.Or(x.searched[uid], x.searched[uid[:8]])
}

// addOrphans adds the directories of pods that do not exist and have mounts.
func (x *systemText) addOrphans(e *forensics.Evidence) {
	if len(e.PodDirs) > 0 || len(x.searched) == 0 {
		return
	}
	for _, m := range e.Mounts.Mounts {
		at := poduid.Path.FindStringSubmatch(m.MountPoint)
		if at == nil || x.searchOf(at[1]) == "" || !strings.Contains(m.MountPoint, "/volumes/") {
			continue
		}
		uid := at[1]
		i := slices.IndexFunc(e.PodDirs, func(d kubelet.PodDir) bool { return d.UID == uid })
		if i < 0 {
			i = len(e.PodDirs)
			e.PodDirs = append(e.PodDirs, kubelet.PodDir{
				UID: uid, Path: m.MountPoint[:strings.Index(m.MountPoint, uid)+len(uid)], Searched: x.searchOf(uid),
				Containers: []string{}, Volumes: []kubelet.Volume{}, Subpaths: []kubelet.Subpath{}, Unknown: []string{},
			})
		}
		dir := m.MountPoint
		if path.Base(dir) == "mount" {
			dir = path.Dir(dir)
		}
		plugin := strings.Replace(path.Base(path.Dir(dir)), "~", "/", 1)
		e.PodDirs[i].Volumes = append(e.PodDirs[i].Volumes, kubelet.Volume{Plugin: plugin, Name: path.Base(dir), Path: dir, Kind: "dir", MountPoints: []string{m.MountPoint}})
		x.saw(forensics.SourcePodDirs, x.seen[forensics.SourceMounts])
	}
}
