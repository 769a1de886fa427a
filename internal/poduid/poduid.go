// Package poduid recognises the UIDs of pods, as the API server and the kubelet write them.
package poduid

import "github.com/nodeforensics/nodeforensics/internal/pattern"

// Pattern matches a UID: a UUID of the API server, or of a static pod the 32 hexadecimal digits of the hash that the kubelet
// makes (pkg/kubelet/config/common.go, applyDefaults). It is an alternative, so it belongs into a group.
const Pattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}`

// Path parses a path below a pod directory, wherever the kubelet's root is.
var Path = pattern.New(`/pods/(` + Pattern + `)(?:/(volumes|volume-subpaths|volumeDevices)/([^/]+)(?:/([^/]+))?)?(?:/|$)`)

var whole = pattern.New(`^(?:` + Pattern + `)$`)

// Valid reports whether a text is the UID of a pod.
func Valid(text string) bool { return whole.MatchString(text) }
