package poduid

import (
	"regexp"
)

// podPath takes the parts of a path below a pod directory apart, wherever the kubelet's root is.
var Path = regexp.MustCompile(`/pods/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})(?:/(volumes|volume-subpaths|volumeDevices)/([^/]+)(?:/([^/]+))?)?(?:/|$)`)
