package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const (
	maxManifest  = 1 << 20 // the kubelet takes 10 MiB; nobody writes more than some kilobytes
	maxManifests = 1000
	maxLogDirs   = 20_000
)

// StaticPods reads the manifests of static pods in a directory, or in the one file that dir may be (kubelet
// pkg/kubelet/config/file.go): files whose names do not begin with a dot, YAML or JSON, the first document of each. It
// returns what it understood and an error for each file that it did not.
//
// The kubelet appends "-<node name>" to Name, and without a metadata.uid, the usual case, it makes the UID a hash over
// the whole defaulted object. Such pods have no UID here.
//
// It may block if the directory is on a dead mount; it looks at ctx between files.
func StaticPods(ctx context.Context, fsys nodefs.FS, dir string) ([]Pod, []error) {
	pods, errs := []Pod{}, []error{}
	entries, err := fsys.ReadDir(dir, maxManifests)
	names := make([]string, 0, len(entries))
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		names = append(names, dir)
	case err != nil:
		errs = append(errs, err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name, ".") && !entry.IsDir() {
			names = append(names, path.Join(dir, entry.Name))
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return pods, append(errs, fmt.Errorf("%s: %w", name, err))
		}
		pod, err := readManifest(fsys, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pods = append(pods, pod)
	}
	return pods, errs
}

func readManifest(fsys nodefs.FS, name string) (Pod, error) {
	data, err := fsys.ReadFile(name, maxManifest)
	if err != nil {
		return Pod{}, err
	}
	pod, err := parseManifest(data)
	if err != nil {
		return Pod{}, fmt.Errorf("%s: %w", name, err)
	}
	return pod, nil
}

// parseManifest reads the manifest of one static pod, YAML or JSON.
func parseManifest(data []byte) (Pod, error) {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return Pod{}, err
	}
	var object podObject
	if err := json.Unmarshal(text, &object); err != nil && !isTypeError(err) {
		return Pod{}, err
	}
	if object.Kind != "Pod" {
		return Pod{}, fmt.Errorf("kind %.40q: not a pod", object.Kind)
	}
	if object.Metadata.Name == "" {
		return Pod{}, errors.New("a pod without a name")
	}
	pod := object.pod(fromManifest)
	if pod.Namespace == "" {
		pod.Namespace = "default"
	}
	return pod, nil
}

// LogDirs returns the pods that have a directory of logs, usually below /var/log/pods. That is their identity and no
// proof of life: the kubelet removes the directories of deleted pods late. Directories with other names are passed
// over. With an error come the pods before it.
//
// It may block if the directory is on a dead mount.
func LogDirs(ctx context.Context, fsys nodefs.FS, dir string) ([]Pod, error) {
	pods := []Pod{}
	if err := ctx.Err(); err != nil {
		return pods, err
	}
	entries, err := fsys.ReadDir(dir, maxLogDirs)
	for _, entry := range entries {
		if entry.TypeKnown && !entry.Type.IsDir() {
			continue
		}
		if pod, ok := parseLogDir(entry.Name); ok {
			pods = append(pods, pod)
		}
	}
	return pods, err
}
