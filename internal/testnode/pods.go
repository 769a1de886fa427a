package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func podKinds() []Kind {
	return []Kind{
		{"pods", func(e *forensics.Evidence, n int) { pods(e, n, "kubelet") }},
		{"pods being deleted", func(e *forensics.Evidence, n int) {
			pods(e, n, "kubelet")
			for i := range e.Pods {
				e.Pods[i].Deleting = at(10)
			}
		}},
		{"static pods", func(e *forensics.Evidence, n int) {
			pods(e, n, "manifest")
			for i := range e.Pods {
				e.Pods[i].Kind, e.Pods[i].MirrorUID = kubelet.KindStatic, UID(50_000_000+i)
			}
		}},
		{"pod log directories", func(e *forensics.Evidence, n int) { pods(e, n, "log-dir") }},
		{"pod directories", func(e *forensics.Evidence, n int) {
			pods(e, n, "kubelet")
			podDirs(e, n)
		}},
		{"orphaned pod directories", func(e *forensics.Evidence, n int) {
			pods(e, 1, "kubelet")
			podDirs(e, n)
		}},
		{"volumes of a pod directory", func(e *forensics.Evidence, n int) {
			podDirs(e, 1)
			d := &e.PodDirs[len(e.PodDirs)-1]
			for i := range n {
				d.Volumes = append(d.Volumes, volume(d.Path, i))
				d.Subpaths = append(d.Subpaths, kubelet.Subpath{Volume: fmt.Sprintf("pvc-%d", i), Container: "app", Index: "0", Path: fmt.Sprintf("%s/volume-subpaths/pvc-%d/app/0", d.Path, i), Kind: "file"})
				d.Containers = append(d.Containers, fmt.Sprintf("app-%d", i))
				d.Unknown = append(d.Unknown, fmt.Sprintf("x%d", i))
			}
		}},
		{"CSI drivers", func(e *forensics.Evidence, n int) {
			podDirs(e, n)
			for i := range n {
				e.PodDirs[len(e.PodDirs)-1-i].Volumes[0].VolData = &kubelet.VolData{Driver: fmt.Sprintf("csi-%d.example.com", i), VolumeHandle: fmt.Sprint(i)}
			}
		}},
		{"cgroups", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Cgroups = append(e.Cgroups, runtimes.PodCgroup{
					PodUID: UID(i), Path: "/kubepods/pod" + UID(i), Paths: []string{"/kubepods/pod" + UID(i)}, Containers: []string{hex64(i)},
					Frozen: []runtimes.FrozenCgroup{{Path: "/kubepods/pod" + UID(i), State: "frozen"}}, Dying: 3,
				})
			}
		}},
		{"containers", func(e *forensics.Evidence, n int) { tasks(e, n, nil) }},
		{"unkillable containers", func(e *forensics.Evidence, n int) {
			processes(e, n)
			tasks(e, n, func(i int, t *runtimes.Task) {
				p := &e.Processes[len(e.Processes)-n+i]
				e.Threads = append(e.Threads, thread(p.PID, p.PID, e.Mounts.Mounts[1].MountPoint))
				t.InitPID, t.Removing = p.PID, true
			})
		}},
		{"images", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Images = append(e.Images, runtimes.Image{Runtime: "containerd", Root: "/var/lib/containerd", ID: "sha256:" + hex64(i), Names: []string{fmt.Sprintf("registry/app:%d", i)}, Containers: []string{}})
			}
		}},
		{"images that pods need", func(e *forensics.Evidence, n int) {
			pods(e, n, "kubelet")
			for i := range e.Pods {
				e.Pods[i].Images = []kubelet.PodImage{{Name: fmt.Sprintf("registry/app:%d", i), PullPolicy: "Never"}}
			}
		}},
		{"runtimes", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Runtimes = append(e.Runtimes, runtimes.Runtime{Name: "containerd", Root: fmt.Sprintf("/var/lib/%d", i), Answer: &runtimes.Answer{Status: "timeout"}})
			}
		}},
	}
}

func pods(e *forensics.Evidence, n int, source string) {
	for i := range n {
		e.Pods = append(e.Pods, kubelet.Pod{UID: UID(i), Namespace: "load", Name: fmt.Sprintf("worker-%d", i), Source: source, Phase: "Running"})
	}
}

func podDirs(e *forensics.Evidence, n int) {
	for range n {
		i := len(e.PodDirs)
		path := podsDir + UID(i)
		e.PodDirs = append(e.PodDirs, kubelet.PodDir{UID: UID(i), Path: path, HostName: fmt.Sprintf("worker-%d", i), Modified: at(i), Changed: at(i), Volumes: []kubelet.Volume{volume(path, i)}})
	}
}

func volume(dir string, i int) kubelet.Volume {
	path := fmt.Sprintf("%s/volumes/kubernetes.io~csi/pvc-%d", dir, i)
	return kubelet.Volume{
		Plugin: "kubernetes.io/csi", Name: fmt.Sprintf("pvc-%d", i), Path: path, Kind: "dir", Entries: 1, MountPoints: []string{},
		VolData: &kubelet.VolData{Driver: "nfs.csi.k8s.io", VolumeHandle: fmt.Sprint(i)}, Inside: &kubelet.Contents{First: []string{}},
	}
}

// tasks are sandboxes with a container each; change, if set, is for the process of the container.
func tasks(e *forensics.Evidence, n int, change func(i int, t *runtimes.Task)) {
	for i := range n {
		box, id := hex64(500_000_000+i), hex64(i)
		e.Sandboxes = append(e.Sandboxes, runtimes.Sandbox{ID: box, Runtime: "containerd", Root: "/var/lib/containerd", PodUID: UID(i), Namespace: "load", Name: fmt.Sprintf("worker-%d", i), Created: at(i)})
		c := runtimes.Container{ID: id, Runtime: "containerd", Root: "/var/lib/containerd", SandboxID: box, PodUID: UID(i), Namespace: "load", PodName: fmt.Sprintf("worker-%d", i), Name: "app", Image: "app", ImageID: "sha256:" + id, Created: at(i)}
		if change != nil {
			change(i, &c.Task)
		}
		e.Containers = append(e.Containers, c)
	}
}
