package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// mainAPI is a question for the authenticated API.
func (c *Client) mainAPI(path string, limit int64, body func(io.Reader) error) question {
	p := kubelet.Port{Number: kubelet.DefaultPort, TLS: true, Sure: true}
	if c.Instance != nil {
		p = c.Instance.Ports().Main
	}
	return question{port: p, explicit: c.URL != "", path: path, limit: limit, body: body}
}

// readOnly is the same question for the port without authentication; false if that is known to be disabled.
func (c *Client) readOnly(q question) (question, bool) {
	if c.Instance == nil {
		return q, false
	}
	q.port, q.explicit = c.Instance.Ports().ReadOnly, false
	return q, q.port.Number > 0
}

// Health asks /healthz of the ports that are enabled, as far as is known: 10250, 10255 and 10248, unless flags or
// configuration say others, in this order and all at once. An answer of 10248 proves nothing about the sync loop, which
// only the other two check.
func (c *Client) Health(ctx context.Context) []kubelet.Endpoint {
	main := c.mainAPI("/healthz?verbose", maxHealthBody, nil)
	questions := []question{main}
	if q, ok := c.readOnly(main); ok {
		questions = append(questions, q)
	}
	if c.Instance != nil {
		if q := main; c.Instance.Ports().Healthz.Number > 0 {
			q.port, q.explicit = c.Instance.Ports().Healthz, false
			questions = append(questions, q)
		}
	}
	answers := make([]kubelet.Endpoint, len(questions))
	var wait sync.WaitGroup
	for i, q := range questions {
		wait.Go(func() { answers[i] = c.health(ctx, q) })
	}
	wait.Wait()
	endpoints := []kubelet.Endpoint{}
	for i, e := range answers {
		if !questions[i].port.Sure && (e.Status == "refused" || e.Status == "not-owned") {
			continue // it may well be disabled
		}
		endpoints = append(endpoints, e)
	}
	return endpoints
}

func (c *Client) health(ctx context.Context, q question) kubelet.Endpoint {
	var text []byte
	q.body = func(r io.Reader) (err error) { text, err = io.ReadAll(r); return err }
	q.judge = func(e *kubelet.Endpoint, body string) {
		h := kubelet.ParseHealth(body)
		if e.Code < http.StatusInternalServerError || !h.Known {
			judgeStatus(e, body)
			return
		}
		e.Status, e.Failed, e.Passed = "unhealthy", h.Failed, h.Passed
	}
	e := c.ask(ctx, q)
	h := kubelet.ParseHealth(string(text))
	if e.Status == "ok" {
		e.Passed = h.Passed
	}
	if e.Status == "ok" && !h.OK {
		e.Status, e.Failed = "unhealthy", h.Failed
		if !h.Known {
			e.Status, e.Detail = "error", "not a health answer: "+firstLine(string(text))
		}
	}
	return e
}

// Pods asks the kubelet for its pods: the API first, and where that does not give them, the read-only port. The list is
// what the kubelet believes. An empty one proves nothing: a pod that is being terminated is no longer in it. With an
// endpoint that is not ok there may be some pods, those before the answer broke off.
//
// With KnownPod, of a list that is longer than a node's can be, those pods are left out of which nothing else is known, and
// leftOut counts them.
func (c *Client) Pods(ctx context.Context) (pods []kubelet.Pod, leftOut int, e kubelet.Endpoint) {
	var want func(*kubelet.Pod) bool
	var others *int
	reset := func() {
		pods = []kubelet.Pod{}
		want, others = c.wanted()
	}
	reset()
	q := c.mainAPI("/pods", maxListBody, func(r io.Reader) (err error) { pods, err = kubelet.ParsePods(r, want); return err })
	e = c.askEither(ctx, q, reset)
	return pods, *others, e
}

// wanted says of each pod of a list whether it is kept, and counts those that are not.
func (c *Client) wanted() (want func(*kubelet.Pod) bool, leftOut *int) {
	count, others := 0, 0
	return func(p *kubelet.Pod) bool {
		count++
		known := c.KnownPod == nil || p.Deleting != nil || c.KnownPod(p.UID) || p.MirrorUID != "" && c.KnownPod(p.MirrorUID)
		if !known && count > maxExamples {
			others++
			return false
		}
		return true
	}, &others
}

