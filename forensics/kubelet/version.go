package kubelet

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// kubernetesModule is the module of the kubelet.
const kubernetesModule = "k8s.io/kubernetes"

// readVersion sets the version from the build information in the binary. Released kubelets up to 1.26 or so were built
// in a way that left none; then the version comes from /metrics.
func (f *finder) readVersion(ctx context.Context) {
	executable := f.in.Executable
	if executable == "" || strings.HasSuffix(executable, " (deleted)") {
		return // a file of that name, if there is one, is another version
	}
	info, err := onDisk(ctx, f.disk, executable, func() (*debug.BuildInfo, error) { return buildInfoOf(f.disk.fs, executable) })
	if err != nil {
		return
	}
	if version := versionOf(info); version != "" {
		f.in.Version, f.in.VersionFrom = version, "binary"
	}
}

// versionOf finds the version of Kubernetes in build information: what the linker was told, the main module, or the
// module that was embedded, replaced by a fork or not.
func versionOf(info *debug.BuildInfo) string {
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

func buildInfoOf(fsys *hostfs.FS, executable string) (*debug.BuildInfo, error) {
	file, err := fsys.OpenFile(executable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readBuildInfo(file)
}

// MainPackage is the main package of the Go program that a process runs ("k8s.io/kubernetes/cmd/kubelet"), "" where its
// executable does not tell. That is opened as the process sees it, so the caller trusts the process.
func MainPackage(ctx context.Context, fsys *hostfs.FS, group *probe.Group, pid int, executable string) string {
	if executable == "" || strings.HasSuffix(executable, " (deleted)") {
		return ""
	}
	d := disk{fs: fsys, group: group, limit: fileTimeout}
	info, err := onDisk(ctx, d, executable, func() (*debug.BuildInfo, error) {
		own, err := ProcessFS(fsys, pid)
		if err != nil {
			return nil, err
		}
		defer func() { _ = own.Close() }()
		return buildInfoOf(own, executable)
	})
	if err != nil {
		return ""
	}
	return info.Path
}
