package kubelet

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// ParseVolData reads vol_data.json of a CSI volume, an object of strings (kubelet pkg/volume/csi/csi_mounter.go). Fields
// that are no strings are passed over.
func ParseVolData(data []byte) (*VolData, error) {
	var vol VolData
	err := json.Unmarshal(data, &vol)
	if len(data) == 0 {
		err = errors.New("empty file") // the kubelet died while it wrote
	}
	if err != nil && !isTypeError(err) {
		return nil, err
	}
	if vol == (VolData{}) {
		return nil, errors.New("no field of a CSI volume")
	}
	return &vol, nil
}

// parseLogDir understands the name of a directory of /var/log/pods, "<namespace>_<name>_<uid>" (since 1.14), none of
// which may hold an underscore; before, it was the UID alone.
func parseLogDir(name string) (Pod, bool) {
	switch parts := strings.Split(name, "_"); {
	case len(parts) == 3 && parts[0] != "" && parts[1] != "" && parts[2] != "":
		return Pod{Namespace: parts[0], Name: parts[1], UID: parts[2], Source: fromLogDir}, true
	case len(parts) == 1 && poduid.Valid(name):
		return Pod{UID: name, Source: fromLogDir}, true
	}
	return Pod{}, false
}
