package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

const maxProfileBody = 32 << 20

// CPUProfile asks for /debug/pprof/profile: what the kubelet computes during so many seconds, a gzip'd profile of pprof.
// It takes that long, beside Timeout, and costs the kubelet 100 samples a second. Less than a second is one.
//
// It returns what was received, also when the answer broke off. Another CPU profile of the same kubelet that is under
// way makes it fail (HTTP status 500).
func (c *Client) CPUProfile(ctx context.Context, d time.Duration) ([]byte, kubelet.Endpoint) {
	var data bytes.Buffer
	seconds := max(1, int(d.Round(time.Second)/time.Second))
	path := fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds)
	q := c.mainAPI(path, maxProfileBody, func(r io.Reader) error {
		_, err := data.ReadFrom(r)
		return err
	})
	q.patience = time.Duration(seconds) * time.Second
	e := c.ask(ctx, q)
	return data.Bytes(), e
}
