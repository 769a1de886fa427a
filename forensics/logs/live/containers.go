package live

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// controllerManager adds the logs of a controller manager that runs as a static pod.
func (f *finder) controllerManager() {
	f.podLog("kube-system_kube-controller-manager-", "kube-controller-manager")
}

// podLog adds the container logs of pods whose log directory begins with a prefix: <dir>/<container>/<n>.log.
func (f *finder) podLog(prefix, origin string) (found bool) {
	pods, _ := f.fsys.ReadDir(f.opt.PodLogs, maxLogDir)
	for _, pod := range pods {
		if !strings.HasPrefix(pod.Name, prefix) {
			continue
		}
		containers, _ := f.fsys.ReadDir(path.Join(f.opt.PodLogs, pod.Name), 100)
		for _, c := range containers {
			dir := path.Join(f.opt.PodLogs, pod.Name, c.Name)
			sources, notes := series(f.fsys, dir, origin, f.opt.Since, func(entry string) (belongs, readable bool) {
				belongs = strings.Contains(entry, ".log")
				return belongs, belongs
			})
			f.sources, f.notes = append(f.sources, sources...), append(f.notes, notes...)
			found = found || len(sources) > 0
		}
	}
	return found
}

// containerised adds the log of a kubelet that runs in a container: a pod's, or docker's own as RKE1 starts it.
func (f *finder) containerised() {
	f.kubelet = f.podLog("kube-system_kubelet-", "kubelet")
	docker, _ := cri.Of("docker")
	dir := path.Join(docker.Store.Installs[0].Root, "containers")
	containers, _ := f.fsys.ReadDir(dir, 2000)
	for _, c := range containers {
		if f.kubelet {
			return
		}
		config, err := f.fsys.ReadFile(path.Join(dir, c.Name, "config.v2.json"), 1<<20)
		if err == nil && runsKubelet(config) {
			f.kubelet = f.rotated(path.Join(dir, c.Name, c.Name+"-json.log"), "kubelet")
		}
	}
}

// runsKubelet says whether a container of docker was started as the kubelet by who may use docker, which is as good as root.
// Names of a pod's containers begin with k8s_, and what else stands in a container's configuration (labels, environment)
// comes from its image and its pod.
func runsKubelet(config []byte) bool {
	var c struct {
		Name   string
		Config struct{ Labels map[string]string }
	}
	if json.Unmarshal(config, &c) != nil || c.Config.Labels["io.kubernetes.pod.uid"] != "" {
		return false
	}
	return c.Name == "/kubelet" || c.Name == "/hyperkube"
}
