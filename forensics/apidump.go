package forensics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// apiDumps reads the dumps of the API that were given as files.
func (c *collector) apiDumps(ctx context.Context) {
	if len(c.opt.APIDumps) == 0 {
		c.absent("none was given (--api-dump FILE)", SourceAPIDump)
	}
	for _, name := range c.opt.APIDumps {
		c.read(ctx, SourceAPIDump+":"+name, 6*readLimit, func(context.Context) (Evidence, error) {
			own, err := hostfs.Open("/")
			if err != nil {
				return Evidence{}, err
			}
			defer func() { _ = own.Close() }()
			f, err := own.OpenFile(name)
			if err != nil {
				return Evidence{}, err
			}
			defer func() { _ = f.Close() }()
			part, err := ParseAPIDump(name, f.ModTime(), f)
			if part.Cluster != nil {
				part.Coverage[0].Bytes = f.Size()
			}
			return part, err
		})
	}
}

// ParseAPIDump reads objects of the API from a file that was saved at some time, zero where that is unknown. With an error comes what stands before it.
func ParseAPIDump(name string, saved time.Time, r io.Reader) (Evidence, error) {
	dump, err := apidump.Parse(r)
	if len(dump.Pods)+len(dump.Nodes)+len(dump.Claims)+len(dump.Volumes)+len(dump.Owners) == 0 {
		return Evidence{}, errors.Join(err, fmt.Errorf("%s hold no pods, nodes, claims, volumes or owners of pods", kindsOf(dump)))
	}
	dump.Trim()
	if !saved.IsZero() {
		saved = saved.UTC()
		dump.Saved = &saved
	}
	source := Source{Source: SourceAPIDump + ":" + name, Status: SourceRead}
	if err != nil {
		source.Status, source.Detail = SourceTruncated, err.Error()
	}
	return Evidence{Cluster: &dump, Coverage: []Source{source}}, err
}

func kindsOf(d apidump.Dump) string {
	if len(d.Kinds) == 0 {
		return "the objects of the API"
	}
	return strings.Join(slices.Sorted(maps.Keys(d.Kinds)), ", ")
}
