package collect

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// local says whether a file system has neither a server nor a fault, so that asking it for a size cannot block.
func (k *selector) local(device string) bool {
	known, ok := k.locals[device]
	if !ok {
		known = k.isLocal(device)
		k.locals[device] = known
	}
	return known
}

func (k *selector) isLocal(device string) bool {
	h, _ := k.model.Health(device)
	if h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed {
		return false
	}
	switch k.classes[device] {
	case mounts.ClassBlock, mounts.ClassMemory:
		return true
	case mounts.ClassOverlay:
		return k.layersLocal(device)
	}
	return false
}

// layersLocal says whether all layers of an overlay are known and are on file systems that may be asked. Only overlays of
// the host's own table have layers whose paths mean something here.
func (k *selector) layersLocal(device string) bool {
	host := k.model.Host()
	for _, m := range k.model.MountsOf(device) {
		if _, here := host.ByID(m.ID); !here {
			continue
		}
		layers := m.Layers()
		for _, layer := range layers {
			on, ok := host.Covering(layer.Dir)
			if !strings.HasPrefix(layer.Dir, "/") || !ok || on.Class == mounts.ClassOverlay || !k.local(on.Device) {
				return false
			}
		}
		return len(layers) > 0
	}
	return false
}
