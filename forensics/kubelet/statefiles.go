package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// stateFiles are the files below the kubelet's root directory in which it keeps the UIDs of pods over a restart.
var stateFiles = []struct{ name, source string }{
	// Each pod that was admitted, until the kubelet forgets it (pkg/kubelet/allocation; 1.33, gate InPlacePodVerticalScaling).
	{"allocated_pods_state", fromAlloc},
	// Pods with exclusive CPUs (pkg/kubelet/cm/cpumanager/state; by pod since 1.18), memory (memorymanager, 1.21), devices
	// (devicemanager/checkpoint) and claims (dra, 1.26). An entry is removed some time after its pod.
	{"cpu_manager_state", fromState},
	{"memory_manager_state", fromState},
	{"device-plugins/kubelet_internal_checkpoint", fromState},
	{"dra_manager_state", fromState},
}

// maxStateFile bounds a state file. An entry of a pod with many containers has about 2 KiB, and a node has some hundred pods.
const maxStateFile = 8 << 20

// A stateFile is the part of all these files that names pods. JSON ignores the case of the names.
type stateFile struct {
	// Data is a file of its own: an object, or one as text.
	Data               json.RawMessage
	Entries            map[string]json.RawMessage
	AllocationEntries  map[string]json.RawMessage // so called up to 1.33
	PodDeviceEntries   []struct{ PodUID string }
	ClaimInfoStateList []struct{ PodUIDs map[string]json.RawMessage }
}

// StatePods are the pods that the kubelet's state files name. A file that is missing is no error: most kubelets have only some of them.
//
// It may block if the root directory is on a dead mount; it looks at ctx between files.
func (in *Instance) StatePods(ctx context.Context, fsys nodefs.FS) ([]Pod, error) {
	pods, errs := []Pod{}, []error{}
	for _, file := range stateFiles {
		if err := ctx.Err(); err != nil {
			return pods, errors.Join(append(errs, err)...)
		}
		name := path.Join(in.CanonicalRoot, file.name)
		data, err := fsys.ReadFile(name, maxStateFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var uids []string
		if err == nil {
			uids, err = parseStateFile(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		for _, uid := range uids {
			pod := Pod{UID: uid, Source: file.source}
			if !slices.ContainsFunc(pods, func(p Pod) bool { return p.UID == pod.UID && p.Source == pod.Source }) {
				pods = append(pods, pod)
			}
		}
	}
	return pods, errors.Join(errs...)
}

// parseStateFile lists the UIDs of pods in a state file, sorted, each once.
func parseStateFile(data []byte) ([]string, error) {
	var file stateFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Data) > 0 && file.Data[0] == '"' {
		var inner string
		if err := json.Unmarshal(file.Data, &inner); err != nil {
			return nil, err
		}
		file.Data = json.RawMessage(inner)
	}
	if len(file.Data) > 0 {
		if err := json.Unmarshal(file.Data, &file); err != nil {
			return nil, err
		}
	}
	var uids []string
	note := func(uid string) {
		if poduid.Valid(uid) { // cpu_manager_state before 1.18 has containers
			uids = append(uids, uid)
		}
	}
	for uid := range file.Entries {
		note(uid)
	}
	for uid := range file.AllocationEntries {
		note(uid)
	}
	for _, entry := range file.PodDeviceEntries {
		note(entry.PodUID)
	}
	for _, claim := range file.ClaimInfoStateList {
		for uid := range claim.PodUIDs {
			note(uid)
		}
	}
	slices.Sort(uids)
	return slices.Compact(uids), nil
}
