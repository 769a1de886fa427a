package kubelet

import (
	"runtime/debug"
	"strings"
)

// kubernetesModule is the module of the kubelet.
const kubernetesModule = "k8s.io/kubernetes"

// VersionOf finds the version of Kubernetes in build information: what the linker was told, the main module, or the
// module that was embedded, replaced by a fork or not; "" if none says one.
func VersionOf(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key != "-ldflags" {
			continue
		}
		if _, rest, ok := strings.Cut(setting.Value, "version.gitVersion="); ok {
			fields := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\'' || r == '"' })
			if len(fields) > 0 && cleanVersion(fields[0]) != "" {
				return cleanVersion(fields[0])
			}
		}
	}
	if info.Main.Path == kubernetesModule && cleanVersion(info.Main.Version) != "" {
		return cleanVersion(info.Main.Version)
	}
	for _, dep := range info.Deps {
		if dep.Path == kubernetesModule {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			return cleanVersion(dep.Version)
		}
	}
	return ""
}
