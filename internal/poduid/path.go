// Package poduid knows the UIDs of pods and where they stand in paths.
package poduid

import (
	"regexp"
)

// Pattern is a UID: that of the API server, or of a static pod the hash of its manifest.
const Pattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}`

// Path takes the parts of a path below a pod directory apart, wherever the kubelet's root is.
var Path = regexp.MustCompile(`/pods/(` + Pattern + `)(?:/(volumes|volume-subpaths|volumeDevices)/([^/]+)(?:/([^/]+))?)?(?:/|$)`)

var whole = regexp.MustCompile(`^(?:` + Pattern + `)$`)

// Is says whether s is a UID.
func Is(s string) bool { return whole.MatchString(s) }
