package collect

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// resolved follows the symbolic links of the paths that are asked for, as far as they lie on file systems that are neither
// dead nor a server's: a path is not followed onto any other, and what is behind stays as it was written. Where the
// table is that of another namespace, as in a container that sees the host's processes, it has to say the same of a path as
// that of this program, which reads the links: the container may have other files there, or a dead mount.
func (c *collector) resolved(ctx context.Context, queries []string, t *mounts.Table, here func(name string) (mounts.Mount, bool)) []forensics.Query {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	index := t.Index()
	safe := func(name string) bool {
		m, ok := here(name)
		return ok && (m.Class == mounts.ClassBlock || m.Class == mounts.ClassMemory || m.Class == mounts.ClassOverlay)
	}
	var list []forensics.Query
	for _, query := range queries {
		if !strings.HasPrefix(query, "/") || len(index.At(query)) > 0 {
			continue
		}
		link := func(name string) (string, error) {
			return probe.Do(ctx, c.opt.Calls, "links of "+query, func() (string, error) { return c.fs.ReadLink(name) })
		}
		if followed := follow(query, safe, link); followed != query {
			list = append(list, forensics.Query{Query: query, Path: followed})
		}
	}
	return list
}

// sameHere returns a function that says which mount of a table a path lies on, if it leads this program to the same place of
// the same file system. It does not where the table is the host's, and this program is in a container. It returns the table of this
// program, too; nil if that is not known.
func (c *collector) sameHere(ctx context.Context, t *mounts.Table) (*mounts.Table, func(name string) (mounts.Mount, bool)) {
	own, err := mountslive.Read(ctx, c.fs, 0)
	if err != nil {
		return nil, func(string) (mounts.Mount, bool) { return mounts.Mount{}, false }
	}
	there, here := t.Index(), own.Index()
	return &own, func(name string) (mounts.Mount, bool) {
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
