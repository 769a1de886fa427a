package checks

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

const deadPod = kubeletRoot + "/pods/" + deadUID

// left makes an orphan's directory hold what is given, with nothing mounted, on a kubelet of a version.
func left(version string, change func(d *kubelet.PodDir)) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		unmounted(tb, e)
		e.Kubelet.Version = version
		d := &e.PodDirs[1]
		d.Volumes, d.Subpaths = []kubelet.Volume{}, []kubelet.Subpath{}
		change(d)
	}
}

func volume(plugin, name string, entries int) kubelet.Volume {
	return kubelet.Volume{
		Plugin: "kubernetes.io/" + plugin, Name: name, Kind: "dir", Entries: entries, MountPoints: []string{},
		Path: deadPod + "/volumes/kubernetes.io~" + plugin + "/" + name, Inside: &kubelet.Contents{First: []string{}},
	}
}

func withVolume(v kubelet.Volume) func(*kubelet.PodDir) {
	return func(d *kubelet.PodDir) { d.Volumes = append(d.Volumes, v) }
}

func volDataOnly() kubelet.Volume {
	v := volume("csi", "pvc-1", 1)
	v.VolData = &kubelet.VolData{Driver: "nfs.csi.k8s.io", VolumeHandle: "server#share"}
	return v
}

func dataLeft() kubelet.Volume {
	v := volume("nfs", "data", 2)
	v.Inside = &kubelet.Contents{Files: 12, Dirs: 1, Bytes: 3 << 20, First: []string{"db"}}
	return v
}

func subpath(kind string, bytes int64) func(*kubelet.PodDir) {
	return func(d *kubelet.PodDir) {
		d.Subpaths = append(d.Subpaths, kubelet.Subpath{
			Volume: "conf", Container: "app", Index: "0", Kind: kind, Path: deadPod + "/volume-subpaths/conf/app/0",
			Inside: &kubelet.Contents{Files: 1, Bytes: bytes, First: []string{}},
		})
	}
}

// stays is an orphan in whose directory nothing has changed for an hour, on a kubelet that says that it is well.
func stays(tb testing.TB, e *forensics.Evidence) {
	left("1.34.4", func(d *kubelet.PodDir) { d.Changed = ptr(e.Collected.Add(-time.Hour)) })(tb, e)
	e.Kubelet.Endpoints = []kubelet.Endpoint{{URL: "https://127.0.0.1:10250/healthz?verbose", Status: "ok", Passed: []string{"syncloop"}}}
}

// The classes of leftovers, and what looks like them.
var _ = scenariosOf("pod-orphaned", []scenario{
	{
		name: "empty directory, 1.17", base: sickNode, change: left("1.17.4", withVolume(volume("nfs", "data", 0))),
		want: []string{"warning pod " + deadUID}, says: "an empty volume directory. Kubelet 1.17.4 repeatedly fails to remove it",
	},
	{
		name: "empty directory, 1.18", base: sickNode, change: left("1.18.20", withVolume(volume("nfs", "data", 0))),
		want: []string{"info pod " + deadUID}, says: "an empty volume directory. Kubelet 1.18.20 removes it automatically",
	},
	{
		name: "empty directory, version unknown", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
			left("", withVolume(volume("nfs", "data", 0)))(tb, e)
			e.Dumps, e.Logs = nil, nil
		}, want: []string{"warning pod " + deadUID}, says: "It is not known whether the kubelet removes it",
	},
	{
		name: "empty mount of a CSI volume", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) {
			v := volume("csi", "pvc-1", 1)
			v.HasMountDir = true
			d.Volumes = append(d.Volumes, v)
		}), want: []string{"info pod " + deadUID}, says: "the empty mount directory of a CSI volume. ",
	},
	{
		name: "data", base: sickNode, change: left("1.34.4", withVolume(dataLeft())),
		want: []string{"warning pod " + deadUID}, says: "has data on the node's own disk: 12 files (3.0 MiB)",
	},
	{
		name: "data is said not to be deleted", base: sickNode, change: left("1.34.4", withVolume(dataLeft())),
		want: []string{"warning pod " + deadUID}, says: "DO NOT DELETE THIS DATA",
	},
	{
		name: "file of a subpath, 1.26", base: sickNode, change: left("1.26.15", subpath("file", 0)),
		want: []string{"warning pod " + deadUID}, says: "the empty file of a subPath mount. Kubelet 1.26.15 repeatedly fails",
	},
	{
		name: "file of a subpath, 1.27", base: sickNode, change: left("1.27.16", subpath("file", 0)),
		want: []string{"info pod " + deadUID},
	},
	{
		name: "file of a subpath that holds something goes, too", base: sickNode, change: left("1.27.16", subpath("file", 7)),
		want: []string{"warning pod " + deadUID}, says: "including its contents",
	},
	{
		name: "link to a block device", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) {
			d.Volumes = append(d.Volumes, kubelet.Volume{
				Plugin: "kubernetes.io/csi", Name: "pvc-2", Block: true, Kind: "link", Entries: -1, Path: deadPod + "/volumeDevices/kubernetes.io~csi/pvc-2",
			})
		}), want: []string{"info pod " + deadUID}, says: "the symbolic link to a block device. ",
	},
	{
		name: "directory that was not read", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) { d.Error = "not read" }),
		want: []string{"warning pod " + deadUID}, says: "its contents could not be fully read. ",
	},
	{name: "nothing in the way for an hour", base: sickNode, change: stays, want: []string{"warning pod " + deadUID}, says: "no leftover that blocks the removal. "},
	{name: "changed a minute ago", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		stays(tb, e)
		e.PodDirs[1].Changed = ptr(e.Collected.Add(-time.Minute))
	}, want: []string{"info pod " + deadUID}, says: "only the kubelet's own files. "},
	{name: "the sync loop stands still", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		stays(tb, e)
		e.Kubelet.Endpoints[0].Failed = []string{"syncloop"}
	}, want: []string{"info pod " + deadUID}, says: "only the kubelet's own files. "},
	{name: "the kubelet was started a minute ago", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		stays(tb, e)
		e.Kubelet.Started = ptr(e.Collected.Add(-time.Minute))
	}, want: []string{"info pod " + deadUID}, says: "only the kubelet's own files. "},
	{name: "the same data in a live pod", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		left("1.34.4", withVolume(dataLeft()))(tb, e)
		e.Pods[0].MirrorUID = deadUID
	}, outcome: forensics.OutcomeClean},
	{name: "the directory is younger than the examination", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		left("1.34.4", func(d *kubelet.PodDir) { d.Modified = ptr(e.Collected.Add(time.Second)) })(tb, e)
	}, outcome: forensics.OutcomeNotChecked},
	{name: "vol_data.json is another check", base: sickNode, change: left("1.34.4", withVolume(volDataOnly()))},
})

