package collect

import (
	"context"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// What is kept of the dump of a kubelet that was asked: all of 2,000 goroutines, and of what is beyond these bytes so many
// examples of each kind and numbers.
const (
	liveDump     = 3 << 20
	liveExamples = 8
)

// askGoroutines asks a kubelet for its goroutines and reads the answer as it comes.
func (c *collector) askGoroutines(ctx context.Context, client *kubeletlive.Client, debug, pid int) ([]forensics.Dump, kubelet.Endpoint) {
	var dumps []forensics.Dump
	answer := client.Goroutines(ctx, debug, func(r io.Reader) {
		taken := c.opt.Now().UTC()
		dumps, _ = read.Dumps("", r, goroutines.Digester{Bytes: liveDump, Keep: liveExamples})
		for i := range dumps {
			dumps[i].PID, dumps[i].Taken, dumps[i].Program = pid, &taken, kubeletProgram
		}
	})
	for i := range dumps {
		dumps[i].Source = answer.URL
	}
	return dumps, answer
}

// dumpFiles reads the dumps that were given as files.
func (c *collector) dumpFiles(ctx context.Context) {
	for _, name := range c.opt.Goroutines {
		c.read(ctx, forensics.SourceGoroutines+":"+name, 2*readLimit, func(context.Context) (forensics.Evidence, error) {
			f, err := openOwn(name)
			if err != nil {
				return forensics.Evidence{}, err
			}
			defer func() { _ = f.Close() }()
			dumps, err := read.Dumps(name, f)
			part := forensics.Evidence{Dumps: dumps}
			if cut := read.CutDump(dumps); cut != "" {
				part.Coverage = []forensics.Source{{Source: forensics.SourceGoroutines + ":" + name, Status: forensics.SourceTruncated, Detail: cut}}
			}
			return part, err
		})
	}
}
