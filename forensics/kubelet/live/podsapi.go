package live

import (
	"cmp"
	"context"
	"path"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/unixgrpc"
)

// podsAPISocket is where the kubelet serves its Pods API, below its root directory (pkg/kubelet/apis/pods/constants.go, 1.36). It
// does with the feature gate PodsAPI, alpha in 1.36, and asks nobody who it is: the socket is root's.
const podsAPISocket = "pods-api/pods-api.sock"

// maxSocketPath is the longest path of a socket, in bytes (unix(7): sun_path).
const maxSocketPath = 107

// maxPodsMessage bounds the answer; 110 pods of 10 KiB are a megabyte.
const maxPodsMessage = 16 << 20

// PodsBySocket asks the kubelet's Pods API for the same list as [Client.Pods] does. Nothing is sent unless the process is known to
// be the node's kubelet and has the socket open. Most kubelets do not serve it: then nobody is asked, which the endpoint says
// ("not-asked").
func (c *Client) PodsBySocket(ctx context.Context) (pods []kubelet.Pod, leftOut int, e kubelet.Endpoint) {
	k := c.Instance
	pods = []kubelet.Pod{}
	if k == nil || k.PID == 0 || k.RootDir == "" || c.FS == nil || !c.FS.Live() {
		return pods, 0, kubelet.Endpoint{URL: podsAPISocket, Status: "not-asked", Detail: "no kubelet runs"}
	}
	socket := path.Join(k.RootDir, podsAPISocket)
	e.URL = "unix://" + socket
	if !c.proven() {
		e.Status, e.Detail = "not-asked", "the process may be another than the kubelet"
		return pods, 0, e
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	started := now()
	answer := c.askSocket(ctx, socket, timeout)
	e.Status, e.Detail, e.Bytes = answer.Status, answer.Detail, int64(len(answer.Message))
	if answer.Status == "refused" { // the feature gate is off
		e.Status, e.Detail = "not-asked", "no process listens for the Pods API (feature gate PodsAPI)"
	}
	if answer.Status == "ok" {
		want, count := c.wanted()
		var err error
		if pods, err = kubelet.ParsePodMessages(answer.Message, want); err != nil {
			e.Status, e.Detail = "error", err.Error()
		}
		leftOut = *count
	}
	e.Seconds = now().Sub(started).Seconds()
	return pods, leftOut, e
}

// askSocket connects by way of the kubelet's root directory, since its files may be others than this program's, and without symbolic
// links, which would lead out of there. The kubelet has bound its socket at the path as configured (getPodsAPIDir).
func (c *Client) askSocket(ctx context.Context, socket string, timeout time.Duration) unixgrpc.Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	outer, cancelOuter := context.WithTimeout(context.WithoutCancel(ctx), timeout+socketGrace)
	defer cancelOuter()
	k := c.Instance
	request := unixgrpc.Request{
		FS: c.FS, Bound: socket, Renamed: true, Program: "kubelet",
		Socket:    path.Join(procPath(k.PID, "root"), cmp.Or(k.CanonicalRoot, k.RootDir), podsAPISocket),
		Processes: []unixgrpc.Process{{PID: k.PID, StartTicks: k.StartTicks}},
		Methods:   []string{"v1alpha1.Pods/ListPods"}, Limit: maxPodsMessage,
	}
	if len(request.Socket) > maxSocketPath { // who listens there is seen in any case
		request.Socket = socket
	}
	answer, err := probe.Do(outer, c.Group, "socket "+socket, func() (unixgrpc.Answer, error) { return unixgrpc.Ask(ctx, request), nil })
	if err != nil {
		return unixgrpc.Answer{Status: "timeout", Detail: err.Error()}
	}
	return answer
}

// socketGrace is for what has no deadline of its own: reading /proc.
const socketGrace = 500 * time.Millisecond
