package kubelet

import (
	"path"
	"slices"
)

// ServingCertFiles returns where the kubelet's serving certificate may be: the file that it was told to use, or all
// places where it and the distributions put one. A kubelet whose certificate the cluster signs (serverTLSBootstrap)
// often has an older self-signed one beside it.
func (in *Instance) ServingCertFiles() []string {
	if name := in.pathFlag("tls-cert-file"); name != "" {
		return []string{name}
	}
	if in.Config != nil && in.Config.TLSCertFile != "" {
		return []string{in.inConfigDir(in.Config.TLSCertFile)}
	}
	var files []string
	dirs := []string{in.pathFlag("cert-dir"), path.Join(in.CanonicalRoot, "pki"), "/var/lib/kubelet/pki"}
	for _, dir := range dirs {
		if path.IsAbs(dir) {
			files = append(files, path.Join(dir, "kubelet-server-current.pem"), path.Join(dir, "kubelet.crt"))
		}
	}
	switch in.Program {
	case programK3s, programRKE2:
		data := in.pathFlag("data-dir")
		if data == "" {
			data = "/var/lib/rancher/" + in.Program
		}
		files = append(files, path.Join(data, "agent/serving-kubelet.crt"))
	case programKubelite:
		files = append(files, "/var/snap/microk8s/current/certs/kubelet.crt")
	}
	files = append(files, "/etc/kubernetes/certs/kubeletserver.crt") // AKS
	return slices.Compact(files)
}
