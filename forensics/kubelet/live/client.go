package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A Client asks the HTTP servers of a kubelet. Nothing is sent to an address unless the kubelet's process owns the socket
// that listens there and has accepted the connection itself, and a token leaves only over TLS: to the certificate that
// the kubelet has on disk, or, where it has none there, to a loopback address. A process of which it could not be found
// out whether it is the node's kubelet (Instance.Unproven) gets no credentials at all. There are no proxies, no
// redirects and no connections kept.
//
// Every question is answered within Timeout: a stopped kubelet accepts connections, which the kernel does for it, and
// never answers. Methods may be called at the same time.
type Client struct {
	// Instance is the kubelet, as [Find] returned it.
	Instance *kubelet.Instance
	// FS is the live file system with /proc, for the sockets' owner and the certificates.
	FS *hostfs.FS
	// Group remembers reads of files that do not come back; nil remembers none.
	Group *probe.Group
	// URL is where the kubelet's main API is, if the caller says so ("https://10.0.0.7:10250", or a path below a
	// proxy). It is trusted, whoever listens there; a token goes to another machine only if that machine's
	// certificate is valid.
	URL string
	// Token is a bearer token for an account that may get nodes/proxy; without one the questions are anonymous.
	Token string
	// ClientCert and ClientKey are PEM. With an empty key it is taken from ClientCert. No credentials of the node are
	// used unless they are given here.
	ClientCert, ClientKey []byte
	// KnownPod says of a UID whether something else is known of that pod; nil knows all, see [Client.Pods].
	KnownPod func(uid string) bool
	// Timeout is for each request, 5 s by default.
	Timeout time.Duration
	// Now is the clock, [time.Now] by default.
	Now func() time.Time
	// MaxGoroutines is up to how many goroutines a dump with all stacks is asked for, 100,000 by default: it stops
	// the kubelet for as long as it takes.
	MaxGoroutines int

	mu         sync.Mutex
	goroutines float64       // as the last metrics said, 0 if they did not
	files      chan struct{} // held while files are read for a connection
}

const (
	defaultTimeout       = 5 * time.Second
	defaultMaxGoroutines = 100_000

	maxHealthBody  = 64 << 10
	maxListBody    = 64 << 20
	maxMetricsBody = 64 << 20
	maxDumpBody    = 64 << 20
	maxErrorBody   = 4 << 10
)

// HasCredentials says whether there is anything to prove who asks.
func (c *Client) HasCredentials() bool { return c.Token != "" || len(c.ClientCert) > 0 }

// proven says whether the process that is asked is known to be the node's kubelet.
func (c *Client) proven() bool { return c.Instance != nil && c.Instance.Unproven == "" }

// errNoRequest says that there was no point in asking.
var errNoRequest = errors.New("not requested")

// A question is one GET request.
type question struct {
	port kubelet.Port
	// explicit is set for the API that [Client.URL] stands for.
	explicit bool
	path     string
	limit    int64
	// patience is how much longer than Timeout the answer may take.
	patience time.Duration
	// body reads the body of an answer with status 200, which ends after limit bytes.
	body func(io.Reader) error
	// judge decides about other answers; nil is the usual meaning of the status.
	judge func(e *kubelet.Endpoint, body string)
}

// ask asks one question and says what became of it.
func (c *Client) ask(ctx context.Context, q question) kubelet.Endpoint {
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+q.patience)
	defer cancel()
	now := c.Now
	if now == nil {
		now = time.Now
	}
	started := now()
	e := kubelet.Endpoint{URL: c.urlOf(q)}
	if err := c.exchange(ctx, q, &e); err != nil {
		e.Status = statusOf(ctx, err)
		e.Detail = joinText(err.Error(), e.Detail)
	}
	e.Seconds = now().Sub(started).Seconds()
	return e
}

func (c *Client) exchange(ctx context.Context, q question, e *kubelet.Endpoint) error {
	conn, err := c.connect(ctx, q, e)
	if err != nil {
		return err
	}
	defer conn.close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL, nil)
	if err != nil {
		return err
	}
	request.Close = true
	request.Header.Set("User-Agent", "nodeforensics")
	if c.Token != "" {
		withheld := conn.withholdToken()
		if !q.explicit && !c.proven() {
			withheld = errors.New("it could not be determined whether that process is the node's kubelet")
		}
		if withheld != nil {
			e.Detail = joinText(e.Detail, "the token was not sent: "+withheld.Error())
		} else {
			request.Header.Set("Authorization", "Bearer "+c.Token)
		}
	}
	response, err := conn.roundTrip(request, q.limit)
	if err != nil {
		return err
	}
	// Its body is not closed, which might read the rest of it first: the connection is.
	e.Code = response.StatusCode
	return receive(q, e, response.Body)
}

// receive reads the answer's body and judges the answer.
func receive(q question, e *kubelet.Endpoint, body io.Reader) error {
	counted := &countingReader{r: body}
	defer func() { e.Bytes = counted.n }()
	if e.Code != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(counted, maxErrorBody))
		judge := q.judge
		if judge == nil {
			judge = judgeStatus
		}
		judge(e, string(text))
		return nil
	}
	e.Status = "ok"
	err := q.body(io.LimitReader(counted, q.limit))
	if counted.n == q.limit {
		if n, _ := io.ReadFull(body, make([]byte, 1)); n > 0 { // a list that ends there is broken, but only by that
			e.Status = "truncated"
			e.Detail = joinText(fmt.Sprintf("truncated at %d bytes", q.limit), e.Detail)
			return nil
		}
	}
	return err
}

// judgeStatus says what a status other than 200 means.
func judgeStatus(e *kubelet.Endpoint, body string) {
	e.Status = "error"
	reason := fmt.Sprintf("HTTP status %d: %s", e.Code, firstLine(body))
	switch {
	case e.Code == http.StatusUnauthorized:
		e.Status = "denied"
		reason += "; a bearer token, or a client certificate that the kubelet's client CA signed, is needed"
	case e.Code == http.StatusForbidden:
		e.Status = "denied"
		reason += "; the account needs the right to get nodes/proxy"
	case e.Code == http.StatusMethodNotAllowed:
		e.Status = "denied"
		reason += "; the kubelet's debugging or profiling handlers are disabled (enableDebuggingHandlers, enableProfilingHandler)"
	case e.Code >= 300 && e.Code < 400:
		reason = fmt.Sprintf("HTTP status %d: a redirect, not followed", e.Code)
	}
	e.Detail = joinText(reason, e.Detail)
}

// statusOf says what an error means. A deadline of the connection or the context is a timeout also when it shows as
// something else.
func statusOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, errNoRequest):
		return "not-asked"
	case errors.Is(err, errNotOwned):
		return "not-owned"
	case errors.Is(err, errNotListening), errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, errNotPinned):
		return "tls"
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, probe.ErrBusy):
		return "timeout"
	}
	return "error"
}

// countingReader counts what passes through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// firstLine returns the beginning of a text that somebody else wrote.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return fmt.Sprintf("%.200s", strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD"))
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
