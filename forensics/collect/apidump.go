package collect

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// apiDumps reads the dumps of the API that were given as files.
func (c *collector) apiDumps(ctx context.Context) {
	if len(c.opt.APIDumps) == 0 {
		c.absent("no file was given (--api-dump FILE)", forensics.SourceAPIDump)
	}
	for _, name := range c.opt.APIDumps {
		c.read(ctx, forensics.SourceAPIDump+":"+name, 6*readLimit, func(context.Context) (forensics.Evidence, error) {
			own, err := hostfs.Open("/")
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = own.Close() }()
			f, err := own.OpenFile(name)
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = f.Close() }()
			part, err := read.APIDump(name, f.ModTime(), f)
			if part.Cluster != nil {
				part.Coverage[0].Bytes = f.Size()
			}
			return part, err
		})
	}
}
