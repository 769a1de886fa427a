package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// runtimeFiles reads what the container runtimes have on disk. A runtime whose files were read in part is no reason to
// do without the part.
func (c *collector) runtimeFiles(ctx context.Context) (forensics.Evidence, error) {
	stores, err := runtimeslive.Read(ctx, c.fs, runtimeslive.Options{Hints: c.runtimeHints(), Group: c.opt.Calls})
	part := forensics.Evidence{
		Runtimes: stores.Runtimes, Sandboxes: stores.Sandboxes, Containers: stores.Containers, Images: stores.Images,
		Pods: podsOfRuntime(stores),
	}
	for _, name := range slices.Sorted(maps.Keys(stores.Unread)) {
		err := stores.Unread[name]
		part.Coverage = append(part.Coverage, forensics.Source{Source: forensics.SourceRuntime + ":" + name, Status: statusOf(err), Detail: err.Error()})
	}
	if err != nil {
		return part, err
	}
	for _, r := range stores.Runtimes {
		if len(r.Problems) > 0 {
			return part, fmt.Errorf("%s %s: %s: %w", r.Name, r.Root, r.Problems[0], nodefs.ErrTruncated)
		}
	}
	return part, nil
}

// runtimeHints are the daemons of container runtimes that run on the host.
func (c *collector) runtimeHints() []runtimeslive.Hint {
	var hints []runtimeslive.Hint
	for _, p := range forensics.RuntimeProcesses(c.seen().Processes) {
		hints = append(hints, runtimeslive.Hint{PID: p.PID, StartTicks: p.StartTicks, Comm: p.Comm, Args: p.Command})
	}
	return hints
}

// podsOfRuntime are the pods of which a sandbox or container is recorded, each once.
func podsOfRuntime(stores runtimes.Stores) []kubelet.Pod {
	var pods []kubelet.Pod
	index := map[string]int{}
	note := func(uid, namespace, name string, static bool) {
		if uid == "" {
			return
		}
		i, ok := index[uid]
		if !ok {
			i = len(pods)
			index[uid] = i
			pods = append(pods, kubelet.Pod{UID: uid, Source: kubelet.PodFromRuntime})
		}
		if pods[i].Name == "" {
			pods[i].Namespace, pods[i].Name = namespace, name
		}
		if static {
			pods[i].Kind = kubelet.KindStatic
		}
	}
	for _, s := range stores.Sandboxes {
		note(s.PodUID, s.Namespace, s.Name, s.Static)
	}
	for _, c := range stores.Containers {
		note(c.PodUID, c.Namespace, c.PodName, false)
	}
	return pods
}

// runtimeAnswers asks each runtime's daemon whether it answers. That nobody listens is an answer, too.
func (c *collector) runtimeAnswers(ctx context.Context) (forensics.Evidence, error) {
	found := append([]runtimes.Runtime{}, c.seen().Runtimes...)
	hints := c.runtimeHints()
	cover := forensics.Source{Source: forensics.SourceRuntimeAnswer, Status: forensics.SourceAbsent, Detail: "no container runtime was found"}
	for i := range found {
		began := c.opt.Now()
		answer := runtimeslive.Ask(ctx, c.fs, found[i], runtimeslive.AskOptions{Daemons: hints, Group: c.opt.Calls})
		answer.Seconds = c.opt.Now().Sub(began).Seconds()
		found[i].Answer = &answer.Answer
		if answer.Version != "" {
			found[i].Version = answer.Version
		}
		switch {
		case answer.Status != "not-asked":
			cover.Status, cover.Detail = forensics.SourceRead, ""
		case cover.Status != forensics.SourceRead:
			cover.Detail = found[i].Socket + ": " + answer.Detail
		}
	}
	return forensics.Evidence{Runtimes: found, Coverage: []forensics.Source{cover}}, nil
}
