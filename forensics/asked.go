package forensics

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Asked is a path that [CollectHolders] was asked for and that leads over symbolic links.
type Asked struct {
	Query string `json:"query"`
	Path  string `json:"path"` // without links, as mount tables have it
}

// AskedPath is what a query of [CollectHolders] means: a path without symbolic links, or the query itself.
func (h *Held) AskedPath(query string) string {
	if h != nil {
		for _, a := range h.Asked {
			if a.Query == query {
				return a.Path
			}
		}
	}
	return query
}

// asked follows the symbolic links of the paths that are asked for, as far as they lie on file systems that are neither
// dead nor a server's: a path is not followed onto any other, and what is behind stays as it was written. Where the
// table is that of another namespace, as in a container that sees the host's processes, it has to say the same of a path as
// that of this program, which reads the links: the container may have other files there, or a dead mount.
func (c *collector) asked(ctx context.Context, queries []string, t *mounts.Table, here func(name string) (mounts.Mount, bool)) []Asked {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	index := t.Index()
	safe := func(name string) bool {
		m, ok := here(name)
		return ok && (m.Class == mounts.ClassBlock || m.Class == mounts.ClassMemory || m.Class == mounts.ClassOverlay)
	}
	var list []Asked
	for _, query := range queries {
		if !strings.HasPrefix(query, "/") || len(index.At(query)) > 0 {
			continue
		}
		link := func(name string) (string, error) {
			return probe.Do(ctx, c.opt.Calls, "links of "+query, func() (string, error) { return c.fs.ReadLink(name) })
		}
		if followed := follow(query, safe, link); followed != query {
			list = append(list, Asked{query, followed})
		}
	}
	return list
}

// sameHere returns a function that says which mount of a table a path lies on, if it leads this program to the same place of
// the same file system. It does not where the table is the host's, and this program is in a container.
func (c *collector) sameHere(ctx context.Context, t *mounts.Table) func(name string) (mounts.Mount, bool) {
	own, err := mounts.Read(ctx, c.fs, 0)
	if err != nil {
		return func(string) (mounts.Mount, bool) { return mounts.Mount{}, false }
	}
	there, here := t.Index(), own.Index()
	return func(name string) (mounts.Mount, bool) {
		m, ok := there.Covering(name)
		same, seen := here.Covering(name)
		return m, ok && seen && same.Device == m.Device && same.Root == m.Root && same.MountPoint == m.MountPoint
	}
}

// maxLinks is how many links the kernel follows in one path, path_resolution(7).
const maxLinks = 40

// follow is a path without symbolic links. Links are read where it is safe to; they are relative to the root of the host.
func follow(name string, safe func(string) bool, link func(string) (string, error)) string {
	at, rest := "/", strings.Split(strings.Trim(path.Clean(name), "/"), "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		if !safe(next) {
			break
		}
		target, err := link(next)
		rest = rest[1:]
		switch {
		case err != nil: // mostly, because it is none
			at = next
		case links == maxLinks:
			return name
		default:
			links++
			if strings.HasPrefix(target, "/") {
				at = "/"
			}
			rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
		}
	}
	return path.Join(at, path.Join(rest...))
}

// FindMounts lists the mounts that somebody means:
//   - a mount point: all that is mounted there;
//   - another path: what is mounted below it, and the mount that it lies on, unless that is the root and there are others;
//   - a pod by its UID, in the spelling of the API or of a cgroup, alone or in a longer name, or by the beginning of a UID;
//   - a volume by its name, or the last part of a mount point.
//
// Except for the mount that a path lies on, they are in the order in which to unmount them, innermost first. Nothing is looked
// up: symbolic links and ".." are not followed.
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
		parts := podPath.FindStringSubmatch(m.MountPoint)
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

var (
	uidWithin = regexp.MustCompile(`([0-9a-f]{8})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{4})[-_]([0-9a-f]{12})`)
	uidBegins = regexp.MustCompile(`^[0-9a-f]{4,8}([-_][0-9a-f_-]*)?$`)
)

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