// maxExamples is how many pods of a kubelet's list are kept of which nothing else is known. A node has 110 pods by default.
const maxExamples = 2000

// Metrics asks for /metrics, the API first and then the read-only port, and returns the series that show a kubelet in
// trouble, its goroutines, start and version among them ([kubelet.VersionFromMetrics]); see [kubelet.ParseMetrics] for the keys.
func (c *Client) Metrics(ctx context.Context) (map[string]float64, kubelet.Endpoint) {
	metrics := map[string]float64{}
	detail := ""
	q := c.mainAPI("/metrics", maxMetricsBody, func(r io.Reader) (err error) {
		metrics, err = kubelet.ParseMetrics(r)
		if errors.Is(err, kubelet.ErrMalformed) && len(metrics) > 0 { // the rest is of use
			detail, err = err.Error(), nil
		}
		return err
	})
	e := c.askEither(ctx, q, func() { metrics, detail = map[string]float64{}, "" })
	e.Detail = joinText(detail, e.Detail)
	c.mu.Lock()
	c.goroutines = metrics["go_goroutines"]
	c.mu.Unlock()
	return metrics, e
}

// askEither asks the API and, if that could be asked and gave nothing, the read-only port. A kubelet that does not
// answer at all is not asked twice.
func (c *Client) askEither(ctx context.Context, q question, reset func()) kubelet.Endpoint {
	first := c.ask(ctx, q)
	switch first.Status {
	case "ok", "truncated", "timeout", "not-asked":
		return first
	}
	second, ok := c.readOnly(q)
	if !ok {
		return first
	}
	reset()
	e := c.ask(ctx, second)
	if e.Status != "ok" {
		reset()
		return first
	}
	e.Detail = joinText(e.Detail, fmt.Sprintf("%s: %s (%s)", first.URL, first.Status, first.Detail))
	return e
}

// Goroutines asks for /debug/pprof/goroutine: debug 0 is a gzipped profile, 1 counts equal stacks, 2 has every goroutine
// with its state and waiting time. The answer is handed to read as it comes, cut at 64 MiB, which the endpoint says, also
// when it breaks off.
//
// A dump with debug 2 stops the whole kubelet for as long as it takes, so the metrics are asked first for the number of
// goroutines, and above MaxGoroutines the dump is not asked for.
func (c *Client) Goroutines(ctx context.Context, debug int, read func(io.Reader)) kubelet.Endpoint {
	var broken *brokenReader
	q := c.mainAPI(fmt.Sprintf("/debug/pprof/goroutine?debug=%d", debug), maxDumpBody, func(r io.Reader) error {
		broken = &brokenReader{r: r}
		read(broken)
		_, _ = io.Copy(io.Discard, broken) // what it did not want
		return broken.err
	})
	if debug >= 2 {
		if err := c.mayStop(ctx); err != nil {
			return kubelet.Endpoint{URL: c.urlOf(q), Status: "not-asked", Detail: err.Error()}
		}
	}
	e := c.ask(ctx, q)
	if e.Status != "ok" && e.Status != "truncated" && broken != nil && e.Bytes > 0 {
		e.Detail = joinText(fmt.Sprintf("ended early, after %d bytes", e.Bytes), e.Detail)
	}
	return e
}

// brokenReader remembers what broke it.
type brokenReader struct {
	r   io.Reader
	err error
}

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// mayStop returns an error if the kubelet has too many goroutines to be stopped for a dump. A number that cannot be
// learnt is no reason not to ask.
func (c *Client) mayStop(ctx context.Context) error {
	limit := c.MaxGoroutines
	if limit <= 0 {
		limit = defaultMaxGoroutines
	}
	c.mu.Lock()
	n := c.goroutines
	c.mu.Unlock()
	if n == 0 {
		metrics, _ := c.Metrics(ctx)
		n = metrics["go_goroutines"]
	}
	if n > float64(limit) {
		return fmt.Errorf("the kubelet has %.0f goroutines, more than %d: a dump would stop it for a long time", n, limit)
	}
	return nil
}
