package collect

import (
	"bytes"
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
)

// cpuProfile asks the kubelet for its CPU profile.
func (c *collector) cpuProfile(ctx context.Context, client *kubeletlive.Client) forensics.Evidence {
	data, answer := client.CPUProfile(ctx, c.opt.CPUProfile)
	part := forensics.Evidence{Kubelet: &kubelet.Instance{Endpoints: []kubelet.Endpoint{answer}}}
	source := coverEndpoints(forensics.SourceCPUProfile, []kubelet.Endpoint{answer})
	if len(data) > 0 {
		p, err := goroutines.ParseCPUProfile(answer.URL, bytes.Clone(data))
		if err != nil {
			source.Status, source.Detail = forensics.SourceMalformed, err.Error()
		} else {
			if client.Instance != nil {
				p.PID = client.Instance.PID
			}
			part.CPUProfile = &p
		}
	}
	part.Coverage = []forensics.Source{source}
	return part
}