var _ = scenariosOf("pod-orphaned-vol-data", []scenario{
	{
		name: "by the log alone", base: wellNode, change: both(tells(numbered(event(logs.KindOrphan, 900, "09:31:00", "10:12:28",
			code(logs.Subject{PodUID: deadUID, Reason: "error occurred when trying to remove the volumes dir: not a directory"}, "ENOTDIR")), 1)), logAlone),
		want: []string{"warning pod " + deadUID}, says: "Most often it is vol_data.json",
	},
	{
		name: "1.17", base: sickNode, change: left("1.17.4", withVolume(volDataOnly())),
		want: []string{"warning pod " + deadUID}, says: "Kubelet 1.17.4 repeatedly fails to remove it",
	},
	{
		name: "1.34, with the driver's name", base: sickNode, change: left("1.34.4", withVolume(volDataOnly())),
		want: []string{"warning pod " + deadUID}, says: "driver nfs.csi.k8s.io, volume server#share",
	},
	{
		name: "data in another volume is in the title", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) {
			d.Volumes = append(d.Volumes, volDataOnly(), dataLeft())
		}), want: []string{"warning pod " + deadUID}, says: "another volume has data: 12 files",
	},
	{name: "data below the mount point is data", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) {
		v := volDataOnly()
		v.HasMountDir, v.Inside = true, &kubelet.Contents{Files: 1, First: []string{"db"}}
		d.Volumes = append(d.Volumes, v)
	}), outcome: forensics.OutcomeClean},
	{name: "a mounted volume has one, too", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.PodDirs[1].Volumes[0].VolData = &kubelet.VolData{Driver: "d"}
	}, outcome: forensics.OutcomeClean},
	{name: "a live pod whose volume is about to be mounted", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		left("1.34.4", withVolume(volDataOnly()))(tb, e)
		e.Cgroups[0].PodUID = deadUID
	}, outcome: forensics.OutcomeClean},
	{name: "the kubelet lists no pod at all while the last one terminates", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		left("1.34.4", withVolume(volDataOnly()))(tb, e)
		e.Pods = nil
	}, outcome: forensics.OutcomeNotChecked},
})

var _ = scenariosOf("pod-orphaned-mounted", []scenario{
	{
		name: "the walk saw a mount that the table lacks", base: sickNode, change: left("1.34.4", func(d *kubelet.PodDir) {
			v := volume("nfs", "data", -1)
			v.MountPoints = []string{v.Path}
			d.Volumes = append(d.Volumes, v)
		}), want: []string{"warning pod " + deadUID}, says: "Kubelet 1.34.4 never removes it",
	},
	{
		name: "mounted subpath", base: sickNode, change: left("1.34.4", subpath("mount", 0)),
		want: []string{"warning pod " + deadUID}, says: "Kubelet 1.34.4 repeatedly fails",
	},
	{
		name: "data beside the mount is in the title", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
			e.PodDirs[1].Volumes = append(e.PodDirs[1].Volumes, dataLeft())
		}, want: []string{"warning pod " + deadUID}, says: "and data on the node's own disk: 12 files",
	},
	{name: "mounted subpath of a live pod", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		left("1.34.4", subpath("mount", 0))(tb, e)
		e.Processes[1].PodUID = deadUID
	}, outcome: forensics.OutcomeClean},
})
