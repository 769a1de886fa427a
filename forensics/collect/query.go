package collect

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// FindMounts lists the mounts that a query means:
//   - a mount point: all that is mounted there;
//   - another path: what is mounted below it, and the mount that it lies on, unless that is the root and there are others;
//   - a pod by its UID, in the spelling of the API or of a cgroup, alone or in a longer name, or by the beginning of a UID;
//   - a volume by its name, or the last part of a mount point.
//
// Except for the mount that a path lies on, they are in the order in which to unmount them, innermost first. No file
// system is accessed: symbolic links and ".." are not followed.
func FindMounts(t *mounts.Table, query string) []mounts.Mount {
	if strings.HasPrefix(query, "/") {
		return findPath(t.Index(), query)
	}
	uid := query
	if parts := uidWithin.FindStringSubmatch(query); parts != nil {
		uid = strings.Join(parts[1:], "-")
	}
	found, begins := []mounts.Mount{}, []mounts.Mount{}
	for _, m := range slices.Backward(t.Mounts) {
		parts := poduid.Path.FindStringSubmatch(m.MountPoint)
		switch {
		case query == "":
		case parts != nil && (parts[1] == uid || parts[4] == query || parts[2] == "volume-subpaths" && parts[3] == query), path.Base(m.MountPoint) == query:
			found = append(found, m)
		case parts != nil && uidBegins.MatchString(query) && strings.HasPrefix(parts[1], strings.ReplaceAll(query, "_", "-")):
			begins = append(begins, m)
		}
	}
	if len(found) == 0 {
		return begins
	}
	return found
}

var uidWithin = pattern.New(`([0-9a-f]{8})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{12})`)

var uidBegins = pattern.New(`^[0-9a-f]{4,8}([-_][0-9a-f_-]*)?$`)

func findPath(x *mounts.Index, name string) []mounts.Mount {
	if at := x.At(name); len(at) > 0 {
		slices.Reverse(at)
		return at
	}
	found := x.Below(name)
	slices.Reverse(found)
	if m, ok := x.Covering(name); ok && (len(found) == 0 || m.MountPoint != "/") {
		found = append(found, m)
	}
	return found
}
