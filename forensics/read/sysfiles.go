package read

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// A fileReader reads what find(1), ls -R and tree(1) list below a pod's directory, and deleted files that lsof(8) shows as open.
type fileReader struct {
	to   *systemText
	name string
	uid  string // of the pod's directory that is listed
	csi  string // the directory of a CSI volume that is listed
}

var (
	// "filebeat  31002  root  9w  REG  8,1  118489120768  0  2883611 /var/log/x (deleted)"; NLINK only with +L. Either of the two says that
	// the file is deleted.
	deletedOpen = pattern.New(`^(\S+)\s+(\d+)\s+(?:\d+\s+)?\S.*\s(\d+)([urw])\S*\s+REG\s+\S+\s+(\d+)\s+(?:(0)\s+)?(\d+)\s+(/.*?)( \(deleted\))?$`)
	// pickedOpen is what people leave of it with awk(1): command, process, descriptor, size, perhaps the inode.
	pickedOpen = pattern.New(`^(\S+)\s+(\d+)\s+(\d+)([urw])\S*\s+(?:REG\s+)?(\d{4,})()\s+(?:(\d+)\s+)?(/.*?)( \(deleted\))$`)
	csiVolume  = pattern.New(`/volumes/kubernetes\.io~csi/([^/\s:'"]+)(/[^\s:'"]*)?`)
)

func (r *fileReader) line(s string, _ int) {
	text := strings.TrimSpace(tree.Replace(s))
	if strings.HasSuffix(text, "(deleted)") || strings.Contains(text, " REG ") && strings.Contains(text, " 0 ") {
		r.deleted(text)
		return
	}
	if text == "" || strings.Contains(text, "vol_data.json:") || strings.Contains(text, "]") {
		return
	}
	last := text[strings.LastIndexByte(text, ' ')+1:]
	at := poduid.Path.FindStringSubmatch(last)
	switch below := csiVolume.FindStringSubmatch(last); {
	case at != nil && below != nil:
		dir := last[:strings.Index(last, below[0])+len(below[0])-len(below[2])]
		r.uid, r.csi = at[1], dir
		r.entry(strings.Trim(below[2], "/"))
	case at != nil:
		r.uid, r.csi = at[1], strings.TrimRight(last, ":/")
	case last == "vol_data.json" && r.uid != "" && strings.Contains(r.csi, "/pods/"):
		r.entry(last)
	}
}

// entry notes what is in the directory of a CSI volume.
func (r *fileReader) entry(name string) {
	if len(r.to.leftovers) >= mostSaved {
		return
	}
	i := slices.IndexFunc(r.to.leftovers, func(v csiLeftover) bool { return v.path == r.csi })
	if i < 0 {
		i = len(r.to.leftovers)
		r.to.leftovers = append(r.to.leftovers, csiLeftover{uid: r.uid, path: r.csi})
	}
	v := &r.to.leftovers[i]
	switch name {
	case "":
	case "vol_data.json":
		v.volData = true
		r.to.saw(forensics.SourcePodDirs, r.name)
	case "mount":
		v.mountDir = true
	default:
		v.others++
	}
}

// A csiLeftover is a CSI volume in the directory of a pod, as a listing shows it.
type csiLeftover struct {
	uid, path         string
	volData, mountDir bool
	others            int
}

// deleted notes a deleted file that a process has open.
func (r *fileReader) deleted(text string) {
	m := deletedOpen.FindStringSubmatch(text)
	if m == nil {
		m = pickedOpen.FindStringSubmatch(text)
	}
	if m == nil || m[6]+m[9] == "" || len(r.to.deleted) >= mostSaved {
		return
	}
	name := m[8]
	size, err := strconv.ParseInt(m[5], 10, 64)
	if err != nil || strings.HasPrefix(name, "/dev/shm/") || strings.HasPrefix(name, "/memfd:") {
		return // or in memory
	}
	inode, _ := strconv.ParseUint(m[7], 10, 64)
	same := func(d holders.DeletedFile) bool { return d.Inode == inode && d.Path == name }
	if slices.ContainsFunc(r.to.deleted, same) {
		return // by another descriptor
	}
	r.to.deleted = append(r.to.deleted, holders.DeletedFile{PID: atoi(m[2]), FD: atoi(m[3]), Path: name, Inode: inode, SizeBytes: size, AllocatedBytes: size, Written: m[4] != "r"})
	r.to.owners = append(r.to.owners, procs.Process{PID: atoi(m[2]), Comm: m[1], State: "S", UID: -1})
	r.to.saw(forensics.SourceHolders, r.name)
}

// addFiles adds the volumes that a listing shows to be left, and the deleted files.
func (x *systemText) addFiles(e *forensics.Evidence) {
	if len(e.PodDirs) == 0 {
		for _, v := range x.leftovers {
			x.addLeftover(e, v)
		}
	}
	if e.MountUse != nil || len(x.deleted) == 0 {
		return
	}
	x.saw(forensics.SourceProcesses, x.seen[forensics.SourceHolders])
	for i := range x.deleted {
		if x.deleted[i].Device = x.diskOf(x.deleted[i].Path); x.deleted[i].Device == "" {
			x.deleted[i].Device = "/"
		}
	}
	e.MountUse = &forensics.MountUse{
		Holders: []holders.Holder{}, Unseen: []string{"all that lsof does not list"}, Kernel: []holders.KernelUser{}, Deleted: x.deleted,
	}
	if len(e.Processes) == 0 {
		e.Processes = x.owners
	}
}

func (x *systemText) addLeftover(e *forensics.Evidence, v csiLeftover) {
	if !slices.ContainsFunc(x.leftovers, func(other csiLeftover) bool { return other.uid == v.uid && other.volData }) {
		return
	}
	volume := kubelet.Volume{
		Plugin: "kubernetes.io/csi", Name: path.Base(v.path), Path: v.path, Kind: "dir", HasMountDir: v.mountDir, MountPoints: []string{},
		Inside: &kubelet.Contents{Files: v.others, First: []string{}},
	}
	if v.volData {
		volume.VolData = &kubelet.VolData{}
	}
	i := slices.IndexFunc(e.PodDirs, func(d kubelet.PodDir) bool { return d.UID == v.uid })
	if i < 0 {
		i = len(e.PodDirs)
		dir := v.path[:strings.Index(v.path, v.uid)+len(v.uid)]
		e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: v.uid, Path: dir, Searched: x.searchOf(v.uid), Containers: []string{}, Volumes: []kubelet.Volume{}, Subpaths: []kubelet.Subpath{}, Unknown: []string{}})
	}
	e.PodDirs[i].Volumes = append(e.PodDirs[i].Volumes, volume)
}

// shortUID is a UID of which somebody has left out the end.
var shortUID = pattern.New(`\b([0-9a-f]{8})-\.\.\.`)

// wholeUIDs puts the ends of UIDs back that the text has elsewhere, if only one begins like that.
func wholeUIDs(text []byte) []byte {
	if !bytes.Contains(text, []byte("-...")) {
		return text
	}
	whole := map[string]string{}
	for _, uid := range podUID.FindAllString(string(text), mostSaved) {
		begin := uid[:8]
		if other, ok := whole[begin]; ok && other != uid {
			uid = "" // which of them is not known
		}
		whole[begin] = uid
	}
	return []byte(shortUID.ReplaceAllStringFunc(string(text), func(short string) string {
		return cmp.Or(whole[short[:8]], short)
	}))
}
