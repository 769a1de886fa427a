package collect

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// podAnswers are what became of the questions for the kubelet's list.
type podAnswers struct {
	http  kubelet.Endpoint
	cover []forensics.Source
}

// kubeletPods asks the kubelet for its pods, and where its HTTP API does not give them, its Pods API, which asks nobody who it is.
func (c *collector) kubeletPods(ctx context.Context, client *kubeletlive.Client) (pods []kubelet.Pod, leftOut int, answers podAnswers) {
	pods, leftOut, answers.http = client.Pods(ctx)
	listed := coverEndpoints(forensics.SourceKubeletPods, []kubelet.Endpoint{answers.http})
	listed.Detail = joined(listed.Detail, sayLeftOut(len(pods), leftOut))
	answers.cover = append(answers.cover, listed)
	switch answers.http.Status {
	case "ok", "truncated", "timeout": // a kubelet that does not answer is not asked twice
		return pods, leftOut, answers
	}
	more, others, answer := client.PodsBySocket(ctx)
	if answer.Status == "not-asked" {
		return pods, leftOut, answers
	}
	listed = coverEndpoints(forensics.SourceKubeletPods+":pods-api", []kubelet.Endpoint{answer})
	listed.Detail = joined(listed.Detail, sayLeftOut(len(more), others))
	if answer.Status == "ok" && len(more)+others == 0 { // of an empty list nothing follows
		listed.Status, listed.Detail = forensics.SourceAbsent, answer.URL+" lists no pods"
	}
	answers.cover = append(answers.cover, listed)
	if listed.Status.Usable() || len(pods) == 0 {
		pods, leftOut = more, others
	}
	return pods, leftOut, answers
}

func sayLeftOut(listed, leftOut int) string {
	if leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("the kubelet lists %d pods; %d are left out because nothing else of them is on this node", listed+leftOut, leftOut)
}

func joined(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// knownPods says of a UID whether something on this node is of that pod: what the kubelet's list says of it is decisive then.
func (c *collector) knownPods() func(uid string) bool {
	e := c.seen()
	known := map[string]bool{}
	for i := range e.PodDirs {
		known[e.PodDirs[i].UID] = true
	}
	for i := range e.Pods {
		known[e.Pods[i].UID] = true
	}
	for i := range e.Cgroups {
		known[e.Cgroups[i].PodUID] = true
	}
	for i := range e.Processes {
		known[e.Processes[i].PodUID] = true
	}
	for i := range e.Sandboxes {
		known[e.Sandboxes[i].PodUID] = true
	}
	for i := range e.Containers {
		known[e.Containers[i].PodUID] = true
	}
	for i := range e.Mounts.Mounts {
		if parts := poduid.Path.FindStringSubmatch(e.Mounts.Mounts[i].MountPoint); parts != nil {
			known[parts[1]] = true
		}
	}
	return func(uid string) bool { return known[uid] }
}
