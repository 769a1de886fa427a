package live

import (
	"context"
	"runtime/debug"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// version is that of the build information in a binary, "" if there is none. Released kubelets up to 1.26 or so were built
// in a way that left none; then the version comes from /metrics.
func (d disk) version(executable string) string {
	if executable == "" || strings.HasSuffix(executable, " (deleted)") {
		return "" // a file of that name, if there is one, is another version
	}
	info, err := onDisk(d, executable, func() (*debug.BuildInfo, error) { return buildInfoOf(d.fs, executable) })
	if err != nil {
		return ""
	}
	return kubelet.VersionOf(info)
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
	d := disk{ctx: ctx, fs: fsys, group: group, limit: fileTimeout}
	info, err := onDisk(d, executable, func() (*debug.BuildInfo, error) {
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
